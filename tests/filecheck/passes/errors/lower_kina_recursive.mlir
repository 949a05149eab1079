// RUN: not kina-opt %s --pass lower-kina 2>&1 | filecheck %s

// CHECK: error: lower-kina: @b calls itself, expected other functions only: the language has no recursion
func.func @a(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = kina.call @b(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
func.func @b(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = kina.call @a(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
