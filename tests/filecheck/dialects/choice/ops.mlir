// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @compare(
func.func @compare(%x: tensor<?x3xbf16, #kina.layout<["B", 3], host>>) {
  // CHECK-NEXT: %equal = kina.equal %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  %equal = kina.equal %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  // CHECK-NEXT: %not_equal = kina.not_equal %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  %not_equal = kina.not_equal %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  // CHECK-NEXT: %less = kina.less %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  %less = kina.less %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  // CHECK-NEXT: %less_equal = kina.less_equal %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  %less_equal = kina.less_equal %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  // CHECK-NEXT: %greater = kina.greater %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  %greater = kina.greater %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  // CHECK-NEXT: %greater_equal = kina.greater_equal %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  %greater_equal = kina.greater_equal %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xi1, #kina.layout<["B", 3], host>>
  func.return
}

// CHECK-LABEL: func.func @logic(
func.func @logic(%b: tensor<4xi1>, %x: tensor<4xf8E5M2>, %i: tensor<4xi4>) {
  // CHECK-NEXT: %a = kina.logical_and %b, %b : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
  %a = kina.logical_and %b, %b : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
  // CHECK-NEXT: %o = kina.logical_or %b, %a : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
  %o = kina.logical_or %b, %a : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
  // CHECK-NEXT: %n = kina.logical_not %o : tensor<4xi1> -> tensor<4xi1>
  %n = kina.logical_not %o : tensor<4xi1> -> tensor<4xi1>
  // CHECK-NEXT: %s = kina.select %n, %x, %x : tensor<4xi1>, tensor<4xf8E5M2>, tensor<4xf8E5M2> -> tensor<4xf8E5M2>
  %s = kina.select %n, %x, %x : tensor<4xi1>, tensor<4xf8E5M2>, tensor<4xf8E5M2> -> tensor<4xf8E5M2>
  // CHECK-NEXT: %t = kina.select %n, %i, %i : tensor<4xi1>, tensor<4xi4>, tensor<4xi4> -> tensor<4xi4>
  %t = kina.select %n, %i, %i : tensor<4xi1>, tensor<4xi4>, tensor<4xi4> -> tensor<4xi4>
  func.return
}
