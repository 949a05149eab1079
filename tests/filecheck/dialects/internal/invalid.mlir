// RUN: KINA_INVALID | filecheck %s

// CHECK: scatter_along_axis: axis=2 is out of range for shape [4, 8], expected 0 <= axis < 2
func.func @main(%u: tensor<4xf32>, %i: tensor<4xi64>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 2} : tensor<4xf32>, tensor<4xi64> -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: scatter_along_axis: updates have dtype I32, expected a float
func.func @main(%u: tensor<4xi32>, %i: tensor<4xi64>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xi32>, tensor<4xi64> -> tensor<4x8xi32>
  func.return
}

// -----

// CHECK: scatter_along_axis: indices have dtype I32, expected I64
func.func @main(%u: tensor<4xf32>, %i: tensor<4xi32>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xf32>, tensor<4xi32> -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: scatter_along_axis: updates have shape [4], expected [5] (indices [5])
func.func @main(%u: tensor<4xf32>, %i: tensor<5xi64>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xf32>, tensor<5xi64> -> tensor<5x8xf32>
  func.return
}

// -----

// CHECK: scatter_along_axis: result has shape [8, 4], expected [4] with one dimension more at axis 1
func.func @main(%u: tensor<4xf32>, %i: tensor<4xi64>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xf32>, tensor<4xi64> -> tensor<8x4xf32>
  func.return
}

// -----

// CHECK: scatter_along_axis: result has type tensor<F16, [4, 8]>, expected tensor<F32, [4, 8]>
func.func @main(%u: tensor<4xf32>, %i: tensor<4xi64>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xf32>, tensor<4xi64> -> tensor<4x8xf16>
  func.return
}

// -----

// CHECK: scatter_along_axis: a scatter: operand is on @device, expected @host
func.func @main(%u: tensor<4xf32, #kina.layout<[4], device>>, %i: tensor<4xi64>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xf32, #kina.layout<[4], device>>, tensor<4xi64> -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: scatter_add: updates have shape [2, 3], expected [4, 3] (indices [4])
func.func @main(%u: tensor<2x3xf32>, %i: tensor<4xi64>) {
  %0 = kina.scatter_add %u, %i : tensor<2x3xf32>, tensor<4xi64> -> tensor<8x3xf32>
  func.return
}

// -----

// CHECK: scatter_add: result has shape [3], expected rank 2
func.func @main(%u: tensor<2x3xf32>, %i: tensor<2xi64>) {
  %0 = kina.scatter_add %u, %i : tensor<2x3xf32>, tensor<2xi64> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: scatter_add: result has type tensor<F32, [8, 4]>, expected tensor<F32, [8, 3]>
func.func @main(%u: tensor<2x3xf32>, %i: tensor<2xi64>) {
  %0 = kina.scatter_add %u, %i : tensor<2x3xf32>, tensor<2xi64> -> tensor<8x4xf32>
  func.return
}
