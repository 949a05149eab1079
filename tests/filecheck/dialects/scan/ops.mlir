// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @scans(
func.func @scans(%x: tensor<2x3xf32>, %i: tensor<4xi4>, %d: tensor<?x3xbf16, #kina.layout<["B", 3], device>>) {
  // CHECK-NEXT: kina.cumsum %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  %-4 = kina.cumsum %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.cumsum %i {axis = 0} : tensor<4xi4> -> tensor<4xi4>
  %-3 = kina.cumsum %i {axis = 0} : tensor<4xi4> -> tensor<4xi4>
  // CHECK-NEXT: kina.cumsum %d {axis = 0} :
  %-2 = kina.cumsum %d {axis = 0} : tensor<?x3xbf16, #kina.layout<["B", 3], device>> -> tensor<?x3xbf16, #kina.layout<["B", 3], device>>
  // CHECK-NEXT: kina.reverse %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  %-1 = kina.reverse %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.recurrence %x, %x {axis = 1, start = 1} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %0 = kina.recurrence %x, %x {axis = 1, start = 1} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}
