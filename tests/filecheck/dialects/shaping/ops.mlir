// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @broadcast(
func.func @broadcast(%s: tensor<f32>, %x: tensor<1x1xf32>, %b: tensor<?x1xi1, #kina.layout<["B", 1], host>>) {
  // CHECK: kina.broadcast %s : tensor<f32> -> tensor<?x3xf32, #kina.layout<["B", 3], host>>
  %0 = kina.broadcast %s : tensor<f32> -> tensor<?x3xf32, #kina.layout<["B", 3], host>>
  // CHECK-NEXT: kina.broadcast %x : tensor<1x1xf32> -> tensor<1x4x8xf32>
  %1 = kina.broadcast %x : tensor<1x1xf32> -> tensor<1x4x8xf32>
  // CHECK-NEXT: kina.broadcast %b : tensor<?x1xi1, #kina.layout<["B", 1], host>> -> tensor<?x?xi1, #kina.layout<["B", "T"], host>>
  %2 = kina.broadcast %b : tensor<?x1xi1, #kina.layout<["B", 1], host>> -> tensor<?x?xi1, #kina.layout<["B", "T"], host>>
  func.return
}

// CHECK-LABEL: func.func @reshape(
func.func @reshape(%x: tensor<1x4xi64>, %y: tensor<?x6xf16, #kina.layout<["B", 6], device>>) {
  // CHECK: kina.reshape %x : tensor<1x4xi64> -> tensor<2x1x2xi64>
  %0 = kina.reshape %x : tensor<1x4xi64> -> tensor<2x1x2xi64>
  // CHECK-NEXT: kina.reshape %y : tensor<?x6xf16, #kina.layout<["B", 6], device>> -> tensor<2x?x3xf16, #kina.layout<[2, "B", 3], device>>
  %1 = kina.reshape %y : tensor<?x6xf16, #kina.layout<["B", 6], device>> -> tensor<2x?x3xf16, #kina.layout<[2, "B", 3], device>>
  func.return
}
