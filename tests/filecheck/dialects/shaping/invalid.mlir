// RUN: KINA_INVALID | filecheck %s

// CHECK: broadcast: shape [2, 3] does not broadcast to [3, 2]
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.broadcast %x : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

// CHECK: broadcast: shape [2, 3] does not broadcast to [3]
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.broadcast %x : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: broadcast: result has type tensor<I32, [2]>, expected tensor<F32, [2]>
func.func @f(%x: tensor<1xf32>) {
  %0 = kina.broadcast %x : tensor<1xf32> -> tensor<2xi32>
  func.return
}

// -----

// CHECK: reshape: shape [2, 3] has 6 elements and [4] has 4, expected the same number
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.reshape %x : tensor<2x3xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: reshape: shape [B, 2] has 2 * B elements and [T, 2] has 2 * T, expected the same number
func.func @f(%x: tensor<?x2xf32, #kina.layout<["B", 2], host>>) {
  %0 = kina.reshape %x : tensor<?x2xf32, #kina.layout<["B", 2], host>> -> tensor<?x2xf32, #kina.layout<["T", 2], host>>
  func.return
}
