// RUN: KINA_INVALID | filecheck %s

// CHECK: take_along_axis: indices have shape [1, 8], expected [1, 4] (values [1, 4, 8] without axis 2)
func.func @f(%x: tensor<1x4x8xf32>, %t: tensor<1x8xi64>) {
  %0 = kina.take_along_axis %x, %t {axis = 2} : tensor<1x4x8xf32>, tensor<1x8xi64> -> tensor<1x8xf32>
  func.return
}

// -----

// CHECK: take_along_axis: indices have dtype I32, expected I64
func.func @f(%x: tensor<4x8xf32>, %t: tensor<4xi32>) {
  %0 = kina.take_along_axis %x, %t {axis = 1} : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: take_along_axis: values have shape [8], expected rank 2 or more
func.func @f(%x: tensor<8xf32>, %t: tensor<i64>) {
  %0 = kina.take_along_axis %x, %t {axis = 0} : tensor<8xf32>, tensor<i64> -> tensor<f32>
  func.return
}

// -----

// CHECK: take_along_axis: axis=3 is out of range for shape [1, 4, 8], expected 0 <= axis < 3
func.func @f(%x: tensor<1x4x8xf32>, %t: tensor<1x4xi64>) {
  %0 = kina.take_along_axis %x, %t {axis = 3} : tensor<1x4x8xf32>, tensor<1x4xi64> -> tensor<1x4xf32>
  func.return
}

// -----

// CHECK: take_along_axis: operand is on @device, expected @host
func.func @f(%x: tensor<4x8xf32, #kina.layout<[4, 8], device>>, %t: tensor<4xi64, #kina.layout<[4], device>>) {
  %0 = kina.take_along_axis %x, %t {axis = 1} : tensor<4x8xf32, #kina.layout<[4, 8], device>>, tensor<4xi64, #kina.layout<[4], device>> -> tensor<4xf32, #kina.layout<[4], device>>
  func.return
}

// -----

// CHECK: take_along_axis: result has type tensor<F32, [4, 1]>, expected tensor<F32, [4]>
func.func @f(%x: tensor<4x8xf32>, %t: tensor<4xi64>) {
  %0 = kina.take_along_axis %x, %t {axis = 1} : tensor<4x8xf32>, tensor<4xi64> -> tensor<4x1xf32>
  func.return
}

// -----

// CHECK: gather: values have shape [1, 4, 8], expected rank 2 (a table [V, D])
func.func @f(%x: tensor<1x4x8xf32>, %t: tensor<4xi64>) {
  %0 = kina.gather %x, %t : tensor<1x4x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: gather: indices have dtype I8, expected I64
func.func @f(%x: tensor<4x8xf32>, %t: tensor<4xi8>) {
  %0 = kina.gather %x, %t : tensor<4x8xf32>, tensor<4xi8> -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: gather: result has type tensor<F32, [8, 4]>, expected tensor<F32, [4, 8]>
func.func @f(%x: tensor<4x8xf32>, %t: tensor<4xi64>) {
  %0 = kina.gather %x, %t : tensor<4x8xf32>, tensor<4xi64> -> tensor<8x4xf32>
  func.return
}
