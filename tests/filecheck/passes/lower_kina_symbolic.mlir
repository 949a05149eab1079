// RUN: kina-opt %s --pass lower-kina | filecheck %s

// Each size is read once, at the entry, from the first parameter that has it.
// CHECK-LABEL: func.func @take(
// CHECK-SAME:    %x: tensor<?x?x8xf32>, %i: tensor<?x8xi64>) -> tensor<?x8xf32>
// CHECK-SAME:    parameter_dims = {{\[\[}}"B", "V", 8 : i64], ["B", 8 : i64]]
// CHECK-NEXT:    [[ZERO:%\S+]] = arith.constant 0 : index
// CHECK-NEXT:    [[B:%\S+]] = tensor.dim %x, [[ZERO]]
// CHECK-NEXT:    [[ONE:%\S+]] = arith.constant 1 : index
// CHECK-NEXT:    [[V:%\S+]] = tensor.dim %x, [[ONE]]
// CHECK-NOT:     tensor.dim
// CHECK-NEXT:    [[SIZE:%\S+]] = arith.index_cast [[V]] : index to i64
// CHECK:         arith.cmpi ult, {{%\S+}}, [[SIZE]] : i64
// CHECK:         cf.assert {{%\S+}}, "take_along_axis: index out of range 0 .. V-1 (axis 1)"
// CHECK:         tensor.empty([[B]]) : tensor<?x8xf32>
func.func @take(%x: tensor<?x?x8xf32, #kina.layout<["B", "V", 8], host>>, %i: tensor<?x8xi64, #kina.layout<["B", 8], host>>) -> tensor<?x8xf32, #kina.layout<["B", 8], host>> {
  %0 = kina.take_along_axis %x, %i {axis = 1} : tensor<?x?x8xf32, #kina.layout<["B", "V", 8], host>>, tensor<?x8xi64, #kina.layout<["B", 8], host>> -> tensor<?x8xf32, #kina.layout<["B", 8], host>>
  func.return %0 : tensor<?x8xf32, #kina.layout<["B", 8], host>>
}

// The halves that simplify-kina makes.
// CHECK-LABEL: func.func @halves(
// CHECK:         [[V:%\S+]] = tensor.dim %x
// CHECK:         arith.index_cast [[V]]
// CHECK:         cf.assert {{%\S+}}, "b.kina:7:1: take_along_axis: index out of range 0 .. V-1 (axis 1)"
// CHECK:         linalg.generic
// CHECK:           [[C:%\S+]] = arith.index_cast
// CHECK-NEXT:      tensor.extract %x{{\[}}[[C]]] : tensor<?xf32>
func.func @halves(%x: tensor<?xf32, #kina.layout<["V"], host>>, %i: tensor<3xi64>) -> tensor<3xf32> {
  kina.check_indices %i {axis = 1, size = "V"} : tensor<3xi64> loc("b.kina":7:1)
  %0 = kina.select_along_axis %x, %i {axis = 1} : tensor<?xf32, #kina.layout<["V"], host>>, tensor<3xi64> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @gather(
// CHECK:         cf.assert {{%\S+}}, "gather: index out of range 0 .. V-1 (axis 0)"
// CHECK:         [[ROW:%\S+]] = arith.index_cast
// CHECK-NEXT:    [[D:%\S+]] = linalg.index 1
// CHECK-NEXT:    tensor.extract %x{{\[}}[[ROW]], [[D]]]
func.func @gather(%x: tensor<?x3xf16, #kina.layout<["V", 3], host>>, %i: tensor<4xi64>) -> tensor<4x3xf16> {
  %0 = kina.gather %x, %i : tensor<?x3xf16, #kina.layout<["V", 3], host>>, tensor<4xi64> -> tensor<4x3xf16>
  func.return %0 : tensor<4x3xf16>
}

// The mean divides by the size at run time.
// CHECK-LABEL: func.func @mean(
// CHECK:         [[N:%\S+]] = tensor.dim
// CHECK:         arith.addf
// CHECK:         [[N64:%\S+]] = arith.index_cast [[N]] : index to i64
// CHECK-NEXT:    [[SIZE:%\S+]] = arith.sitofp [[N64]] : i64 to f32
// CHECK:         arith.divf {{%\S+}}, [[SIZE]] : f32
func.func @mean(%x: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<f32> {
  %0 = kina.reduce mean %x {axis = 0} : tensor<?xf32, #kina.layout<["N"], host>> -> tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @reshape(
// CHECK:         [[B:%\S+]] = tensor.dim
// Only what changes is collapsed and expanded.
// CHECK:         [[S:%\S+]] = tensor.collapse_shape %x {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : tensor<?x2x3xf32> into tensor<?x6xf32>
// CHECK-NEXT:    tensor.expand_shape [[S]] {{\[\[}}0 : i64], [1 : i64, 2 : i64]] output_shape {{\[}}[[B]], 3, 2] : tensor<?x6xf32> into tensor<?x3x2xf32>
// A size moves to another place: one group of two axes.
// CHECK-NEXT:    [[S:%\S+]] = tensor.collapse_shape %x {{\[\[}}0 : i64, 1 : i64, 2 : i64]] : tensor<?x2x3xf32> into tensor<?xf32>
// CHECK-NEXT:    tensor.expand_shape [[S]] {{\[\[}}0 : i64, 1 : i64]] output_shape [6, [[B]]] : tensor<?xf32> into tensor<6x?xf32>
func.func @reshape(%x: tensor<?x2x3xf32, #kina.layout<["B", 2, 3], host>>) -> (tensor<?x3x2xf32, #kina.layout<["B", 3, 2], host>>, tensor<6x?xf32, #kina.layout<[6, "B"], host>>) {
  %0 = kina.reshape %x : tensor<?x2x3xf32, #kina.layout<["B", 2, 3], host>> -> tensor<?x3x2xf32, #kina.layout<["B", 3, 2], host>>
  %1 = kina.reshape %x : tensor<?x2x3xf32, #kina.layout<["B", 2, 3], host>> -> tensor<6x?xf32, #kina.layout<[6, "B"], host>>
  func.return %0, %1 : tensor<?x3x2xf32, #kina.layout<["B", 3, 2], host>>, tensor<6x?xf32, #kina.layout<[6, "B"], host>>
}

// Two symbols change places: mlir-opt has no expand_shape for that, so positions are computed.
// CHECK-LABEL: func.func @swap(
// CHECK:         [[T:%\S+]] = tensor.dim
// CHECK:         [[FLAT:%\S+]] = tensor.collapse_shape %x
// CHECK:           [[I:%\S+]] = linalg.index 0
// CHECK-NEXT:      [[ROW:%\S+]] = arith.muli [[I]], [[B:%\S+]] : index
// CHECK-NEXT:      [[J:%\S+]] = linalg.index 1
// CHECK-NEXT:      [[AT:%\S+]] = arith.addi [[ROW]], [[J]] : index
// CHECK-NEXT:      tensor.extract [[FLAT]]{{\[}}[[AT]]] : tensor<?xf32>
func.func @swap(%x: tensor<?x?xf32, #kina.layout<["B", "T"], host>>) -> tensor<?x?xf32, #kina.layout<["T", "B"], host>> {
  %0 = kina.reshape %x : tensor<?x?xf32, #kina.layout<["B", "T"], host>> -> tensor<?x?xf32, #kina.layout<["T", "B"], host>>
  func.return %0 : tensor<?x?xf32, #kina.layout<["T", "B"], host>>
}

// A call with a known size casts on the way in and out.
// CHECK-LABEL: func.func @call(
// CHECK-NEXT:    [[IN:%\S+]] = tensor.cast %x : tensor<5xf32> to tensor<?xf32>
// CHECK-NEXT:    [[OUT:%\S+]] = func.call @callee([[IN]]) {symbol_sizes = [5 : i64]} : (tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT:    [[BACK:%\S+]] = tensor.cast [[OUT]] : tensor<?xf32> to tensor<5xf32>
// CHECK-NEXT:    func.return [[BACK]]
func.func @call(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = kina.call @callee(%x) : (tensor<5xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
func.func @callee(%x: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
