// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @count(
func.func @count(%x: tensor<?xf32, #kina.layout<["N"], host>>) {
  // CHECK-NEXT: kina.iota {axis = 1} : tensor<2x3xi64>
  %0 = kina.iota {axis = 1} : tensor<2x3xi64>
  // CHECK-NEXT: kina.iota {axis = 0} : tensor<?xi64, #kina.layout<["N"], host>>
  %1 = kina.iota {axis = 0} : tensor<?xi64, #kina.layout<["N"], host>>
  func.return
}

// CHECK-LABEL: func.func @order(
func.func @order(%x: tensor<2x3x4xi4>, %d: tensor<?x3xf16, #kina.layout<["B", 3], device>>, %s: tensor<f32>) {
  // CHECK-NEXT: kina.transpose %x {axes = [2, 0, 1]} : tensor<2x3x4xi4> -> tensor<4x2x3xi4>
  %0 = kina.transpose %x {axes = [2, 0, 1]} : tensor<2x3x4xi4> -> tensor<4x2x3xi4>
  // CHECK-NEXT: kina.transpose %d {axes = [1, 0]} : {{.*}} -> tensor<3x?xf16, #kina.layout<[3, "B"], device>>
  %1 = kina.transpose %d {axes = [1, 0]} : tensor<?x3xf16, #kina.layout<["B", 3], device>> -> tensor<3x?xf16, #kina.layout<[3, "B"], device>>
  // CHECK-NEXT: kina.transpose %s {axes = []} : tensor<f32> -> tensor<f32>
  %2 = kina.transpose %s {axes = []} : tensor<f32> -> tensor<f32>
  func.return
}

// CHECK-LABEL: func.func @windows(
func.func @windows(%x: tensor<2x5xi1>, %i: tensor<i64>, %n: tensor<2x3xi1>, %y: tensor<?x5xf32, #kina.layout<["B", 5], host>>) {
  // CHECK-NEXT: kina.slice %x, %i {axis = 1} : tensor<2x5xi1>, tensor<i64> -> tensor<2x3xi1>
  %0 = kina.slice %x, %i {axis = 1} : tensor<2x5xi1>, tensor<i64> -> tensor<2x3xi1>
  // CHECK-NEXT: kina.slice %y, %i {axis = 0} : {{.*}} -> tensor<2x5xf32>
  %1 = kina.slice %y, %i {axis = 0} : tensor<?x5xf32, #kina.layout<["B", 5], host>>, tensor<i64> -> tensor<2x5xf32>
  // CHECK-NEXT: kina.update %x, %n, %i {axis = 1} : tensor<2x5xi1>, tensor<2x3xi1>, tensor<i64> -> tensor<2x5xi1>
  %2 = kina.update %x, %n, %i {axis = 1} : tensor<2x5xi1>, tensor<2x3xi1>, tensor<i64> -> tensor<2x5xi1>
  // CHECK-NEXT: kina.check_window %i {what = "slice", axis = 0, size = 2 : i64, within = "B"} : tensor<i64>
  kina.check_window %i {what = "slice", axis = 0, size = 2 : i64, within = "B"} : tensor<i64>
  // CHECK-NEXT: kina.window %y, %i {axis = 0} : {{.*}} -> tensor<2x5xf32>
  %3 = kina.window %y, %i {axis = 0} : tensor<?x5xf32, #kina.layout<["B", 5], host>>, tensor<i64> -> tensor<2x5xf32>
  // CHECK-NEXT: kina.overwrite %x, %n, %i {axis = 1} : tensor<2x5xi1>, tensor<2x3xi1>, tensor<i64> -> tensor<2x5xi1>
  %4 = kina.overwrite %x, %n, %i {axis = 1} : tensor<2x5xi1>, tensor<2x3xi1>, tensor<i64> -> tensor<2x5xi1>
  func.return
}

// CHECK-LABEL: func.func @joined(
func.func @joined(%x: tensor<2x5xf8E5M2>, %y: tensor<2x1xf8E5M2>) {
  // CHECK-NEXT: kina.concat %x, %y {axis = 1} : tensor<2x5xf8E5M2>, tensor<2x1xf8E5M2> -> tensor<2x6xf8E5M2>
  %0 = kina.concat %x, %y {axis = 1} : tensor<2x5xf8E5M2>, tensor<2x1xf8E5M2> -> tensor<2x6xf8E5M2>
  // CHECK-NEXT: kina.concat %x, %x, %x {axis = 0} : {{.*}} -> tensor<6x5xf8E5M2>
  %1 = kina.concat %x, %x, %x {axis = 0} : tensor<2x5xf8E5M2>, tensor<2x5xf8E5M2>, tensor<2x5xf8E5M2> -> tensor<6x5xf8E5M2>
  func.return
}

// CHECK-LABEL: func.func @sums(
func.func @sums(%x: tensor<?x5xf32, #kina.layout<["T", 5], host>>, %y: tensor<1x5xf32>) {
  // CHECK-NEXT: kina.concat %x, %y {axis = 0} : {{.*}} -> tensor<?x5xf32, #kina.layout<["T + 1", 5], host>>
  %0 = kina.concat %x, %y {axis = 0} : tensor<?x5xf32, #kina.layout<["T", 5], host>>, tensor<1x5xf32> -> tensor<?x5xf32, #kina.layout<["T + 1", 5], host>>
  // CHECK-NEXT: [[P:%\S+]] = kina.size {of = "T"} : tensor<i64>
  %1 = kina.size {of = "T"} : tensor<i64>
  // CHECK-NEXT: kina.window %{{\S+}}, [[P]] {axis = 0} : {{.*}} -> tensor<1x5xf32>
  %2 = kina.window %0, %1 {axis = 0} : tensor<?x5xf32, #kina.layout<["T + 1", 5], host>>, tensor<i64> -> tensor<1x5xf32>
  func.return
}
