// RUN: kina-opt %s -p expand-small-floats --print-debuginfo | filecheck %s
// RUN: kina-opt %s -p 'expand-small-floats{f16=true}' | filecheck %s --check-prefix F16

// A bfloat16 is the upper half of a float32.
// CHECK-LABEL: func.func @bf16(%x: i16
// CHECK-SAME:    -> i16
// CHECK-NEXT:    [[E:%\S+]] = arith.extui %x : i16 to i32 loc("a.kina":1:2)
// CHECK-NEXT:    [[N:%\S+]] = arith.constant 16 : i32
// CHECK-NEXT:    [[S:%\S+]] = arith.shli [[E]], [[N]] : i32
// CHECK-NEXT:    [[W:%\S+]] = arith.bitcast [[S]] : i32 to f32
// CHECK-NOT:     arith.truncf
// CHECK:         arith.cmpf uno
// CHECK:         [[T:%\S+]] = arith.trunci {{.*}} : i32 to i16
// CHECK-NEXT:    func.return [[T]] : i16
func.func @bf16(%x: bf16) -> bf16 {
  %w = arith.extf %x : bf16 to f32 loc("a.kina":1:2)
  %r = arith.truncf %w : f32 to bf16 loc("a.kina":3:4)
  func.return %r : bf16
}

// F8E4M3 has no infinity: one cap, at its NaN, serves overflow, infinity and NaN.
// CHECK-LABEL: func.func @e4m3(
// CHECK-NEXT:    arith.extui %x : i8 to i32
// CHECK-NOT:     arith.extf
// CHECK:         arith.cmpi eq
// CHECK-NOT:     arith.truncf
// CHECK:         arith.minui
// CHECK-NOT:     arith.cmpi ugt
// CHECK:         func.return {{.*}} : i8
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
// CHECK:         func.return {{.*}} : i8
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
// F16:           func.return {{.*}} : i16
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

// What is only moved is an integer, wherever its type or value stands.
// CHECK-LABEL: func.func @moved(%m: memref<2xi16>{{.*}}, %h: f16
// CHECK-SAME:    {dtypes = [i16, f16, "BF16"]}
// CHECK-NEXT:    arith.constant -16448 : i16
// CHECK-NEXT:    arith.constant dense<[16320, 16384]> : tensor<2xi16>
// CHECK-NEXT:    arith.constant 60 : i8
// CHECK-NEXT:    arith.constant 1.500000e+00 : f16
// CHECK-NEXT:    arith.constant 0
// CHECK-NEXT:    [[X:%\S+]] = memref.load %m[{{.*}}] : memref<2xi16>
// CHECK-NEXT:    arith.cmpi eq, [[X]], [[X]] : i16
func.func @moved(%m: memref<2xbf16>, %h: f16) attributes {dtypes = [bf16, f16, "BF16"]} {
  %a = arith.constant -1.5 : bf16
  %b = arith.constant dense<[1.5, 2.0]> : tensor<2xbf16>
  %c = arith.constant 1.5 : f8E4M3FN
  %d = arith.constant 1.5 : f16
  %i = arith.constant 0 : index
  %x = memref.load %m[%i] : memref<2xbf16>
  %code = arith.bitcast %x : bf16 to i16
  %k = arith.cmpi eq, %code, %code : i16
  func.return
}
