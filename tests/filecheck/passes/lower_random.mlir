// RUN: kina-opt %s --pass lower-kina | filecheck %s
// RUN: kina-opt %s --pass lower-kina | %mlir_opt | filecheck %s --check-prefix MLIR

// CHECK-LABEL: func.func @static(
// CHECK:         linalg.generic {{.*}} outs({{%\S+}} : tensor<2x3xf32>)
// CHECK:           [[ROW:%\S+]] = linalg.index 0 : index
// CHECK:           arith.index_cast [[ROW]] : index to i64
// CHECK:           arith.muli {{%\S+}}, {{%\S+}} : i64
// CHECK:           [[KEY:%\S+]] = tensor.extract %s[{{%\S+}}] : tensor<2xi64>
// CHECK:           [[OFFSET:%\S+]] = tensor.extract %s[{{%\S+}}] : tensor<2xi64>
// CHECK:           [[BLOCK:%\S+]] = arith.shrui {{%\S+}}, {{%\S+}} : i64
// CHECK:           arith.addi [[OFFSET]], [[BLOCK]] : i64
// CHECK:           arith.constant 3528531795 : i64
// CHECK:           arith.constant 3449720151 : i64
// CHECK:           arith.constant 2654435769 : i64
// CHECK:           arith.constant 3144134277 : i64
// CHECK:           arith.trunci {{%\S+}} : i64 to i32
// CHECK:           arith.sitofp {{%\S+}} : i32 to f32
// CHECK:           arith.mulf {{%\S+}}, {{%\S+}} : f32
// CHECK:           linalg.yield
// MLIR:          linalg.index 1
func.func @static(%s: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = kina.random_uniform %s : tensor<2xi64> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @symbolic(
// CHECK:         [[SIZE:%\S+]] = arith.index_cast {{%\S+}} : index to i64
// CHECK:         linalg.generic
// CHECK:           arith.muli {{%\S+}}, [[SIZE]] : i64
// MLIR-LABEL:  func.func @symbolic(
func.func @symbolic(%x: tensor<2x?xf32, #kina.layout<[2, "N"], host>>, %s: tensor<2xi64>) -> tensor<2x?xf32, #kina.layout<[2, "N"], host>> {
  %0 = kina.random_uniform %s : tensor<2xi64> -> tensor<2x?xf32, #kina.layout<[2, "N"], host>>
  func.return %0 : tensor<2x?xf32, #kina.layout<[2, "N"], host>>
}

// CHECK-LABEL: func.func @scalar(
// MLIR-LABEL:  func.func @scalar(
// MLIR:          linalg.generic
func.func @scalar(%s: tensor<2xi64>) -> tensor<f32> {
  %0 = kina.random_uniform %s : tensor<2xi64> -> tensor<f32>
  func.return %0 : tensor<f32>
}
