// RUN: KINA_INVALID | filecheck %s

// CHECK: equal: left has dtype F32 and right has dtype F16, expected equal dtypes
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  %0 = kina.equal %x, %y : tensor<4xf32>, tensor<4xf16> -> tensor<4xi1>
  func.return
}

// -----

// CHECK: equal: result has type tensor<F32, [4]>, expected tensor<Bool, [4]>
func.func @f(%x: tensor<4xf32>) {
  %0 = kina.equal %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: less: left has shape [4] and right has shape [], expected equal shapes
func.func @f(%x: tensor<4xf32>, %y: tensor<f32>) {
  %0 = kina.less %x, %y : tensor<4xf32>, tensor<f32> -> tensor<4xi1>
  func.return
}

// -----

// CHECK: greater: right is on @device, expected @host as left
func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32, #kina.layout<[2], device>>) {
  %0 = kina.greater %x, %y : tensor<2xf32>, tensor<2xf32, #kina.layout<[2], device>> -> tensor<2xi1>
  func.return
}

// -----

// CHECK: logical_and: left has dtype I8, expected Bool
func.func @f(%x: tensor<2xi8>) {
  %0 = kina.logical_and %x, %x : tensor<2xi8>, tensor<2xi8> -> tensor<2xi8>
  func.return
}

// -----

// CHECK: logical_not: operand has dtype F32, expected Bool
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.logical_not %x : tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: select: condition has dtype F32, expected Bool
func.func @f(%x: tensor<2xf32>) {
  %0 = kina.select %x, %x, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: select: on_true has dtype F32 and on_false has dtype I8, expected equal dtypes
func.func @f(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xi8>) {
  %0 = kina.select %c, %x, %y : tensor<2xi1>, tensor<2xf32>, tensor<2xi8> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: select: condition has shape [2] and on_true has shape [3], expected equal shapes
func.func @f(%c: tensor<2xi1>, %x: tensor<3xf32>) {
  %0 = kina.select %c, %x, %x : tensor<2xi1>, tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: select: result has type tensor<Bool, [2]>, expected tensor<F32, [2]>
func.func @f(%c: tensor<2xi1>, %x: tensor<2xf32>) {
  %0 = kina.select %c, %x, %x : tensor<2xi1>, tensor<2xf32>, tensor<2xf32> -> tensor<2xi1>
  func.return
}
