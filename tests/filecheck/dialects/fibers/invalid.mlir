// RUN: KINA_INVALID | filecheck %s

// CHECK: logsumexp: axis=2 is out of range for shape [2, 3], expected 0 <= axis < 2
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.logsumexp %x {axis = 2} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: logsumexp: result has type tensor<F32, [2, 3]>, expected tensor<F32, [2]>
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.logsumexp %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: logsumexp: operand has dtype I32, expected F16, BF16, F32, F8E4M3 or F8E5M2
func.func @f(%x: tensor<2x3xi32>) {
  %0 = kina.logsumexp %x {axis = 1} : tensor<2x3xi32> -> tensor<2xi32>
  func.return
}

// -----

// CHECK: rms_norm: weight has shape [2], expected [3] (axis 1 of [2, 3])
func.func @f(%x: tensor<2x3xf32>, %w: tensor<2xf32>) {
  %0 = kina.rms_norm %x, %w {axis = 1, eps = 1.0e-05} : tensor<2x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: layer_norm: bias has dtype F16, expected F32 as operand
func.func @f(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %b: tensor<3xf16>) {
  %0 = kina.layer_norm %x, %w, %b {axis = 1, eps = 1.0e-05} : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf16> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: rms_norm: eps=0 is not a positive number
func.func @f(%x: tensor<2x3xf32>, %w: tensor<3xf32>) {
  %0 = kina.rms_norm %x, %w {axis = 1, eps = 0.0} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: rms_norm: eps=-1 is not a positive number
func.func @f(%x: tensor<2x3xf32>, %w: tensor<3xf32>) {
  %0 = "kina.rms_norm"(%x, %w) <{axis = 1 : i64, eps = -1.0 : f32}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: rms_norm: result has type tensor<F32, [3, 2]>, expected tensor<F32, [2, 3]>
func.func @f(%x: tensor<2x3xf32>, %w: tensor<3xf32>) {
  %0 = kina.rms_norm %x, %w {axis = 1, eps = 1.0e-05} : tensor<2x3xf32>, tensor<3xf32> -> tensor<3x2xf32>
  func.return
}
