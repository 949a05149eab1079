// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @take(
func.func @take(%x: tensor<1x4x8xf32>, %t: tensor<1x4xi64>, %u: tensor<1x8xi64>) {
  // CHECK: kina.take_along_axis %x, %t {axis = 2} : tensor<1x4x8xf32>, tensor<1x4xi64> -> tensor<1x4xf32>
  %0 = kina.take_along_axis %x, %t {axis = 2} : tensor<1x4x8xf32>, tensor<1x4xi64> -> tensor<1x4xf32>
  // CHECK-NEXT: kina.take_along_axis %x, %u {axis = 1} : tensor<1x4x8xf32>, tensor<1x8xi64> -> tensor<1x8xf32>
  %1 = kina.take_along_axis %x, %u {axis = 1} : tensor<1x4x8xf32>, tensor<1x8xi64> -> tensor<1x8xf32>
  func.return
}

// CHECK-LABEL: func.func @gather(
func.func @gather(%table: tensor<?x3xi1, #kina.layout<["V", 3], host>>, %i: tensor<i64>, %j: tensor<2x5xi64>) {
  // CHECK: kina.gather %table, %i : tensor<?x3xi1, #kina.layout<["V", 3], host>>, tensor<i64> -> tensor<3xi1>
  %0 = kina.gather %table, %i : tensor<?x3xi1, #kina.layout<["V", 3], host>>, tensor<i64> -> tensor<3xi1>
  // CHECK-NEXT: kina.gather %table, %j : tensor<?x3xi1, #kina.layout<["V", 3], host>>, tensor<2x5xi64> -> tensor<2x5x3xi1>
  %1 = kina.gather %table, %j : tensor<?x3xi1, #kina.layout<["V", 3], host>>, tensor<2x5xi64> -> tensor<2x5x3xi1>
  func.return
}
