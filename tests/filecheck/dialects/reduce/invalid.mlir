// RUN: KINA_INVALID | filecheck %s

// CHECK: reduce sum: axis=2 is out of range for shape [2, 3], expected 0 <= axis < 2
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.reduce sum %x {axis = 2} : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: reduce_keep max: axis=-1 is out of range for shape [2, 3]
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.reduce_keep max %x {axis = -1} : tensor<2x3xf32> -> tensor<2x1xf32>
  func.return
}

// -----

// CHECK: reduce min: axis=0 is out of range for shape [], a rank-0 tensor has no axis
func.func @f(%x: tensor<f32>) {
  %0 = kina.reduce min %x {axis = 0} : tensor<f32> -> tensor<f32>
  func.return
}

// -----

// CHECK: reduce mean: operand has dtype I32
func.func @f(%x: tensor<2xi32>) {
  %0 = kina.reduce mean %x {axis = 0} : tensor<2xi32> -> tensor<i32>
  func.return
}

// -----

// Seed 17: Bool is not admissible.
// CHECK: reduce argmax: operand has dtype Bool
func.func @f(%x: tensor<2xi1>) {
  %0 = kina.reduce argmax %x {axis = 0} : tensor<2xi1> -> tensor<i64>
  func.return
}

// -----

// CHECK: reduce argmax: operand is on @device, expected @host
func.func @f(%x: tensor<2xf32, #kina.layout<[2], device>>) {
  %0 = kina.reduce argmax %x {axis = 0} : tensor<2xf32, #kina.layout<[2], device>> -> tensor<i64, #kina.layout<[], device>>
  func.return
}

// -----

// CHECK: reduce: result has type tensor<F32, [2]>, expected tensor<I64, [2]>
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.reduce argmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: reduce_keep: result has type tensor<F32, [2]>, expected tensor<F32, [2, 1]>
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.reduce_keep sum %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: reduce all: operand has dtype F32, expected Bool
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.reduce all %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: reduce argmin: operand is on @device, expected @host
func.func @f(%x: tensor<2xf32, #kina.layout<[2], device>>) {
  %0 = kina.reduce argmin %x {axis = 0} : tensor<2xf32, #kina.layout<[2], device>> -> tensor<i64, #kina.layout<[], device>>
  func.return
}

// -----

// CHECK: Expected `sum`, `max`, `min`, `mean`, `argmax`, `argmin`, `prod`, `any`, or `all`
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.reduce median %x {axis = 1} : tensor<2x3xf32> -> tensor<2xi64>
  func.return
}
