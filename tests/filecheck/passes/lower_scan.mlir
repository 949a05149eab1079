// RUN: kina-opt %s --pass lower-kina | filecheck %s
// RUN: kina-opt %s --pass lower-kina | %mlir_opt | filecheck %s --check-prefix MLIR

// A running value per fiber, and what is written at every element.
// CHECK-LABEL: func.func @cumsum(
// CHECK:         [[HELD:%\S+]] = linalg.fill {{.*}} -> tensor<2xf32>
// CHECK:         [[OUT:%\S+]] = tensor.empty() : tensor<2x3xf32>
// CHECK:         "linalg.generic"(%x, [[HELD]], [[OUT]])
// CHECK-SAME:    affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>
// CHECK:         [[S:%\S+]] = arith.addf
// CHECK-NEXT:    linalg.yield [[S]], [[S]] : f32, f32
// MLIR-LABEL:  func.func @cumsum(
// MLIR:          linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
func.func @cumsum(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kina.cumsum %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// Small floats add in F32, and round at every element.
// CHECK-LABEL: func.func @small(
// CHECK:         arith.extf
// CHECK:         arith.addf {{.*}} : f32
// CHECK:         arith.truncf
func.func @small(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %0 = kina.cumsum %x {axis = 0} : tensor<2x3xf16> -> tensor<2x3xf16>
  func.return %0 : tensor<2x3xf16>
}

// CHECK-LABEL: func.func @recurrence(
// CHECK:         arith.constant 1.000000e+00 : f32
// CHECK:         [[P:%\S+]] = arith.mulf
// CHECK-NEXT:    [[N:%\S+]] = arith.addf [[P]]
// CHECK-NEXT:    linalg.yield [[N]], {{%\S+}} : f32, f32
// MLIR-LABEL:  func.func @recurrence(
func.func @recurrence(%x: tensor<2x?xf32, #kina.layout<[2, "N"], host>>) -> tensor<2x?xf32, #kina.layout<[2, "N"], host>> {
  %0 = kina.recurrence %x, %x {axis = 1, start = 1} : tensor<2x?xf32, #kina.layout<[2, "N"], host>>, tensor<2x?xf32, #kina.layout<[2, "N"], host>> -> tensor<2x?xf32, #kina.layout<[2, "N"], host>>
  func.return %0 : tensor<2x?xf32, #kina.layout<[2, "N"], host>>
}

// CHECK-LABEL: func.func @reverse(
// CHECK:         arith.subi
// CHECK:         [[J:%\S+]] = arith.subi
// CHECK-NEXT:    tensor.extract %x{{\[}}{{%\S+}}, [[J]]] : tensor<2x3xf32>
// MLIR-LABEL:  func.func @reverse(
func.func @reverse(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kina.reverse %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @flags(
// CHECK:         arith.constant 0 : i8
// CHECK:         arith.cmpi ne
// CHECK:         arith.ori {{.*}} : i8
// MLIR-LABEL:  func.func @flags(
func.func @flags(%b: tensor<2x3xi1>) -> tensor<2xi1> {
  %0 = kina.reduce any %b {axis = 1} : tensor<2x3xi1> -> tensor<2xi1>
  func.return %0 : tensor<2xi1>
}

// Strictly less wins, and +inf is the start.
// CHECK-LABEL: func.func @argmin(
// CHECK:         arith.constant 0x7f800000 : f32
// CHECK:         arith.cmpf olt
// CHECK-LABEL: func.func @prod(
// CHECK:         arith.constant 1.000000e+00 : f32
// CHECK:         arith.mulf
// MLIR-LABEL:  func.func @argmin(
func.func @argmin(%x: tensor<2x3xf32>) -> tensor<2xi64> {
  %0 = kina.reduce argmin %x {axis = 1} : tensor<2x3xf32> -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}
func.func @prod(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = kina.reduce prod %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
