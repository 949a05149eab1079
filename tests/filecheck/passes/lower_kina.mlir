// RUN: kina-opt %s --pass lower-kina | filecheck %s
// RUN: kina-opt %s --pass lower-kina | filecheck %s --check-prefix NOKINA

// NOKINA-NOT: {{= "?kina\.|#kina\.}}

// The signature says in plain attributes what the types no longer do.
// CHECK-LABEL: func.func @nll(
// CHECK-SAME:    %logits: tensor<1x4x8xf32>, %targets: tensor<1x4xi64>) -> tensor<1x4xf32> attributes
// CHECK-SAME:    parameter_names = ["logits", "arg1"]
// CHECK-SAME:    parameter_dims = {{\[\[}}1 : i64, 4 : i64, 8 : i64], [1 : i64, 4 : i64]]
// CHECK-SAME:    parameter_dtypes = ["F32", "I64"]
// CHECK-SAME:    result_dims = {{\[\[}}1 : i64, 4 : i64]], result_dtypes = ["F32"]
// Seed 9: max, sub, exp, sum, log, sub.
// CHECK:         arith.constant 0xff800000 : f32
// CHECK:         arith.maximumf
// CHECK:         [[MAX:%\S+]] = tensor.expand_shape
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:    ins([[MAX]] : tensor<1x4x1xf32>)
// CHECK:         arith.subf
// CHECK:         math.exp {{%\S+}} : f32
// CHECK:         arith.addf
// CHECK:         math.log
// CHECK:         arith.subf
// CHECK-NEXT:    linalg.yield
// CHECK-NEXT:    } -> tensor<1x4x8xf32>
// The bounds: one unsigned comparison, one flag, one assertion outside of the loops.
// CHECK-NEXT:    [[SIZE:%\S+]] = arith.constant 8 : i64
// CHECK:         [[FLAG:%\S+]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]} ins(%targets : tensor<1x4xi64>) outs({{%\S+}} : tensor<i8>) {
// CHECK-NEXT:    ^{{.*}}([[INDEX:%\S+]]: i64, [[SO_FAR:%\S+]]: i8):
// CHECK-NEXT:      [[INSIDE:%\S+]] = arith.cmpi ult, [[INDEX]], [[SIZE]] : i64
// CHECK-NEXT:      [[BYTE:%\S+]] = arith.extui [[INSIDE]] : i1 to i8
// CHECK-NEXT:      arith.andi [[SO_FAR]], [[BYTE]] : i8
// CHECK:         tensor.extract [[FLAG]][] : tensor<i8>
// CHECK:         cf.assert {{%\S+}}, "a.kina:5:10: take_along_axis: index out of range 0 .. 7 (axis 2)"
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%targets : tensor<1x4xi64>)
// CHECK:           [[C:%\S+]] = arith.index_cast {{%\S+}} : i64 to index
// CHECK-NEXT:      [[A:%\S+]] = linalg.index 0 : index
// CHECK-NEXT:      [[B:%\S+]] = linalg.index 1 : index
// CHECK-NEXT:      tensor.extract {{%\S+}}{{\[}}[[A]], [[B]], [[C]]] : tensor<1x4x8xf32>
// CHECK:         arith.negf
func.func @nll(%logits: tensor<1x4x8xf32> {kina.name = "logits"}, %targets: tensor<1x4xi64>) -> tensor<1x4xf32> {
  %0 = kina.log_softmax %logits {axis = 2} : tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  %1 = kina.take_along_axis %0, %targets {axis = 2} : tensor<1x4x8xf32>, tensor<1x4xi64> -> tensor<1x4xf32> loc("a.kina":5:10)
  %2 = kina.neg %1 : tensor<1x4xf32> -> tensor<1x4xf32>
  func.return %2 : tensor<1x4xf32>
}

// Seed 17's generic with two outputs, in the form that xDSL reads back.
// CHECK-LABEL: func.func @greedy(
// CHECK-SAME:    -> tensor<1x4xi64>
// CHECK:         [[START:%\S+]] = arith.constant 0xff800000 : f32
// CHECK:         linalg.fill ins([[START]] : f32)
// CHECK:         [[ZERO:%\S+]] = arith.constant 0 : i64
// CHECK:         linalg.fill ins([[ZERO]] : i64)
// CHECK:         {{%\S+}}, [[INDEX:%\S+]] = "linalg.generic"(%x, {{%\S+}}, {{%\S+}}) {{.*}} iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 2>}> ({
// CHECK-NEXT:    ^{{.*}}([[X:%\S+]]: f32, [[ACC:%\S+]]: f32, [[AT:%\S+]]: i64):
// CHECK-NEXT:      [[GT:%\S+]] = arith.cmpf ogt, [[X]], [[ACC]] : f32
// CHECK-NEXT:      [[NEW:%\S+]] = arith.select [[GT]], [[X]], [[ACC]] : f32
// CHECK-NEXT:      [[I:%\S+]] = linalg.index 2 : index
// CHECK-NEXT:      [[I64:%\S+]] = arith.index_cast [[I]] : index to i64
// CHECK-NEXT:      [[NEWI:%\S+]] = arith.select [[GT]], [[I64]], [[AT]] : i64
// CHECK-NEXT:      linalg.yield [[NEW]], [[NEWI]] : f32, i64
// CHECK-NEXT:    }) : (tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<1x4xi64>) -> (tensor<1x4xf32>, tensor<1x4xi64>)
// CHECK-NEXT:    func.return [[INDEX]] : tensor<1x4xi64>
func.func @greedy(%x: tensor<1x4x8xf32>) -> tensor<1x4xi64> {
  %0 = kina.reduce argmax %x {axis = 2} : tensor<1x4x8xf32> -> tensor<1x4xi64>
  func.return %0 : tensor<1x4xi64>
}

// Float8 compares in f32 and starts at its lowest value, integers compare as signed.
// CHECK-LABEL: func.func @argmax_keep(
// CHECK-SAME:    -> (tensor<2x1xi64>, tensor<i64>)
// CHECK:         arith.constant -4.480000e+02 : f8E4M3FN
// CHECK:         arith.extf {{%\S+}} : f8E4M3FN to f32
// CHECK:         arith.extf {{%\S+}} : f8E4M3FN to f32
// CHECK:         arith.cmpf ogt, {{.*}} : f32
// CHECK:         arith.truncf {{%\S+}} : f32 to f8E4M3FN
// CHECK:         tensor.expand_shape {{%\S+}} {{\[\[}}0 : i64, 1 : i64]] output_shape [2, 1]
// CHECK:         arith.constant -128 : i8
// CHECK:         arith.cmpi sgt, {{.*}} : i8
func.func @argmax_keep(%x: tensor<2x3xf8E4M3FN>, %y: tensor<5xi8>) -> (tensor<2x1xi64>, tensor<i64>) {
  %0 = kina.reduce_keep argmax %x {axis = 1} : tensor<2x3xf8E4M3FN> -> tensor<2x1xi64>
  %1 = kina.reduce argmax %y {axis = 0} : tensor<5xi8> -> tensor<i64>
  func.return %0, %1 : tensor<2x1xi64>, tensor<i64>
}

// I4 and Bool are bytes in tensors and their own type in bodies.
// CHECK-LABEL: func.func @bytes(
// CHECK-SAME:    %x: tensor<4xi8>, %p: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>)
// CHECK-SAME:    parameter_dtypes = ["I4", "Bool"]
// CHECK:         arith.trunci {{%\S+}} : i8 to i4
// CHECK:         [[SUM:%\S+]] = arith.addi {{.*}} : i4
// CHECK-NEXT:    arith.extsi [[SUM]] : i4 to i8
// CHECK:         [[B:%\S+]] = arith.cmpi ne, {{.*}} : i8
// CHECK-NEXT:    [[N:%\S+]] = arith.extui [[B]] : i1 to i4
// CHECK-NEXT:    arith.extsi [[N]] : i4 to i8
func.func @bytes(%x: tensor<4xi4>, %p: tensor<4xi1>) -> (tensor<4xi4>, tensor<4xi4>) {
  %0 = kina.add %x, %x : tensor<4xi4>, tensor<4xi4> -> tensor<4xi4>
  %1 = kina.cast %p : tensor<4xi1> -> tensor<4xi4>
  func.return %0, %1 : tensor<4xi4>, tensor<4xi4>
}

// Splats are fills; I4 and Bool payloads become bytes.
// CHECK-LABEL: func.func @constants(
// CHECK-NEXT:    arith.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:    [[ONE:%\S+]] = arith.constant 1 : i8
// CHECK-NEXT:    [[E:%\S+]] = tensor.empty() : tensor<2x2xi8>
// CHECK-NEXT:    linalg.fill ins([[ONE]] : i8) outs([[E]] : tensor<2x2xi8>)
// CHECK-NEXT:    arith.constant dense<[-8, 7]> : tensor<2xi8>
// CHECK-NEXT:    arith.constant dense<[1, 0]> : tensor<2xi8>
// CHECK-NEXT:    arith.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf8E5M2>
func.func @constants() -> (tensor<f32>, tensor<2x2xi1>, tensor<2xi4>, tensor<2xi1>, tensor<2xf8E5M2>) {
  %0 = kina.constant dense<2.0> : tensor<f32> -> tensor<f32>
  %1 = kina.constant dense<true> : tensor<2x2xi1> -> tensor<2x2xi1>
  %2 = kina.constant dense<[-8, 7]> : tensor<2xi4> -> tensor<2xi4>
  %3 = kina.constant dense<[true, false]> : tensor<2xi1> -> tensor<2xi1>
  %4 = kina.constant dense<[0.0, 1.0]> : tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  func.return %0, %1, %2, %3, %4 : tensor<f32>, tensor<2x2xi1>, tensor<2xi4>, tensor<2xi1>, tensor<2xf8E5M2>
}

// No conversion is left to fptosi that has no value: NaN and what is out of range go around it.
// CHECK-LABEL: func.func @saturate(
// CHECK:         [[LOW:%\S+]] = arith.constant -1.280000e+02 : f32
// CHECK-NEXT:    [[HIGH:%\S+]] = arith.constant 1.280000e+02 : f32
// CHECK-NEXT:    [[ABOVE:%\S+]] = arith.cmpf oge, {{%\S+}}, [[HIGH]]
// CHECK-NEXT:    [[BELOW:%\S+]] = arith.cmpf olt, {{%\S+}}, [[LOW]]
// CHECK:         [[SAFE:%\S+]] = arith.select
// CHECK-NEXT:    [[INT:%\S+]] = arith.fptosi [[SAFE]] : f32 to i32
// CHECK:         arith.select [[ABOVE]], {{%\S+}}, [[INT]] : i32
// CHECK:         arith.select [[BELOW]]
// CHECK:         arith.trunci {{%\S+}} : i32 to i8
func.func @saturate(%x: tensor<2xf32>) -> tensor<2xi8> {
  %0 = kina.cast %x : tensor<2xf32> -> tensor<2xi8>
  func.return %0 : tensor<2xi8>
}

// A cast to the same dtype and a broadcast to the same shape are no operation.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT:    func.return %x, %x
func.func @nothing(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = kina.cast %x : tensor<2xf32> -> tensor<2xf32>
  %1 = kina.broadcast %0 : tensor<2xf32> -> tensor<2xf32>
  func.return %1, %0 : tensor<2xf32>, tensor<2xf32>
}

// A function with nothing of kina stays as it is.
// CHECK-LABEL: func.func @plain(
// CHECK-SAME:    %x: tensor<4xi1>) -> tensor<4xi1> {
func.func @plain(%x: tensor<4xi1>) -> tensor<4xi1> {
  func.return %x : tensor<4xi1>
}

// xDSL would print zeros of both signs as one splat: they go as bits.
// CHECK-LABEL: func.func @zeros(
// CHECK-NEXT:    [[BITS:%\S+]] = arith.constant dense<[0, -32768]> : tensor<2xi16>
// CHECK:         linalg.generic {{.*}} ins([[BITS]] : tensor<2xi16>)
// CHECK:           arith.bitcast {{%\S+}} : i16 to bf16
func.func @zeros() -> tensor<2xbf16> {
  %0 = kina.constant dense<[0.0, -0.0]> : tensor<2xbf16> -> tensor<2xbf16>
  func.return %0 : tensor<2xbf16>
}
