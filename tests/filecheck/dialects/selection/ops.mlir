// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @selections(
func.func @selections(%x: tensor<2x8xf32>, %b: tensor<?x8xi4, #kina.layout<["B", 8], host>>, %row: tensor<8xf32>) {
  // CHECK-NEXT: %[[P:\S+]] = kina.top_k %x {k = 3, axis = 1} : tensor<2x8xf32> -> tensor<2x3xi64>
  %p = kina.top_k %x {k = 3, axis = 1} : tensor<2x8xf32> -> tensor<2x3xi64>
  // CHECK-NEXT: kina.top_k %b {k = 100, axis = 0} : {{.*}} -> tensor<100x8xi64>
  %q = kina.top_k %b {k = 100, axis = 0} : tensor<?x8xi4, #kina.layout<["B", 8], host>> -> tensor<100x8xi64>
  // CHECK-NEXT: kina.take_places %x, %[[P]] {axis = 1} : tensor<2x8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  %0 = kina.take_places %x, %p {axis = 1} : tensor<2x8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.take_places %row, %[[P]] {axis = 1} : tensor<8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  %1 = kina.take_places %row, %p {axis = 1} : tensor<8xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.put_places %{{\S+}}, %[[P]] {axis = 1} : tensor<2x3xf32>, tensor<2x3xi64> -> tensor<2x8xf32>
  %2 = kina.put_places %0, %p {axis = 1} : tensor<2x3xf32>, tensor<2x3xi64> -> tensor<2x8xf32>
  func.return
}
