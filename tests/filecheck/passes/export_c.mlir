// RUN: kina-opt %s --pass export-c | filecheck %s
// RUN: kina-opt %s --pass 'export-c{prefix=my_}' | filecheck %s --check-prefix PREFIX

// Static shapes: typed pointers; the result is written, not returned. Attributes stay.
// CHECK-LABEL: func.func @kina_static(%x: memref<2x3xf32>, %out: memref<2x3xf32> {llvm.noalias}) attributes {parameter_dims = {{.*}}, symbols = []} {
// CHECK-NEXT:    [[X:%\S+]] = bufferization.to_tensor %x restrict : memref<2x3xf32> to tensor<2x3xf32>
// CHECK-NEXT:    [[Y:%\S+]] = arith.negf [[X]]
// CHECK-NEXT:    bufferization.materialize_in_destination [[Y]] in restrict writable %out : (tensor<2x3xf32>, memref<2x3xf32>) -> ()
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// PREFIX:      func.func @my_static(
func.func @static(%x: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {parameter_dims = [[2, 3]], result_dims = [[2, 3]]} {
  %y = arith.negf %x : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// Symbols lead, once each, in order of appearance; their arguments are bare pointers under
// contiguous views, and tensor.dim reads the argument.
// CHECK-LABEL: func.func @kina_symbols(%B: i64, %T: i64, %x: memref<i8>, %y: memref<i8>, %out: memref<i8> {llvm.noalias}) attributes {{.*}}symbols = ["B", "T"]} {
// CHECK-NEXT:    [[B:%\S+]] = arith.index_cast %B : i64 to index
// CHECK-NEXT:    [[T:%\S+]] = arith.index_cast %T : i64 to index
// CHECK-NEXT:    [[C8:%\S+]] = arith.constant 8 : index
// CHECK-NEXT:    [[ROW:%\S+]] = arith.muli [[C8]], [[T]] : index
// CHECK-NEXT:    [[VIEW:%\S+]] = memref.reinterpret_cast %x to offset: [0], sizes: {{\[}}[[B]], [[T]], 8], strides: {{\[}}[[ROW]], 8, 1] : memref<i8> to memref<?x?x8xi8>
// CHECK-NEXT:    bufferization.to_tensor [[VIEW]] restrict
// CHECK-NEXT:    [[VIEW_Y:%\S+]] = memref.reinterpret_cast %y to offset: [0], sizes: {{\[}}[[T]], [[B]]], strides: {{\[}}[[B]], 1] : memref<i8> to memref<?x?xi8>
// CHECK-NEXT:    [[Y:%\S+]] = bufferization.to_tensor [[VIEW_Y]] restrict
// CHECK-NOT:     tensor.dim
// CHECK:         tensor.empty([[T]]) : tensor<?xi8>
// CHECK:         [[OUT:%\S+]] = memref.reinterpret_cast %out to offset: [0], sizes: {{\[}}[[T]]], strides: [1] : memref<i8> to memref<?xi8>
// CHECK-NEXT:    bufferization.materialize_in_destination {{%\S+}} in restrict writable [[OUT]]
func.func @symbols(%x: tensor<?x?x8xi8>, %y: tensor<?x?xi8>) -> tensor<?xi8> attributes {parameter_dims = [["B", "T", 8], ["T", "B"]], result_dims = [["T"]]} {
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c1 : tensor<?x?x8xi8>
  %e = tensor.empty(%t) : tensor<?xi8>
  %c0 = arith.constant 0 : i8
  %f = linalg.fill ins(%c0 : i8) outs(%e : tensor<?xi8>) -> tensor<?xi8>
  func.return %f : tensor<?xi8>
}

// An input, a constant and one value twice: each goes to an output of its own. Rank 0 is a pointer
// to one element.
// CHECK-LABEL: func.func @kina_copies(%x: memref<f32>, %out: memref<f32> {llvm.noalias}, %out_1: memref<f32> {llvm.noalias}, %out_2: memref<2xi8> {llvm.noalias})
// CHECK-NEXT:    [[X:%\S+]] = bufferization.to_tensor %x restrict : memref<f32> to tensor<f32>
// CHECK-NEXT:    [[C:%\S+]] = arith.constant dense<[1, 0]> : tensor<2xi8>
// CHECK-NEXT:    bufferization.materialize_in_destination [[X]] in restrict writable %out :
// CHECK-NEXT:    bufferization.materialize_in_destination [[X]] in restrict writable %out_1 :
// CHECK-NEXT:    bufferization.materialize_in_destination [[C]] in restrict writable %out_2 :
func.func @copies(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<2xi8>) attributes {parameter_dims = [[]], result_dims = [[], [], [2]]} {
  %c = arith.constant dense<[1, 0]> : tensor<2xi8>
  func.return %x, %x, %c : tensor<f32>, tensor<f32>, tensor<2xi8>
}
