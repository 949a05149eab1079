// RUN: KINA_INVALID | filecheck %s

// CHECK: top_k: axis=2 is out of range for shape [2, 3], expected 0 <= axis < 2
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.top_k %x {k = 1, axis = 2} : tensor<2x3xf32> -> tensor<2x3xi64>
  func.return
}

// -----

// CHECK: top_k: k=4 is more than axis 1 of shape [2, 3] has, expected 1 .. 3
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.top_k %x {k = 4, axis = 1} : tensor<2x3xf32> -> tensor<2x4xi64>
  func.return
}

// -----

// CHECK: top_k: k=0 is out of range, expected 1 or more
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.top_k %x {k = 0, axis = 1} : tensor<2x3xf32> -> tensor<2x0xi64>
  func.return
}

// -----

// CHECK: top_k: operand has dtype Bool, expected F16, BF16, F32, F8E4M3, F8E5M2, I64, I32, I16, I8 or I4
func.func @f(%x: tensor<3xi1>) {
  %0 = kina.top_k %x {k = 1, axis = 0} : tensor<3xi1> -> tensor<1xi64>
  func.return
}

// -----

// CHECK: top_k: result has type tensor<F32, [2, 2]>, expected tensor<I64, [2, 2]>
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.top_k %x {k = 2, axis = 1} : tensor<2x3xf32> -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: top_k: operand is on @device, expected @host
func.func @f(%x: tensor<2x3xf32, #kina.layout<[2, 3], device>>) {
  %0 = kina.top_k %x {k = 2, axis = 1} : tensor<2x3xf32, #kina.layout<[2, 3], device>> -> tensor<2x2xi64, #kina.layout<[2, 2], device>>
  func.return
}

// -----

// CHECK: take_places: places have dtype I32, expected I64
func.func @f(%x: tensor<2x3xf32>, %p: tensor<2x1xi32>) {
  %0 = kina.take_places %x, %p {axis = 1} : tensor<2x3xf32>, tensor<2x1xi32> -> tensor<2x1xf32>
  func.return
}

// -----

// CHECK: take_places: values have shape [4, 3], expected [2, 1] with any size at axis 1
func.func @f(%x: tensor<4x3xf32>, %p: tensor<2x1xi64>) {
  %0 = kina.take_places %x, %p {axis = 1} : tensor<4x3xf32>, tensor<2x1xi64> -> tensor<2x1xf32>
  func.return
}

// -----

// CHECK: take_places: values have shape [3], expected [2, 1] with any size at axis 0
func.func @f(%x: tensor<3xf32>, %p: tensor<2x1xi64>) {
  %0 = kina.take_places %x, %p {axis = 0} : tensor<3xf32>, tensor<2x1xi64> -> tensor<2x1xf32>
  func.return
}

// -----

// CHECK: put_places: updates have dtype I64, expected a float
func.func @f(%p: tensor<2x1xi64>) {
  %0 = kina.put_places %p, %p {axis = 1} : tensor<2x1xi64>, tensor<2x1xi64> -> tensor<2x3xi64>
  func.return
}

// -----

// CHECK: put_places: updates have shape [2, 2], expected [2, 1] as the places
func.func @f(%x: tensor<2x2xf32>, %p: tensor<2x1xi64>) {
  %0 = kina.put_places %x, %p {axis = 1} : tensor<2x2xf32>, tensor<2x1xi64> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: put_places: result has type tensor<F32, [3, 3]>, expected tensor<F32, [2, 3]>
func.func @f(%x: tensor<2x1xf32>, %p: tensor<2x1xi64>) {
  %0 = kina.put_places %x, %p {axis = 1} : tensor<2x1xf32>, tensor<2x1xi64> -> tensor<3x3xf32>
  func.return
}
