// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @scatters(
func.func @scatters(%table: tensor<?x3xf32, #kina.layout<["V", 3], host>>, %u: tensor<1x4xf32>, %i: tensor<1x4xi64>, %r: tensor<f16>, %j: tensor<i64>, %rows: tensor<2x5x3xf32>, %k: tensor<2x5xi64>) {
  // CHECK-NEXT: kina.scatter_along_axis %u, %i {axis = 2} : tensor<1x4xf32>, tensor<1x4xi64> -> tensor<1x4x8xf32>
  %-2 = kina.scatter_along_axis %u, %i {axis = 2} : tensor<1x4xf32>, tensor<1x4xi64> -> tensor<1x4x8xf32>
  // CHECK-NEXT: kina.scatter_along_axis %r, %j {axis = 0} : tensor<f16>, tensor<i64> -> tensor<8xf16>
  %-1 = kina.scatter_along_axis %r, %j {axis = 0} : tensor<f16>, tensor<i64> -> tensor<8xf16>
  // CHECK: kina.scatter_add %rows, %k : tensor<2x5x3xf32>, tensor<2x5xi64> -> tensor<?x3xf32, #kina.layout<["V", 3], host>>
  %0 = kina.scatter_add %rows, %k : tensor<2x5x3xf32>, tensor<2x5xi64> -> tensor<?x3xf32, #kina.layout<["V", 3], host>>
  func.return
}
