// RUN: not kina-opt %s --pass inline-calls 2>&1 | filecheck %s

// CHECK: error: inline-calls: @b is only declared, expected a function with a body
func.func private @b(tensor<2xf32>) -> tensor<2xf32>
func.func @a(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = kina.call @b(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
