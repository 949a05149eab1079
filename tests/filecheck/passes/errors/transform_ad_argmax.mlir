// RUN: not kina-opt %s --pass transform-ad 2>&1 | filecheck %s
// CHECK: a.kina:3:5: error: Argmax VJP is unsupported.

func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
  %a = kina.reduce argmax %x {axis = 0} : tensor<4xf32> -> tensor<i64> loc("a.kina":3:5)
  %y = kina.cast %a : tensor<i64> -> tensor<f32> loc("a.kina":4:5)
  func.return %y : tensor<f32>
}

func.func @df(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %0, %1 = kina.vjp @f(%x) {wrt = [0]} : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  func.return %0, %1 : tensor<f32>, tensor<4xf32>
}
