// RUN: KINA_INVALID | filecheck %s

// CHECK: check_indices: indices have type tensor<I32, [4]>, expected I64
func.func @f(%i: tensor<4xi32>) {
  kina.check_indices %i {axis = 1, size = 8} : tensor<4xi32>
  func.return
}

// -----

// CHECK: select_along_axis: axis 0 is not an axis of values tensor<F32, [8]> beside indices tensor<I64, [2, 3]>
func.func @f(%x: tensor<8xf32>, %i: tensor<2x3xi64>) {
  %a = kina.select_along_axis %x, %i {axis = 0} : tensor<8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: select_along_axis: broadcast: shape [4, 8] does not broadcast to [3, 8]
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi64>) {
  %a = kina.select_along_axis %x, %i {axis = 1} : tensor<4x8xf32>, tensor<3xi64> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: select_along_axis: result has type tensor<F32, [3, 1]>, expected tensor<F32, [3]>
func.func @f(%x: tensor<3x8xf32>, %i: tensor<3xi64>) {
  %a = kina.select_along_axis %x, %i {axis = 1} : tensor<3x8xf32>, tensor<3xi64> -> tensor<3x1xf32>
  func.return
}

// -----

// CHECK: select_along_axis: take_along_axis: indices have dtype I32, expected I64
func.func @f(%x: tensor<3x8xf32>, %i: tensor<3xi32>) {
  %a = kina.select_along_axis %x, %i {axis = 1} : tensor<3x8xf32>, tensor<3xi32> -> tensor<3xf32>
  func.return
}
