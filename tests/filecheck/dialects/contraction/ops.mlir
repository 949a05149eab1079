// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @matmul(
func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %s: tensor<5x2x3xi8>, %t: tensor<5x3x4xi8>, %b: tensor<?x2x3xbf16, #kina.layout<["B", 2, 3], device>>, %w: tensor<3x?xbf16, #kina.layout<[3, "N"], device>>) {
  // CHECK-NEXT: kina.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %-3 = kina.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  // CHECK-NEXT: kina.matmul %s, %t : tensor<5x2x3xi8>, tensor<5x3x4xi8> -> tensor<5x2x4xi8>
  %-2 = kina.matmul %s, %t : tensor<5x2x3xi8>, tensor<5x3x4xi8> -> tensor<5x2x4xi8>
  // CHECK-NEXT: kina.matmul %b, %w : {{.*}} -> tensor<?x2x?xbf16, #kina.layout<["B", 2, "N"], device>>
  %-1 = kina.matmul %b, %w : tensor<?x2x3xbf16, #kina.layout<["B", 2, 3], device>>, tensor<3x?xbf16, #kina.layout<[3, "N"], device>> -> tensor<?x2x?xbf16, #kina.layout<["B", 2, "N"], device>>
  func.return
}

// CHECK-LABEL: func.func @contract(
func.func @contract(%x: tensor<5x2x3xf32>, %y: tensor<5x2x4xf32>, %z: tensor<4x3xf32>) {
  // CHECK-NEXT: kina.contract %x [2, 3, 0], %y [2, 3, 1] : tensor<5x2x3xf32>, tensor<5x2x4xf32> -> tensor<3x4xf32>
  %0 = kina.contract %x [2, 3, 0], %y [2, 3, 1] : tensor<5x2x3xf32>, tensor<5x2x4xf32> -> tensor<3x4xf32>
  // CHECK-NEXT: kina.contract %y [0, 1, 3], %z [3, 2] : tensor<5x2x4xf32>, tensor<4x3xf32> -> tensor<5x2x3xf32>
  %1 = kina.contract %y [0, 1, 3], %z [3, 2] : tensor<5x2x4xf32>, tensor<4x3xf32> -> tensor<5x2x3xf32>
  func.return
}
