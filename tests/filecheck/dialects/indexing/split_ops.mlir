// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// The two halves that simplify-kina makes of a take_along_axis.
func.func @halves(%x: tensor<2x3x8xf32>, %row: tensor<8xf32>, %lines: tensor<3x8xf32>, %i: tensor<2x3xi64>) {
  // CHECK: kina.check_indices %i {axis = 2, size = 8 : i64} : tensor<2x3xi64>
  kina.check_indices %i {axis = 2, size = 8} : tensor<2x3xi64>
  // CHECK-NEXT: kina.check_indices %i {axis = 1, size = "V"} : tensor<2x3xi64>
  kina.check_indices %i {axis = 1, size = "V"} : tensor<2x3xi64>
  // CHECK-NEXT: kina.select_along_axis %x, %i {axis = 2} : tensor<2x3x8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  %a = kina.select_along_axis %x, %i {axis = 2} : tensor<2x3x8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  // Values of lower rank broadcast; the axis counts in the full shape.
  // CHECK-NEXT: kina.select_along_axis %row, %i {axis = 2} : tensor<8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  %b = kina.select_along_axis %row, %i {axis = 2} : tensor<8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.select_along_axis %lines, %i {axis = 2} : tensor<3x8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  %c = kina.select_along_axis %lines, %i {axis = 2} : tensor<3x8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  func.return
}
