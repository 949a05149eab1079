// RUN: kina-opt %s --pass lower-kina | filecheck %s
// RUN: kina-opt %s --pass lower-kina | %mlir_opt | filecheck %s --check-prefix MLIR

// Keys are integers in the order of the elements; each goes down a sorted list of k.
// CHECK-LABEL: func.func @rows(
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<2x9xf32>) outs({{%\S+}} : tensor<2x9xi32>)
// CHECK:           arith.addf
// CHECK:           arith.cmpf uno
// CHECK:           arith.constant -2147483648 : i32
// CHECK:           arith.select
// CHECK:         "linalg.generic"
// CHECK-SAME:    affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK:           arith.cmpi sgt, [[KEY:%\S+]], [[LISTED:%\S+]] : i32
// CHECK-NEXT:      arith.cmpi eq, [[KEY]], [[LISTED]] : i32
// CHECK-NEXT:      arith.cmpi slt, {{%\S+}}, {{%\S+}} : i64
// CHECK:           linalg.yield {{.*}} : i32, i64, i32, i64
// CHECK-NEXT:    {{.*}} {selects} : (tensor<2x9xi32>, tensor<2xi32>, tensor<2xi64>, tensor<2x3xi32>, tensor<2x3xi64>)
// CHECK:         tensor.extract %x{{\[}}{{%\S+}}, {{%\S+}}] : tensor<2x9xf32>
// MLIR-LABEL:  func.func @rows(
// MLIR:          linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "reduction"]
func.func @rows(%x: tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0 = kina.top_k %x {k = 3, axis = 1} : tensor<2x9xf32> -> tensor<2x3xi64>
  %1 = kina.take_places %x, %0 {axis = 1} : tensor<2x9xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  func.return %1, %0 : tensor<2x3xf32>, tensor<2x3xi64>
}

// Integers are their own keys. The axis is walked inside of all others.
// CHECK-LABEL: func.func @inner(
// CHECK:         "linalg.generic"(%x,
// CHECK-SAME:    affine_map<(d0, d1, d2, d3) -> (d0, d2, d1)>, {{.*}} affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
// MLIR-LABEL:  func.func @inner(
func.func @inner(%x: tensor<2x?x4xi16, #kina.layout<[2, "N", 4], host>>) -> tensor<2x5x4xi64> {
  %0 = kina.top_k %x {k = 5, axis = 1} : tensor<2x?x4xi16, #kina.layout<[2, "N", 4], host>> -> tensor<2x5x4xi64>
  func.return %0 : tensor<2x5x4xi64>
}

// CHECK-LABEL: func.func @one(
// CHECK-NOT:     linalg.generic
// CHECK:         linalg.fill {{.*}} -> tensor<2x1xi64>
// MLIR-LABEL:  func.func @one(
func.func @one(%x: tensor<2x1xf32>) -> tensor<2x1xi64> {
  %0 = kina.top_k %x {k = 1, axis = 1} : tensor<2x1xf32> -> tensor<2x1xi64>
  func.return %0 : tensor<2x1xi64>
}

// Zeros, and one write for each place.
// CHECK-LABEL: func.func @put(
// CHECK:         [[ZEROS:%\S+]] = linalg.fill {{.*}} -> tensor<2x9xf32>
// CHECK:         scf.for {{.*}} iter_args({{%\S+}} = [[ZEROS]])
// CHECK:           scf.for
// CHECK:             [[P:%\S+]] = tensor.extract %p
// CHECK-NEXT:        [[U:%\S+]] = tensor.extract %x
// CHECK:             tensor.insert [[U]] into
// MLIR-LABEL:  func.func @put(
func.func @put(%x: tensor<2x3xf32>, %p: tensor<2x3xi64>) -> tensor<2x9xf32> {
  %0 = kina.put_places %x, %p {axis = 1} : tensor<2x3xf32>, tensor<2x3xi64> -> tensor<2x9xf32>
  func.return %0 : tensor<2x9xf32>
}

// A row of the values is enough where all rows are alike.
// CHECK-LABEL: func.func @spread(
// CHECK:         tensor.extract %x[{{%\S+}}] : tensor<9xf32>
// MLIR-LABEL:  func.func @spread(
func.func @spread(%x: tensor<9xf32>, %p: tensor<2x3xi64>) -> tensor<2x3xf32> {
  %0 = kina.take_places %x, %p {axis = 1} : tensor<9xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
