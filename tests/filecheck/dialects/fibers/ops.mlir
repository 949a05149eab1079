// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @fibers(
func.func @fibers(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %v: tensor<?xbf16, #kina.layout<["V"], host>>) {
  // CHECK: kina.logsumexp %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  %a = kina.logsumexp %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  // CHECK-NEXT: kina.logsumexp %v {axis = 0} : tensor<?xbf16, #kina.layout<["V"], host>> -> tensor<bf16>
  %b = kina.logsumexp %v {axis = 0} : tensor<?xbf16, #kina.layout<["V"], host>> -> tensor<bf16>
  // CHECK-NEXT: kina.rms_norm %x, %w {axis = 1, eps = 1.000000e-05} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %c = kina.rms_norm %x, %w {axis = 1, eps = 1.0e-05} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.layer_norm %x, %w, %w {axis = 1, eps = 2.500000e-01} : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %d = kina.layer_norm %x, %w, %w {axis = 1, eps = 0.25} : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}
