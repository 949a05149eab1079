// RUN: not kina-opt %s --pass transform-ad 2>&1 | filecheck %s
// CHECK: error: transform-ad: @f is only declared, expected a function with a body

func.func private @f(tensor<4xf32>) -> tensor<f32>

func.func @df(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %0, %1 = kina.vjp @f(%x) {wrt = [0]} : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  func.return %0, %1 : tensor<f32>, tensor<4xf32>
}
