// RUN: kina-opt %s --pass lower-kina | filecheck %s
// RUN: kina-opt %s --pass lower-kina | %mlir_opt | filecheck %s --check-prefix MLIR

// CHECK-LABEL: func.func @iota(
// CHECK:         linalg.generic {{.*}} outs({{%\S+}} : tensor<2x3xi64>)
// CHECK:           linalg.index 1 : index
// MLIR:          linalg.index 1
func.func @iota() -> tensor<2x3xi64> {
  %0 = kina.iota {axis = 1} : tensor<2x3xi64>
  func.return %0 : tensor<2x3xi64>
}

// CHECK-LABEL: func.func @transpose(
// CHECK:         affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// MLIR-LABEL:  func.func @transpose(
func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = kina.transpose %x {axes = [2, 0, 1]} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  func.return %0 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @slice(
// CHECK:         [[I:%\S+]] = tensor.extract %i[] : tensor<i64>
// CHECK:         arith.cmpi sge, [[I]],
// CHECK:         arith.cmpi sle, [[I]],
// CHECK:         cf.assert {{%\S+}}, "{{.*}}slice: start out of range 0 .. T-2 (axis 0)"
// CHECK:         tensor.extract_slice %x[{{%\S+}}] [2] [1]
// MLIR-LABEL:  func.func @slice(
// MLIR:          tensor.extract_slice
func.func @slice(%x: tensor<?xf32, #kina.layout<["T"], host>>, %i: tensor<i64>) -> tensor<2xf32> {
  %0 = kina.slice %x, %i {axis = 0} : tensor<?xf32, #kina.layout<["T"], host>>, tensor<i64> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// Each part fills its window of one tensor.
// CHECK-LABEL: func.func @concat(
// CHECK:         [[E:%\S+]] = tensor.empty() : tensor<2x4xf32>
// CHECK-NEXT:    [[W:%\S+]] = tensor.extract_slice [[E]][0, 0] [2, 3] [1, 1]
// CHECK-NEXT:    linalg.generic {{.*}} ins(%x : tensor<2x3xf32>) outs([[W]]
// CHECK:         [[F:%\S+]] = tensor.insert_slice {{%\S+}} into [[E]][0, 0] [2, 3] [1, 1]
// CHECK-NEXT:    tensor.extract_slice [[F]][0, 3] [2, 1] [1, 1]
// MLIR-LABEL:  func.func @concat(
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x4xf32> {
  %0 = kina.concat %x, %y {axis = 1} : tensor<2x3xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// A chain of updates has one copy, that of the parameter, which may be the result's memory: what reads it stands before.
// CHECK-LABEL: func.func @updates(
// CHECK-SAME:    aliases = {{\[\[}}0 : i64, 0 : i64]]
// CHECK:         math.exp
// CHECK:         [[C:%\S+]] = linalg.generic {{.*}} ins(%x : tensor<2x3xf32>) {{.*}}attrs = {{ *}}{kina.taken}
// CHECK:         [[D:%\S+]] = tensor.insert_slice {{%\S+}} into [[C]][0, 1] [2, 1] [1, 1]
// CHECK:         tensor.insert_slice {{%\S+}} into [[D]][0, 2] [2, 1] [1, 1]
// MLIR-LABEL:  func.func @updates(
func.func @updates(%x: tensor<2x3xf32>, %n: tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %i = kina.constant dense<1> : tensor<i64> -> tensor<i64>
  %j = kina.constant dense<2> : tensor<i64> -> tensor<i64>
  %0 = kina.overwrite %x, %n, %i {axis = 1} : tensor<2x3xf32>, tensor<2x1xf32>, tensor<i64> -> tensor<2x3xf32>
  %1 = kina.overwrite %0, %n, %j {axis = 1} : tensor<2x3xf32>, tensor<2x1xf32>, tensor<i64> -> tensor<2x3xf32>
  %2 = kina.exp %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @returned(
// CHECK-NOT:     aliases
// CHECK-LABEL: func.func @end(
func.func @returned(%x: tensor<2x3xf32>, %n: tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %i = kina.constant dense<1> : tensor<i64> -> tensor<i64>
  %0 = kina.overwrite %x, %n, %i {axis = 1} : tensor<2x3xf32>, tensor<2x1xf32>, tensor<i64> -> tensor<2x3xf32>
  func.return %0, %x : tensor<2x3xf32>, tensor<2x3xf32>
}
func.func @end(%x: tensor<f32>) -> tensor<f32> {
  %0 = kina.neg %x : tensor<f32> -> tensor<f32>
  func.return %0 : tensor<f32>
}

// A size is a tensor only where it is used as one; a window takes the size itself.
// CHECK-LABEL: func.func @size(
// CHECK:         [[D:%\S+]] = tensor.dim %x
// CHECK:         [[I:%\S+]] = arith.index_cast [[D]] : index to i64
// CHECK:         linalg.generic {{.*}} outs({{%\S+}} : tensor<i64>)
// CHECK:           linalg.yield [[I]] : i64
// CHECK:         tensor.extract_slice %y{{\[}}[[D]]] [2] [1]
// MLIR-LABEL:  func.func @size(
func.func @size(%x: tensor<?xf32, #kina.layout<["T"], host>>, %y: tensor<?xf32, #kina.layout<["T + 2"], host>>) -> (tensor<i64>, tensor<2xf32>) {
  %0 = kina.size {of = "T"} : tensor<i64>
  %1 = kina.window %y, %0 {axis = 0} : tensor<?xf32, #kina.layout<["T + 2"], host>>, tensor<i64> -> tensor<2xf32>
  func.return %0, %1 : tensor<i64>, tensor<2xf32>
}
