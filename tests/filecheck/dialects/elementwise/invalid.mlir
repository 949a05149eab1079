// RUN: KINA_INVALID | filecheck %s

// CHECK: exp: operand has dtype I64, expected F16, BF16, F32, F8E4M3 or F8E5M2
func.func @f(%x: tensor<2xi64>) {
  %0 = kina.exp %x : tensor<2xi64> -> tensor<2xi64>
  func.return
}

// -----

// CHECK: tanh: operand has dtype I32, expected F16, BF16, F32, F8E4M3 or F8E5M2
func.func @f(%x: tensor<2xi32>) {
  %0 = kina.tanh %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// CHECK: erf: result has type tensor<F16, [2]>, expected tensor<F32, [2]>
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.erf %x : tensor<2xf32> -> tensor<2xf16>
  func.return
}

// -----

// CHECK: neg: operand has dtype Bool
func.func @f(%x: tensor<2xi1>) {
  %0 = kina.neg %x : tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// CHECK: sqrt: result has type tensor<F32, [3]>, expected tensor<F32, [2]>
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.sqrt %x : tensor<2xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: add: left has dtype F32 and right has dtype F16, expected equal dtypes
func.func @f(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  %0 = kina.add %x, %y : tensor<2xf32>, tensor<2xf16> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: sub: left has shape [2, 3] and right has shape [1, 3], expected equal shapes
func.func @f(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) {
  %0 = kina.sub %x, %y : tensor<2x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// Symbols are equal by name only.
// CHECK: mul: left has shape [B] and right has shape [T], expected equal shapes
func.func @f(%x: tensor<?xf32, #kina.layout<["B"], host>>, %y: tensor<?xf32, #kina.layout<["T"], host>>) {
  %0 = kina.mul %x, %y : tensor<?xf32, #kina.layout<["B"], host>>, tensor<?xf32, #kina.layout<["T"], host>> -> tensor<?xf32, #kina.layout<["B"], host>>
  func.return
}

// -----

// CHECK: add: right is on @device, expected @host as left
func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32, #kina.layout<[2], device>>) {
  %0 = kina.add %x, %y : tensor<2xf32>, tensor<2xf32, #kina.layout<[2], device>> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: div: left has dtype Bool
func.func @f(%x: tensor<2xi1>) {
  %0 = kina.div %x, %x : tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// CHECK: rem: left has dtype F32, expected I64, I32, I16, I8 or I4
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.rem %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: floor: operand has dtype I8
func.func @f(%x: tensor<2xi8>) {
  %0 = kina.floor %x : tensor<2xi8> -> tensor<2xi8>
  func.return
}

// -----

// CHECK: clamp: operand has shape [2] and high has shape [3], expected equal shapes
func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  %0 = kina.clamp %x, %x, %y : tensor<2xf32>, tensor<2xf32>, tensor<3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: stop_gradient: result has type tensor<F16, [2]>, expected tensor<F32, [2]>
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.stop_gradient %x : tensor<2xf32> -> tensor<2xf16>
  func.return
}

// -----

// CHECK: cast: result has type tensor<I32, [3]>, expected tensor<I32, [2]>
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.cast %x : tensor<2xf32> -> tensor<3xi32>
  func.return
}

// -----

// CHECK: element type is f64, expected one of
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.cast %x : tensor<2xf32> -> tensor<2xf64>
  func.return
}

// -----

// CHECK: constant: payload has type tensor<F32, [2]>, expected tensor<F32, [1]>
func.func @f() {
  %0 = kina.constant dense<[1.0, 2.0]> : tensor<2xf32> -> tensor<1xf32>
  func.return
}
