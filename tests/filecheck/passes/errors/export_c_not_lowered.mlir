// RUN: not kina-opt %s --pass export-c 2>&1 | filecheck %s

// CHECK: error: export-c: @f has no parameter_dims, expected a function that lower-kina made: run lower-kina first
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
