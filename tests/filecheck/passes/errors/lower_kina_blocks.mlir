// RUN: not kina-opt %s --pass lower-kina 2>&1 | filecheck %s

// CHECK: error: lower-kina: function f has 2 blocks, expected 1
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = kina.neg %x : tensor<2xf32> -> tensor<2xf32>
  cf.br ^next(%0 : tensor<2xf32>)
^next(%1: tensor<2xf32>):
  func.return %1 : tensor<2xf32>
}
