// RUN: not kina-opt %s --pass lower-kina 2>&1 | filecheck %s

// CHECK: a.kina:2:9: error: lower-kina: parameter x of f has type tensor<F32, [2], @device>: @device has no code generator, expected @host
// CHECK-NOT: Traceback
func.func @f(%x: tensor<2xf32, #kina.layout<[2], device>> {kina.name = "x"} loc("a.kina":2:9)) {
  %0 = kina.neg %x : tensor<2xf32, #kina.layout<[2], device>> -> tensor<2xf32, #kina.layout<[2], device>>
  func.return
} loc("a.kina":1:1)
