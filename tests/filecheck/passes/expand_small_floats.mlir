// RUN: kina-opt %s -p expand-small-floats --print-debuginfo | filecheck %s
// RUN: kina-opt %s -p 'expand-small-floats{f16=true}' | filecheck %s --check-prefix F16

// A bfloat16 is the upper half of a float32.
// CHECK-LABEL: func.func @bf16(
// CHECK-NEXT:    [[C:%\S+]] = arith.bitcast %x : bf16 to i16 loc("a.kina":1:2)
// CHECK-NEXT:    [[E:%\S+]] = arith.extui [[C]] : i16 to i32 loc("a.kina":1:2)
// CHECK-NEXT:    [[N:%\S+]] = arith.constant 16 : i32
// CHECK-NEXT:    [[S:%\S+]] = arith.shli [[E]], [[N]] : i32
// CHECK-NEXT:    [[W:%\S+]] = arith.bitcast [[S]] : i32 to f32
// CHECK-NOT:     arith.truncf
// CHECK:         arith.cmpi ugt
// CHECK:         [[T:%\S+]] = arith.trunci {{.*}} : i32 to i16
// CHECK-NEXT:    [[R:%\S+]] = arith.bitcast [[T]] : i16 to bf16 loc("a.kina":3:4)
// CHECK-NEXT:    func.return [[R]] : bf16
func.func @bf16(%x: bf16) -> bf16 {
  %w = arith.extf %x : bf16 to f32 loc("a.kina":1:2)
  %r = arith.truncf %w : f32 to bf16 loc("a.kina":3:4)
  func.return %r : bf16
}

// F8E4M3 has no infinity: one cap, at its NaN, serves overflow, infinity and NaN.
// CHECK-LABEL: func.func @e4m3(
// CHECK-NEXT:    arith.bitcast %x : f8E4M3FN to i8
// CHECK-NOT:     arith.extf
// CHECK:         arith.cmpi eq
// CHECK-NOT:     arith.truncf
// CHECK:         arith.minui
// CHECK-NOT:     arith.cmpi ugt
// CHECK:         arith.bitcast {{.*}} : i8 to f8E4M3FN
func.func @e4m3(%x: f8E4M3FN) -> f8E4M3FN {
  %w = arith.extf %x : f8E4M3FN to f32
  %r = arith.truncf %w : f32 to f8E4M3FN
  func.return %r : f8E4M3FN
}

// CHECK-LABEL: func.func @e5m2(
// CHECK-NOT:     arith.extf
// CHECK:         arith.cmpi uge
// CHECK-NOT:     arith.truncf
// CHECK:         arith.cmpi ugt
// CHECK:         arith.bitcast {{.*}} : i8 to f8E5M2
func.func @e5m2(%x: f8E5M2) -> f8E5M2 {
  %w = arith.extf %x : f8E5M2 to f32
  %r = arith.truncf %w : f32 to f8E5M2
  func.return %r : f8E5M2
}

// Most targets have exact instructions for F16.
// CHECK-LABEL: func.func @f16(
// CHECK-NEXT:    arith.extf %x : f16 to f32
// CHECK-NEXT:    arith.truncf {{.*}} : f32 to f16
// F16-LABEL:   func.func @f16(
// F16-NOT:       arith.extf
// F16-NOT:       arith.truncf
// F16:           func.return
func.func @f16(%x: f16) -> f16 {
  %w = arith.extf %x : f16 to f32
  %r = arith.truncf %w : f32 to f16
  func.return %r : f16
}

// Conversions to and from F64 are not ours.
// CHECK-LABEL: func.func @wide(
// CHECK-NEXT:    arith.extf %x : f32 to f64
// CHECK-NEXT:    arith.truncf {{.*}} : f64 to f32
func.func @wide(%x: f32) -> f32 {
  %w = arith.extf %x : f32 to f64
  %r = arith.truncf %w : f64 to f32
  func.return %r : f32
}
