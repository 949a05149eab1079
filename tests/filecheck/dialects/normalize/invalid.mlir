// RUN: KINA_INVALID | filecheck %s

// CHECK: log_softmax: operand has dtype I32, expected F16, BF16, F32, F8E4M3 or F8E5M2
func.func @f(%x: tensor<2x3xi32>) {
  %0 = kina.log_softmax %x {axis = 1} : tensor<2x3xi32> -> tensor<2x3xi32>
  func.return
}

// -----

// CHECK: log_softmax: axis=2 is out of range for shape [2, 3], expected 0 <= axis < 2
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.log_softmax %x {axis = 2} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: softmax: axis=-1 is out of range for shape [2, 3], expected 0 <= axis < 2
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.softmax %x {axis = -1} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: softmax: result has type tensor<F32, [3, 2]>, expected tensor<F32, [2, 3]>
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.softmax %x {axis = 1} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}
