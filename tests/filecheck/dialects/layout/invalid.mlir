// RUN: KINA_INVALID | filecheck %s

// CHECK: iota: axis=2 is out of range for shape [2, 3], expected 0 <= axis < 2
func.func @f() {
  %0 = kina.iota {axis = 2} : tensor<2x3xi64>
  func.return
}

// -----

// CHECK: iota: result has type tensor<I32, [2, 3]>, expected tensor<I64, [2, 3]>
func.func @f() {
  %0 = kina.iota {axis = 1} : tensor<2x3xi32>
  func.return
}

// -----

// CHECK: transpose: [0, 0] is no order of the axes of shape [2, 3], expected each of [0, 1] once
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.transpose %x {axes = [0, 0]} : tensor<2x3xf32> -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: transpose: result has type tensor<F32, [2, 3]>, expected tensor<F32, [3, 2]>
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.transpose %x {axes = [1, 0]} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: slice: axis=2 is out of range for shape [2, 3], expected 0 <= axis < 2
func.func @f(%x: tensor<2x3xf32>, %i: tensor<i64>) {
  %0 = kina.slice %x, %i {axis = 2} : tensor<2x3xf32>, tensor<i64> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: slice: start has type tensor<I64, [1]>, expected an integer or a tensor<I64, []>
func.func @f(%x: tensor<2x3xf32>, %i: tensor<1xi64>) {
  %0 = kina.slice %x, %i {axis = 1} : tensor<2x3xf32>, tensor<1xi64> -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: slice: size 4 does not fit axis 1 of shape [2, 3], expected 1 .. 3
func.func @f(%x: tensor<2x3xf32>, %i: tensor<i64>) {
  %0 = kina.slice %x, %i {axis = 1} : tensor<2x3xf32>, tensor<i64> -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: slice: result has type tensor<F32, [1, 2]>, expected tensor<F32, [2, 2]>
func.func @f(%x: tensor<2x3xf32>, %i: tensor<i64>) {
  %0 = kina.slice %x, %i {axis = 1} : tensor<2x3xf32>, tensor<i64> -> tensor<1x2xf32>
  func.return
}

// -----

// CHECK: slice: size 2 of axis 1 of shape [2, 3] from 2 on, expected from 0 .. 1
func.func @f(%x: tensor<2x3xf32>) {
  %i = kina.constant dense<2> : tensor<i64> -> tensor<i64>
  %0 = kina.slice %x, %i {axis = 1} : tensor<2x3xf32>, tensor<i64> -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: slice: size 2 of axis 1 of shape [2, 3] from 2 on, expected from 0 .. 1
func.func @f(%x: tensor<2x3xf32>) {
  %i = kina.constant dense<2> : tensor<i64> -> tensor<i64>
  %0 = kina.window %x, %i {axis = 1} : tensor<2x3xf32>, tensor<i64> -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: slice: operand is on @device, expected @host
func.func @f(%x: tensor<2x3xf32, #kina.layout<[2, 3], device>>, %i: tensor<i64, #kina.layout<[], device>>) {
  %0 = kina.slice %x, %i {axis = 1} : tensor<2x3xf32, #kina.layout<[2, 3], device>>, tensor<i64, #kina.layout<[], device>> -> tensor<2x2xf32, #kina.layout<[2, 2], device>>
  func.return
}

// -----

// CHECK: update: new has shape [1, 2], expected [2, 3] with another size at axis 1
func.func @f(%x: tensor<2x3xf32>, %n: tensor<1x2xf32>, %i: tensor<i64>) {
  %0 = kina.update %x, %n, %i {axis = 1} : tensor<2x3xf32>, tensor<1x2xf32>, tensor<i64> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: update: new has size 4 at axis 1, expected at most 3
func.func @f(%x: tensor<2x3xf32>, %n: tensor<2x4xf32>, %i: tensor<i64>) {
  %0 = kina.update %x, %n, %i {axis = 1} : tensor<2x3xf32>, tensor<2x4xf32>, tensor<i64> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: update: new has dtype F16 and operand has dtype F32, expected equal dtypes
func.func @f(%x: tensor<2x3xf32>, %n: tensor<2x1xf16>, %i: tensor<i64>) {
  %0 = kina.overwrite %x, %n, %i {axis = 1} : tensor<2x3xf32>, tensor<2x1xf16>, tensor<i64> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: update: at has type tensor<I32, []>, expected an integer or a tensor<I64, []>
func.func @f(%x: tensor<2x3xf32>, %n: tensor<2x1xf32>, %i: tensor<i32>) {
  %0 = kina.update %x, %n, %i {axis = 1} : tensor<2x3xf32>, tensor<2x1xf32>, tensor<i32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: check_window: start has type tensor<I64, [2]>, expected tensor<I64, []>
func.func @f(%i: tensor<2xi64>) {
  kina.check_window %i {what = "slice", axis = 0, size = 2 : i64, within = 3 : i64} : tensor<2xi64>
  func.return
}

// -----

// CHECK: concat: one tensor, expected two or more
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.concat %x {axis = 0} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: concat: tensor 2 has shape [1, 4], expected [2, 3] with any size at axis 0
func.func @f(%x: tensor<2x3xf32>, %y: tensor<1x4xf32>) {
  %0 = kina.concat %x, %y {axis = 0} : tensor<2x3xf32>, tensor<1x4xf32> -> tensor<3x3xf32>
  func.return
}

// -----

// CHECK: concat: tensor 2 has dtype F16, expected F32 as the first has
func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  %0 = kina.concat %x, %y {axis = 0} : tensor<2x3xf32>, tensor<2x3xf16> -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: concat: result has type tensor<F32, [3, 3]>, expected tensor<F32, [4, 3]>
func.func @f(%x: tensor<2x3xf32>) {
  %0 = kina.concat %x, %x {axis = 0} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<3x3xf32>
  func.return
}

// -----

// CHECK: size: result has type tensor<I32, []>, expected tensor<I64, []>
func.func @f() {
  %0 = kina.size {of = 3 : i64} : tensor<i32>
  func.return
}

// -----

// CHECK: slice: size T + 1 does not fit axis 0 of shape [T], expected 1 .. T
func.func @f(%x: tensor<?xf32, #kina.layout<["T"], host>>, %i: tensor<i64>) {
  %0 = kina.slice %x, %i {axis = 0} : tensor<?xf32, #kina.layout<["T"], host>>, tensor<i64> -> tensor<?xf32, #kina.layout<["T + 1"], host>>
  func.return
}

// -----

// CHECK: size: `N + 2 - 2` is no size in normal form
func.func @f(%x: tensor<?xf32, #kina.layout<["N"], host>>) {
  %0 = kina.size {of = "N + 2 - 2"} : tensor<i64>
  func.return
}
