// RUN: kina-opt %s --pass transform-ad --print-debuginfo | filecheck %s

func.func @nll(%x: tensor<4x8xf32>, %t: tensor<4xi64>) -> tensor<4xf32> {
  %y = kina.log_softmax %x {axis = 1} : tensor<4x8xf32> -> tensor<4x8xf32> loc("a.kina":2:10)
  %s = kina.take_along_axis %y, %t {axis = 1} : tensor<4x8xf32>, tensor<4xi64> -> tensor<4xf32> loc("a.kina":3:8)
  %n = kina.neg %s : tensor<4xf32> -> tensor<4xf32> loc("a.kina":3:3)
  func.return %n : tensor<4xf32>
}

// The forward operations stand there once, the gradient reads them and has their places.
// CHECK-LABEL: func.func @dnll(
// CHECK-NEXT:    %y = kina.log_softmax %x {axis = 1} : {{.*}} loc("a.kina":2:10)
// CHECK-NEXT:    %s = kina.take_along_axis %y, %t {axis = 1} : {{.*}} loc("a.kina":3:8)
// CHECK-NEXT:    %n = kina.neg %s : {{.*}} loc("a.kina":3:3)
// CHECK-NEXT:    [[g:%\d+]] = kina.neg %ct : {{.*}} loc("a.kina":3:3)
// CHECK-NEXT:    [[s:%\d+]] = kina.scatter_along_axis [[g]], %t {axis = 1} : {{.*}} loc("a.kina":3:8)
// CHECK-NEXT:    [[k:%\d+]] = kina.reduce_keep sum [[s]] {axis = 1} : {{.*}} loc("a.kina":2:10)
// CHECK-NEXT:    [[b:%\d+]] = kina.broadcast [[k]]
// CHECK-NEXT:    [[p:%\d+]] = kina.exp %y {nonpositive}
// CHECK-NEXT:    [[m:%\d+]] = kina.mul [[p]], [[b]]
// CHECK-NEXT:    [[d:%\d+]] = kina.sub [[s]], [[m]] : {{.*}} loc("a.kina":2:10)
// CHECK-NEXT:    func.return %n, [[d]]
func.func @dnll(%x: tensor<4x8xf32>, %t: tensor<4xi64>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %0, %1 = kina.vjp @nll(%x, %t, %ct) {wrt = [0]} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4x8xf32>)
  func.return %0, %1 : tensor<4xf32>, tensor<4x8xf32>
}

func.func @twice(%x: tensor<?xf32, #kina.layout<["N"], host>>, %y: tensor<?xf32, #kina.layout<["N"], host>>) -> (tensor<?xf32, #kina.layout<["N"], host>>, tensor<f32>) {
  %e = kina.exp %x : tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  %i = kina.cast %x : tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xi32, #kina.layout<["N"], host>>
  %f = kina.cast %i : tensor<?xi32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  %m = kina.mul %e, %f : tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  %a = kina.add %m, %e : tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  %l = kina.log %y : tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  %p = kina.mul %a, %l : tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  %t = kina.reduce sum %l {axis = 0} : tensor<?xf32, #kina.layout<["N"], host>> -> tensor<f32>
  func.return %p, %t : tensor<?xf32, #kina.layout<["N"], host>>, tensor<f32>
}

// By x only: nothing for y, for the way through integers, or for the second result; the two uses
// of exp(x) add up, the later one first; symbols become sizes.
// CHECK-LABEL: func.func @dtwice(
// CHECK:         %t = kina.reduce sum %l
// CHECK-NEXT:    [[a:%\d+]] = kina.mul %ct, %l : tensor<3xf32>
// CHECK-NEXT:    [[m:%\d+]] = kina.mul [[a]], %f
// CHECK-NEXT:    [[u:%\d+]] = kina.add [[a]], [[m]]
// CHECK-NEXT:    [[d:%\d+]] = kina.mul [[u]], %e
// CHECK-NEXT:    func.return [[d]]
func.func @dtwice(%x: tensor<3xf32>, %y: tensor<3xf32>, %ct: tensor<3xf32>) -> tensor<3xf32> {
  %0, %1, %2 = kina.vjp @twice(%x, %y, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<3xf32>)
  func.return %2 : tensor<3xf32>
}

func.func @pair(%x: tensor<2xf32>, %y: tensor<2x2xf16>) -> (tensor<2xf32>, tensor<f32>, tensor<i64>) {
  %t = kina.reduce sum %x {axis = 0} : tensor<2xf32> -> tensor<f32>
  %b = kina.reduce argmax %x {axis = 0} : tensor<2xf32> -> tensor<i64>
  func.return %x, %t, %b : tensor<2xf32>, tensor<f32>, tensor<i64>
}

// A parameter that is a result, a result of rank 0, a parameter that nothing reads; an argmax
// beside them has no part in it.
// CHECK-LABEL: func.func @dpair(
// CHECK:         kina.reduce argmax
// CHECK-NEXT:    [[o:%\d+]] = kina.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:    [[r:%\d+]] = kina.reshape [[o]] : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:    [[b:%\d+]] = kina.broadcast [[r]] : tensor<1xf32> -> tensor<2xf32>
// CHECK-NEXT:    [[d:%\d+]] = kina.add %ct, [[b]]
// CHECK-NEXT:    [[z:%\d+]] = kina.constant dense<0.000000e+00> : tensor<f16>
// CHECK-NEXT:    [[y:%\d+]] = kina.broadcast [[z]] : tensor<f16> -> tensor<2x2xf16>
// CHECK-NEXT:    func.return [[d]], [[y]]
func.func @dpair(%x: tensor<2xf32>, %y: tensor<2x2xf16>, %ct: tensor<2xf32>) -> (tensor<2xf32>, tensor<2x2xf16>) {
  %0, %1, %2, %3, %4 = kina.vjp @pair(%x, %y, %ct) {wrt = [0, 1]} : (tensor<2xf32>, tensor<2x2xf16>, tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<2x2xf16>)
  func.return %3, %4 : tensor<2xf32>, tensor<2x2xf16>
}
