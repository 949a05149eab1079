// RUN: not kina-opt %s --pass lower-kina 2>&1 | filecheck %s

// CHECK: error: lower-kina: function f: no parameter has size N
func.func @f(%x: tensor<f32>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  %0 = kina.broadcast %x : tensor<f32> -> tensor<?xf32, #kina.layout<["N"], host>>
  func.return %0 : tensor<?xf32, #kina.layout<["N"], host>>
}
