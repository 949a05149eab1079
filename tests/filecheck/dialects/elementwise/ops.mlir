// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

// CHECK-LABEL: func.func @unary(
func.func @unary(%x: tensor<2x3xf32>, %i: tensor<4xi4>) {
  // CHECK: kina.neg %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %a = kina.neg %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.neg %i : tensor<4xi4> -> tensor<4xi4>
  %b = kina.neg %i : tensor<4xi4> -> tensor<4xi4>
  // CHECK-NEXT: kina.exp %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %c = kina.exp %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.log %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %d = kina.log %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.sqrt %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %e = kina.sqrt %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.expm1 %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %f = kina.expm1 %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.log1p %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %g = kina.log1p %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.tanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %h = kina.tanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %j = kina.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.abs %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %abs = kina.abs %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.floor %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %floor = kina.floor %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.ceil %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %ceil = kina.ceil %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.round %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %round = kina.round %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: kina.stop_gradient %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %stop_gradient = kina.stop_gradient %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @binary(
func.func @binary(%x: tensor<?x3xbf16, #kina.layout<["B", 3], host>>, %i: tensor<i64>) {
  // CHECK: kina.add %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xbf16, #kina.layout<["B", 3], host>>
  %a = kina.add %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xbf16, #kina.layout<["B", 3], host>>
  // CHECK-NEXT: kina.sub %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %b = kina.sub %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.mul %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %c = kina.mul %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.div %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>
  %d = kina.div %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xbf16, #kina.layout<["B", 3], host>>
  // CHECK-NEXT: kina.div %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %div = kina.div %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.maximum %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %maximum = kina.maximum %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.minimum %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %minimum = kina.minimum %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.rem %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %rem = kina.rem %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.bit_and %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %bit_and = kina.bit_and %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.bit_or %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %bit_or = kina.bit_or %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.bit_xor %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %bit_xor = kina.bit_xor %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.shift_left %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %shift_left = kina.shift_left %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.shift_right %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  %shift_right = kina.shift_right %i, %i : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK-NEXT: kina.clamp %x, %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xbf16, #kina.layout<["B", 3], host>>
  %clamp = kina.clamp %x, %x, %x : tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>>, tensor<?x3xbf16, #kina.layout<["B", 3], host>> -> tensor<?x3xbf16, #kina.layout<["B", 3], host>>
  func.return
}

// CHECK-LABEL: func.func @cast(
func.func @cast(%x: tensor<4xf8E4M3FN>, %b: tensor<4xi1>) {
  // CHECK: kina.cast %x : tensor<4xf8E4M3FN> -> tensor<4xi4>
  %0 = kina.cast %x : tensor<4xf8E4M3FN> -> tensor<4xi4>
  // CHECK-NEXT: kina.cast %b : tensor<4xi1> -> tensor<4xf8E5M2>
  %1 = kina.cast %b : tensor<4xi1> -> tensor<4xf8E5M2>
  func.return
}

// CHECK-LABEL: func.func @constant(
func.func @constant() {
  // CHECK: kina.constant dense<2.000000e+00> : tensor<f32> -> tensor<f32>
  %0 = kina.constant dense<2.0> : tensor<f32> -> tensor<f32>
  // CHECK-NEXT: kina.constant dense<[true, false]> : tensor<2xi1> -> tensor<2xi1>
  %1 = kina.constant dense<[true, false]> : tensor<2xi1> -> tensor<2xi1>
  // CHECK-NEXT: kina.constant dense<{{\[\[}}-8, 7]]> : tensor<1x2xi4> -> tensor<1x2xi4, #kina.layout<[1, 2], device>>
  %2 = kina.constant dense<[[-8, 7]]> : tensor<1x2xi4> -> tensor<1x2xi4, #kina.layout<[1, 2], device>>
  func.return
}
