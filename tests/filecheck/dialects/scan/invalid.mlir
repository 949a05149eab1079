// RUN: KINA_INVALID | filecheck %s

// CHECK: cumsum: axis=2 is out of range for shape [2, 3], expected 0 <= axis < 2
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.cumsum %x {axis = 2} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: cumsum: operand has dtype Bool, expected F16, BF16, F32, F8E4M3, F8E5M2, I64, I32, I16, I8 or I4
func.func @f(%x: tensor<2xi1>) {
  %0 = kina.cumsum %x {axis = 0} : tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// CHECK: cumsum: result has type tensor<F32, [2]>, expected tensor<F32, [2, 3]>
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.cumsum %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: reverse: axis=0 is out of range for shape [], a rank-0 tensor has no axis
func.func @f(%x: tensor<f32>) {
  %0 = kina.reverse %x {axis = 0} : tensor<f32> -> tensor<f32>
  func.return
}

// -----

// CHECK: recurrence: operands have types tensor<F32, [2]> and tensor<F16, [2]>
func.func @f(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  %0 = kina.recurrence %x, %y {axis = 0, start = 0} : tensor<2xf32>, tensor<2xf16> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: recurrence: start is 2, expected 0 or 1
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.recurrence %x, %x {axis = 0, start = 2} : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}
