// RUN: kina-opt %s --pass lower-kina | filecheck %s
// RUN: kina-opt %s --pass 'lower-kina{fast=true}' | filecheck %s
// RUN: kina-opt %s --pass lower-kina | %mlir_opt -o /dev/null

// CHECK-LABEL: func.func @abs(
// CHECK:           math.absf %{{.*}} : f32
func.func @abs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kina.abs %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @abs_i4(
// CHECK:           arith.trunci %{{.*}} : i8 to i4
// CHECK-NEXT:      math.absi %{{.*}} : i4
// CHECK-NEXT:      arith.extsi %{{.*}} : i4 to i8
func.func @abs_i4(%x: tensor<4xi4>) -> tensor<4xi4> {
  %0 = kina.abs %x : tensor<4xi4> -> tensor<4xi4>
  func.return %0 : tensor<4xi4>
}

// CHECK-LABEL: func.func @round(
// CHECK:           arith.extf
// CHECK:           math.roundeven %{{.*}} : f32
// CHECK:           arith.truncf
func.func @round(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = kina.round %x : tensor<4xbf16> -> tensor<4xbf16>
  func.return %0 : tensor<4xbf16>
}

// A comparison is a byte at rest.
// CHECK-LABEL: func.func @less(
// CHECK-SAME:    -> tensor<4xi8>
// CHECK:           arith.extf
// CHECK-NEXT:      arith.extf
// CHECK-NEXT:      arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:      arith.extui %{{.*}} : i1 to i8
func.func @less(%x: tensor<4xf16>) -> tensor<4xi1> {
  %0 = kina.less %x, %x : tensor<4xf16>, tensor<4xf16> -> tensor<4xi1>
  func.return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @not_equal(
// CHECK:           arith.cmpf une
func.func @not_equal(%x: tensor<4xf32>) -> tensor<4xi1> {
  %0 = kina.not_equal %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  func.return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @greater_bool(
// CHECK:           arith.cmpi ugt, %{{.*}}, %{{.*}} : i1
func.func @greater_bool(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = kina.greater %x, %x : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
  func.return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @less_int(
// CHECK:           arith.cmpi slt, %{{.*}}, %{{.*}} : i32
func.func @less_int(%x: tensor<4xi32>) -> tensor<4xi1> {
  %0 = kina.less %x, %x : tensor<4xi32>, tensor<4xi32> -> tensor<4xi1>
  func.return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @logical_not(
// CHECK:           arith.cmpi ne
// CHECK-NEXT:      arith.constant true
// CHECK-NEXT:      arith.xori %{{.*}} : i1
// CHECK-NEXT:      arith.extui
func.func @logical_not(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = kina.logical_not %x : tensor<4xi1> -> tensor<4xi1>
  func.return %0 : tensor<4xi1>
}

// A choice moves bits.
// CHECK-LABEL: func.func @select(
// CHECK-NOT:       arith.extf
// CHECK:           arith.select %{{.*}} : i16
// CHECK-NEXT:      arith.bitcast %{{.*}} : i16 to bf16
func.func @select(%c: tensor<4xi1>, %x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = kina.select %c, %x, %x : tensor<4xi1>, tensor<4xbf16>, tensor<4xbf16> -> tensor<4xbf16>
  func.return %0 : tensor<4xbf16>
}

// Integers of up to 32 bits divide as floats that hold them.
// CHECK-LABEL: func.func @div(
// CHECK-NOT:       arith.divsi
// CHECK:           arith.divf %{{.*}} : f32
// CHECK-NEXT:      arith.fptosi
// CHECK-NEXT:      arith.trunci %{{.*}} : i32 to i16
func.func @div(%x: tensor<4xi16>) -> tensor<4xi16> {
  %0 = kina.div %x, %x : tensor<4xi16>, tensor<4xi16> -> tensor<4xi16>
  func.return %0 : tensor<4xi16>
}

// CHECK-LABEL: func.func @div_i64(
// CHECK:           [[DIVISOR:%\S+]] = arith.select
// CHECK-NEXT:      arith.divsi %{{.*}}, [[DIVISOR]]
func.func @div_i64(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = kina.div %x, %x : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}

// CHECK-LABEL: func.func @shift_left(
// CHECK:           arith.minui
// CHECK-NEXT:      arith.shli
// CHECK:           arith.cmpi ult
// CHECK:           arith.select
func.func @shift_left(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = kina.shift_left %x, %x : tensor<4xi8>, tensor<4xi8> -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// CHECK-LABEL: func.func @clamp(
// CHECK:           arith.maximumf
// CHECK:           arith.minimumf
func.func @clamp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kina.clamp %x, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @stop_gradient(
// CHECK-NEXT:    func.return %x
func.func @stop_gradient(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kina.stop_gradient %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
