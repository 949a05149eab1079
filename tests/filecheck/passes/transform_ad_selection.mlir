// RUN: kina-opt %s --pass transform-ad | filecheck %s

func.func @best(%x: tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0 = kina.top_k %x {k = 3, axis = 1} : tensor<2x9xf32> -> tensor<2x3xi64>
  %1 = kina.take_places %x, %0 {axis = 1} : tensor<2x9xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  func.return %1, %0 : tensor<2x3xf32>, tensor<2x3xi64>
}

// The cotangent at the places that were taken; the places carry none.
// CHECK-LABEL: func.func @dbest(
// CHECK-NEXT:    [[P:%\S+]] = kina.top_k %x {k = 3, axis = 1}
// CHECK-NEXT:    kina.take_places %x, [[P]] {axis = 1}
// CHECK-NEXT:    [[G:%\S+]] = kina.put_places %ct, [[P]] {axis = 1}
// CHECK-NEXT:    func.return [[G]]
func.func @dbest(%x: tensor<2x9xf32>, %ct: tensor<2x3xf32>) -> (tensor<2x9xf32>) {
  %0, %1, %2 = kina.vjp @best(%x, %ct) {wrt = [0]} : (tensor<2x9xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>, tensor<2x9xf32>)
  func.return %2 : tensor<2x9xf32>
}

// What was not taken counts no further: 0 / x is no NaN where x is 0.
func.func @logs(%x: tensor<9xf32>) -> tensor<3xf32> {
  %l = kina.log %x : tensor<9xf32> -> tensor<9xf32>
  %0 = kina.top_k %l {k = 3, axis = 0} : tensor<9xf32> -> tensor<3xi64>
  %1 = kina.take_places %l, %0 {axis = 0} : tensor<9xf32>, tensor<3xi64> -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @dlogs(
// CHECK:         kina.put_places %ct
// CHECK:         [[D:%\S+]] = kina.div
// CHECK:         kina.put_places
// CHECK:         kina.cast
// CHECK:         kina.select {{%\S+}}, [[D]]
func.func @dlogs(%x: tensor<9xf32>, %ct: tensor<3xf32>) -> (tensor<9xf32>) {
  %0, %1 = kina.vjp @logs(%x, %ct) {wrt = [0]} : (tensor<9xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<9xf32>)
  func.return %1 : tensor<9xf32>
}

// The gradient of the gradient reads at the places again.
// CHECK-LABEL: func.func @ddbest(
// CHECK:         kina.take_places
func.func @ddbest(%x: tensor<2x9xf32>, %ct: tensor<2x3xf32>, %c: tensor<2x9xf32>) -> (tensor<2x3xf32>) {
  %0, %1 = kina.vjp @dbest(%x, %ct, %c) {wrt = [1]} : (tensor<2x9xf32>, tensor<2x3xf32>, tensor<2x9xf32>) -> (tensor<2x9xf32>, tensor<2x3xf32>)
  func.return %1 : tensor<2x3xf32>
}
