// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @reduce(
func.func @reduce(%x: tensor<2x3xf32>, %i: tensor<4xi4>, %d: tensor<?x3xf32, #kina.layout<["B", 3], device>>, %b: tensor<2x3xi1>) {
  // CHECK: kina.reduce sum %x {axis = 0} : tensor<2x3xf32> -> tensor<3xf32>
  %0 = kina.reduce sum %x {axis = 0} : tensor<2x3xf32> -> tensor<3xf32>
  // CHECK-NEXT: kina.reduce max %i {axis = 0} : tensor<4xi4> -> tensor<i4>
  %1 = kina.reduce max %i {axis = 0} : tensor<4xi4> -> tensor<i4>
  // CHECK-NEXT: kina.reduce min %d {axis = 0} : tensor<?x3xf32, #kina.layout<["B", 3], device>> -> tensor<3xf32, #kina.layout<[3], device>>
  %2 = kina.reduce min %d {axis = 0} : tensor<?x3xf32, #kina.layout<["B", 3], device>> -> tensor<3xf32, #kina.layout<[3], device>>
  // CHECK-NEXT: kina.reduce mean %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  %3 = kina.reduce mean %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  // CHECK-NEXT: kina.reduce argmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2xi64>
  %4 = kina.reduce argmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2xi64>
  // CHECK-NEXT: kina.reduce argmin %x {axis = 0} : tensor<2x3xf32> -> tensor<3xi64>
  %5 = kina.reduce argmin %x {axis = 0} : tensor<2x3xf32> -> tensor<3xi64>
  // CHECK-NEXT: kina.reduce prod %i {axis = 0} : tensor<4xi4> -> tensor<i4>
  %6 = kina.reduce prod %i {axis = 0} : tensor<4xi4> -> tensor<i4>
  // CHECK-NEXT: kina.reduce any %b {axis = 0} : tensor<2x3xi1> -> tensor<3xi1>
  %7 = kina.reduce any %b {axis = 0} : tensor<2x3xi1> -> tensor<3xi1>
  // CHECK-NEXT: kina.reduce all %b {axis = 1} : tensor<2x3xi1> -> tensor<2xi1>
  %8 = kina.reduce all %b {axis = 1} : tensor<2x3xi1> -> tensor<2xi1>
  func.return
}

// CHECK-LABEL: func.func @reduce_keep(
func.func @reduce_keep(%x: tensor<2x3xf32>) {
  // CHECK: kina.reduce_keep argmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2x1xi64>
  %0 = kina.reduce_keep argmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2x1xi64>
  // CHECK-NEXT: kina.reduce_keep sum %x {axis = 0} : tensor<2x3xf32> -> tensor<1x3xf32>
  %1 = kina.reduce_keep sum %x {axis = 0} : tensor<2x3xf32> -> tensor<1x3xf32>
  func.return
}
