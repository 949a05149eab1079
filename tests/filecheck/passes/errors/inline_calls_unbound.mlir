// RUN: not kina-opt %s --pass inline-calls 2>&1 | filecheck %s

// CHECK: error: inline-calls: @b has the symbol M in its body, expected only symbols of its parameters
func.func @b(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = kina.broadcast %x : tensor<2xf32> -> tensor<?x2xf32, #kina.layout<["M", 2], host>>
  func.return %x : tensor<2xf32>
}
func.func @a(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = kina.call @b(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
