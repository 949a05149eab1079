// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @draws(
func.func @draws(%x: tensor<?xf32, #kina.layout<["N"], host>>, %s: tensor<2xi64>) {
  // CHECK-NEXT: kina.random_uniform %s : tensor<2xi64> -> tensor<2x3xf32>
  %0 = kina.random_uniform %s : tensor<2xi64> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.random_uniform %s : tensor<2xi64> -> tensor<?xf32, #kina.layout<["N"], host>>
  %1 = kina.random_uniform %s : tensor<2xi64> -> tensor<?xf32, #kina.layout<["N"], host>>
  // CHECK-NEXT: kina.random_uniform %s : tensor<2xi64> -> tensor<f32>
  %2 = kina.random_uniform %s : tensor<2xi64> -> tensor<f32>
  func.return
}
