// RUN: not kina-opt %s --pass lower-kina 2>&1 | filecheck %s

// CHECK: error: lower-kina: function f: no parameter has size N
func.func @f(%x: tensor<f32>) -> tensor<i64> {
  %0 = kina.size {of = "2 * N"} : tensor<i64>
  func.return %0 : tensor<i64>
}
