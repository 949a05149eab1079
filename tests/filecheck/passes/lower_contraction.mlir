// RUN: kina-opt %s --pass lower-kina | filecheck %s
// RUN: kina-opt %s --pass 'lower-kina{fast=true}' | filecheck %s --check-prefix FAST
// RUN: kina-opt %s --pass lower-kina | %mlir_opt | filecheck %s --check-prefix MLIR

// Rows, columns, and the chain innermost; the fast form has columns there.
// CHECK-LABEL: func.func @matmul(
// CHECK:         linalg.fill ins({{%\S+}} : f32)
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-NEXT:    ^{{.*}}([[A:%\S+]]: f32, [[B:%\S+]]: f32, [[C:%\S+]]: f32):
// CHECK-NEXT:      [[R:%\S+]] = math.fma [[A]], [[B]], [[C]] : f32
// CHECK-NEXT:      linalg.yield [[R]] : f32
// FAST-LABEL:  func.func @matmul(
// FAST:          indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]}
// MLIR-LABEL:  func.func @matmul(
// MLIR:          math.fma
func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = kina.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @integers(
// CHECK:         [[P:%\S+]] = arith.muli {{.*}} : i8
// CHECK-NEXT:    arith.addi [[P]], {{%\S+}} : i8
func.func @integers(%x: tensor<?x3xi8, #kina.layout<["M", 3], host>>, %y: tensor<3x4xi8>) -> tensor<?x4xi8, #kina.layout<["M", 4], host>> {
  %0 = kina.matmul %x, %y : tensor<?x3xi8, #kina.layout<["M", 3], host>>, tensor<3x4xi8> -> tensor<?x4xi8, #kina.layout<["M", 4], host>>
  func.return %0 : tensor<?x4xi8, #kina.layout<["M", 4], host>>
}
