// RUN: kina-opt %s --pass transform-ad | filecheck %s
// A fold goes back through a fold of its function's pullback, from the last layer to the first.

func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>, %m: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  %a = kina.mul %x, %w : tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  %b = kina.add %a, %m : tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  func.return %b : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %m: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.fold @block(%x) over(%w) with(%m) : (tensor<3xf32>) over(tensor<5x3xf32>) with(tensor<3xf32>) -> (tensor<3xf32>)
  func.return %y : tensor<3xf32>
}

// Carried: the cotangent of x, and the sum of the gradients of m; a layer of each: x as it was kept,
// and w. Nothing reads m.
// CHECK-LABEL: func.func private @block$vjp
// CHECK-SAME:    (%0: [[t:.*]], %1: [[t]], %2: [[t]], %3: [[t]]) -> ([[t]], [[t]], [[t]])
// CHECK-NEXT:    [[s:%\d+]] = kina.add %1, %0
// CHECK-NEXT:    [[x:%\d+]] = kina.mul %0, %3
// CHECK-NEXT:    [[w:%\d+]] = kina.mul %0, %2
// CHECK-NEXT:    func.return [[x]], [[s]], [[w]]
// CHECK-LABEL: func.func @df(
// CHECK-NEXT:    [[y:%\w+]], [[k:%\w+]] = kina.fold @block(%x) over(%w) with(%m) kept [0] : {{.*}} -> (tensor<3xf32>, tensor<5x3xf32>)
// CHECK-NEXT:    [[z:%\d+]] = kina.constant dense<-0.000000e+00>
// CHECK-NEXT:    [[n:%\d+]] = kina.broadcast [[z]]
// CHECK-NEXT:    [[a:%\d+]], [[b:%\d+]], [[c:%\d+]] = kina.fold @block$vjp{{\d}}(%ct, [[n]]) over([[k]], %w) with() reverse : (tensor<3xf32>, tensor<3xf32>) over(tensor<5x3xf32>, tensor<5x3xf32>) with() -> (tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>)
// CHECK-NEXT:    func.return [[y]], [[a]], [[c]], [[b]]
func.func @df(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %m: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>) {
  %0, %1, %2, %3 = kina.vjp @f(%x, %w, %m, %ct) {wrt = [0, 1, 2]} : (tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>)
  func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>
}

// A constant factor: nothing of the forward values is read, so nothing is kept.
func.func @half(%x: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
  %a = kina.sub %x, %w : tensor<f32>, tensor<f32> -> tensor<f32>
  func.return %a : tensor<f32>
}
func.func @g(%x: tensor<f32>, %w: tensor<5xf32>) -> tensor<f32> {
  %y = kina.fold @half(%x) over(%w) with() : (tensor<f32>) over(tensor<5xf32>) with() -> (tensor<f32>)
  func.return %y : tensor<f32>
}
// CHECK-LABEL: func.func @dg(
// CHECK-NEXT:    kina.fold @half(%x) over(%w) with() : (tensor<f32>)
// CHECK:         kina.fold @half$vjp{{\d}}(%{{\d+}}) over(%w) with() reverse : (tensor<f32>)
func.func @dg(%x: tensor<f32>, %w: tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %0, %1 = kina.vjp @g(%x, %w) {wrt = [1]} : (tensor<f32>, tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>)
  func.return %0, %1 : tensor<f32>, tensor<5xf32>
}
