// RUN: kina-opt %s --pass decompose-kina --print-debuginfo | filecheck %s

// Seed 9's sequence, every op at the source's place. The max need not look for NaN, exp never sees
// a positive number, and is only summed.
// CHECK-LABEL: func.func @log_softmax(
// CHECK-NEXT:    [[MAX:%\S+]] = kina.reduce_keep max %x {axis = 1} {nan_elsewhere} : tensor<2x3xf32> -> tensor<2x1xf32> loc("a.kina":2:5)
// CHECK-NEXT:    [[M:%\S+]] = kina.broadcast [[MAX]] : tensor<2x1xf32> -> tensor<2x3xf32> loc("a.kina":2:5)
// CHECK-NEXT:    [[SHIFTED:%\S+]] = kina.sub %x, [[M]] : {{.*}} loc("a.kina":2:5)
// CHECK-NEXT:    [[EXP:%\S+]] = kina.exp [[SHIFTED]] {nonpositive, summed} : {{.*}} loc("a.kina":2:5)
// CHECK-NEXT:    [[SUM:%\S+]] = kina.reduce_keep sum [[EXP]] {axis = 1} : tensor<2x3xf32> -> tensor<2x1xf32> loc("a.kina":2:5)
// CHECK-NEXT:    [[S:%\S+]] = kina.broadcast [[SUM]] : tensor<2x1xf32> -> tensor<2x3xf32> loc("a.kina":2:5)
// CHECK-NEXT:    [[LOG:%\S+]] = kina.log [[S]] : {{.*}} loc("a.kina":2:5)
// CHECK-NEXT:    [[R:%\S+]] = kina.sub [[SHIFTED]], [[LOG]] : {{.*}} loc("a.kina":2:5)
// CHECK-NEXT:    func.return [[R]]
func.func @log_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kina.log_softmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32> loc("a.kina":2:5)
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK:         [[EXP:%\S+]] = kina.exp {{%\S+}} {nonpositive} :
// CHECK-NEXT:    [[SUM:%\S+]] = kina.reduce_keep sum [[EXP]] {axis = 0}
// CHECK-NEXT:    [[S:%\S+]] = kina.broadcast [[SUM]] : tensor<1xf32, #kina.layout<[1], device>> -> tensor<?xf32, #kina.layout<["N"], device>>
// CHECK-NEXT:    kina.div [[EXP]], [[S]]
func.func @softmax(%x: tensor<?xf32, #kina.layout<["N"], device>>) -> tensor<?xf32, #kina.layout<["N"], device>> {
  %0 = kina.softmax %x {axis = 0} : tensor<?xf32, #kina.layout<["N"], device>> -> tensor<?xf32, #kina.layout<["N"], device>>
  func.return %0 : tensor<?xf32, #kina.layout<["N"], device>>
}

// Each operation on a small float rounds once; log_softmax is one operation.
// CHECK-LABEL: func.func @small(
// CHECK-NEXT:    [[X:%\S+]] = kina.cast %x : tensor<3xbf16> -> tensor<3xf32>
// CHECK-NEXT:    [[Y:%\S+]] = kina.cast %x : tensor<3xbf16> -> tensor<3xf32>
// CHECK-NEXT:    [[SUM:%\S+]] = kina.add [[X]], [[Y]] : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:    [[ROUNDED:%\S+]] = kina.cast [[SUM]] : tensor<3xf32> -> tensor<3xbf16>
// CHECK-NEXT:    [[WIDE:%\S+]] = kina.cast [[ROUNDED]] : tensor<3xbf16> -> tensor<3xf32>
// CHECK-NEXT:    kina.reduce_keep max [[WIDE]]
// CHECK-NOT:     kina.cast
// CHECK:         kina.log
// CHECK-NEXT:    [[L:%\S+]] = kina.sub
// CHECK-NEXT:    [[R:%\S+]] = kina.cast [[L]] : tensor<3xf32> -> tensor<3xbf16>
// CHECK-NEXT:    func.return [[R]]
func.func @small(%x: tensor<3xbf16>) -> tensor<3xbf16> {
  %0 = kina.add %x, %x : tensor<3xbf16>, tensor<3xbf16> -> tensor<3xbf16>
  %1 = kina.log_softmax %0 {axis = 0} : tensor<3xbf16> -> tensor<3xbf16>
  func.return %1 : tensor<3xbf16>
}

// What moves elements or compares them, and integers, stay as they are.
// CHECK-LABEL: func.func @kept(
// CHECK-NEXT:    kina.reduce argmax %x {axis = 1} : tensor<2x3xf8E4M3FN> -> tensor<2xi64>
// CHECK-NEXT:    kina.take_along_axis %x,
// CHECK-NEXT:    kina.broadcast %x
// CHECK-NEXT:    kina.reduce mean %y {axis = 0} : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:    kina.reduce sum %i {axis = 0} : tensor<4xi8> -> tensor<i8>
// CHECK-NEXT:    func.return
func.func @kept(%x: tensor<2x3xf8E4M3FN>, %y: tensor<4xf32>, %i: tensor<4xi8>) -> (tensor<4x2x3xf8E4M3FN>, tensor<f32>, tensor<i8>) {
  %0 = kina.reduce argmax %x {axis = 1} : tensor<2x3xf8E4M3FN> -> tensor<2xi64>
  %1 = kina.take_along_axis %x, %0 {axis = 1} : tensor<2x3xf8E4M3FN>, tensor<2xi64> -> tensor<2xf8E4M3FN>
  %2 = kina.broadcast %x : tensor<2x3xf8E4M3FN> -> tensor<4x2x3xf8E4M3FN>
  %3 = kina.reduce mean %y {axis = 0} : tensor<4xf32> -> tensor<f32>
  %4 = kina.reduce sum %i {axis = 0} : tensor<4xi8> -> tensor<i8>
  func.return %2, %3, %4 : tensor<4x2x3xf8E4M3FN>, tensor<f32>, tensor<i8>
}
