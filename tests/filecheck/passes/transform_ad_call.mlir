// RUN: kina-opt %s --pass transform-ad | filecheck %s

// What is differentiated is one body; the function itself keeps its call.
// CHECK-LABEL: func.func @f(
// CHECK-NEXT:    kina.call @g
// CHECK-LABEL: func.func @df(
// CHECK-NOT:     call
// CHECK:         kina.equal

func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
  %y = kina.call @g(%x) : (tensor<4xf32>) -> tensor<f32> loc("a.kina":3:5)
  func.return %y : tensor<f32>
}

func.func @g(%x: tensor<4xf32>) -> tensor<f32> {
  %y = kina.reduce max %x {axis = 0} : tensor<4xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}

func.func @df(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %0, %1 = kina.vjp @f(%x) {wrt = [0]} : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  func.return %0, %1 : tensor<f32>, tensor<4xf32>
}
