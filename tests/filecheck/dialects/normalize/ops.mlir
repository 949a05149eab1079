// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @f(
func.func @f(%x: tensor<1x4x8xf32>, %d: tensor<?x3xf16, #kina.layout<["B", 3], device>>) {
  // CHECK: kina.log_softmax %x {axis = 2} : tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  %0 = kina.log_softmax %x {axis = 2} : tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  // CHECK-NEXT: kina.log_softmax %d {axis = 0} : tensor<?x3xf16, #kina.layout<["B", 3], device>> -> tensor<?x3xf16, #kina.layout<["B", 3], device>>
  %1 = kina.log_softmax %d {axis = 0} : tensor<?x3xf16, #kina.layout<["B", 3], device>> -> tensor<?x3xf16, #kina.layout<["B", 3], device>>
  // CHECK-NEXT: kina.softmax %x {axis = 1} : tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  %2 = kina.softmax %x {axis = 1} : tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  func.return
}
