// RUN: not kina-opt %s --pass assert-to-status 2>&1 | filecheck %s

// CHECK: error: assert-to-status: @f returns tensors or branches, expected one block that writes outputs and returns nothing: run export-c first
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
