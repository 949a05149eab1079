// RUN: KINA_INVALID | filecheck %s

// CHECK: vjp: no function is called g
func.func @main(%x: tensor<2xf32>) {
  %0, %1 = kina.vjp @g(%x) {wrt = [0]} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}

// -----

// CHECK: vjp: vjp of f takes 3 arguments, but 2 are given
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  %0, %1 = kina.vjp @f(%x, %i) {wrt = [0]} : (tensor<2xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}

// -----

// CHECK: vjp: vjp of f: argument 3 has type tensor<I64, [2]>, expected tensor<F32, [2]>
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  %0, %1 = kina.vjp @f(%x, %i, %i) {wrt = [0]} : (tensor<2xf32>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}

// -----

// CHECK: vjp: parameter 1 has dtype I64, expected a float
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  %0, %1 = kina.vjp @f(%x, %i, %x) {wrt = [1]} : (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  func.return
}

// -----

// CHECK: vjp: there is no parameter 2
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  %0, %1 = kina.vjp @f(%x, %i, %x) {wrt = [2]} : (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}

// -----

// CHECK: vjp: parameter 0 is named twice
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  %0, %1, %2 = kina.vjp @f(%x, %i, %x) {wrt = [0, 0]} : (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  func.return
}

// -----

// CHECK: vjp: no parameter is floating, so there is nothing to differentiate by
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  %0 = kina.vjp @f(%x, %i, %x) {wrt = []} : (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> (tensor<2xf32>)
  func.return
}

// -----

// CHECK: vjp: f gives (tensor<F32, [2]>, tensor<F32, [2]>) here, but the results have types (tensor<F32, [2]>)
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  %0 = kina.vjp @f(%x, %i, %x) {wrt = [0]} : (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> (tensor<2xf32>)
  func.return
}

// -----

// CHECK: vjp: no result is floating, so there is nothing to differentiate
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xi64> {
  func.return %i : tensor<2xi64>
}
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  %0, %1 = kina.vjp @f(%x, %i) {wrt = [0]} : (tensor<2xf32>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xf32>)
  func.return
}
