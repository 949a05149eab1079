// RUN: kina-opt %s --pass transform-ad | filecheck %s
// Gradients of products are products; no operand is transposed first.

func.func @shared(%x: tensor<5x2x3xf32>, %w: tensor<3x4xf32>) -> tensor<5x2x4xf32> {
  %y = kina.matmul %x, %w : tensor<5x2x3xf32>, tensor<3x4xf32> -> tensor<5x2x4xf32>
  func.return %y : tensor<5x2x4xf32>
}
// CHECK-LABEL: func.func @dshared(
// CHECK:         %y = kina.matmul
// CHECK-NEXT:    %0 = kina.contract %ct [0, 1, 3], %w [2, 3] : tensor<5x2x4xf32>, tensor<3x4xf32> -> tensor<5x2x3xf32>
// CHECK-NEXT:    %1 = kina.contract %x [2, 3, 0], %ct [2, 3, 1] : tensor<5x2x3xf32>, tensor<5x2x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:    func.return
func.func @dshared(%x: tensor<5x2x3xf32>, %w: tensor<3x4xf32>, %ct: tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<3x4xf32>) {
  %0, %1, %2 = kina.vjp @shared(%x, %w, %ct) {wrt = [0, 1]} : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<5x2x4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x3xf32>, tensor<3x4xf32>)
  func.return %1, %2 : tensor<5x2x3xf32>, tensor<3x4xf32>
}

func.func @transposed(%x: tensor<5x2x3xf32>, %y: tensor<5x4x3xf32>) -> tensor<5x2x4xf32> {
  %z = kina.contract %x [0, 1, 3], %y [0, 2, 3] : tensor<5x2x3xf32>, tensor<5x4x3xf32> -> tensor<5x2x4xf32>
  func.return %z : tensor<5x2x4xf32>
}
// CHECK-LABEL: func.func @dtransposed(
// CHECK:         %z = kina.contract
// CHECK-NEXT:    %0 = kina.contract %ct [0, 1, 3], %y [0, 3, 2] : tensor<5x2x4xf32>, tensor<5x4x3xf32> -> tensor<5x2x3xf32>
// CHECK-NEXT:    %1 = kina.contract %x [0, 3, 2], %ct [0, 3, 1] : tensor<5x2x3xf32>, tensor<5x2x4xf32> -> tensor<5x4x3xf32>
// CHECK-NEXT:    func.return
func.func @dtransposed(%x: tensor<5x2x3xf32>, %y: tensor<5x4x3xf32>, %ct: tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<5x4x3xf32>) {
  %0, %1, %2 = kina.vjp @transposed(%x, %y, %ct) {wrt = [0, 1]} : (tensor<5x2x3xf32>, tensor<5x4x3xf32>, tensor<5x2x4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x3xf32>, tensor<5x4x3xf32>)
  func.return %1, %2 : tensor<5x2x3xf32>, tensor<5x4x3xf32>
}
