// RUN: KINA_INVALID | filecheck %s

// CHECK: random_uniform: seed has type tensor<I64, [3]>, expected tensor<I64, [2]>: (key, offset)
func.func @f(%s: tensor<3xi64>) {
  %0 = kina.random_uniform %s : tensor<3xi64> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: random_uniform: seed has dtype I32, expected I64
func.func @f(%s: tensor<2xi32>) {
  %0 = kina.random_uniform %s : tensor<2xi32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: random_uniform: operand is on @device, expected @host
func.func @f(%s: tensor<2xi64, #kina.layout<[2], device>>) {
  %0 = kina.random_uniform %s : tensor<2xi64, #kina.layout<[2], device>> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: random_uniform: result has type tensor<F16, [2, 3]>, expected tensor<F32, [2, 3]>
func.func @f(%s: tensor<2xi64>) {
  %0 = kina.random_uniform %s : tensor<2xi64> -> tensor<2x3xf16>
  func.return
}
