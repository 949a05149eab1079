// RUN: not kina-opt %s --pass inline-calls 2>&1 | filecheck %s
// CHECK: recursive_gradient.mlir:4:1: error: inline-calls: recursive call @f -> @f, expected other functions only

func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
  %y, %d = kina.vjp @f(%x) {wrt = [0]} : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  func.return %y : tensor<f32>
}
