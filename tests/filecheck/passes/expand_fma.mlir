// RUN: kina-opt %s -p expand-fma | filecheck %s

// The product is exact in F64, and the sum is rounded to odd: one rounding to F32 counts.
// CHECK-LABEL: func.func @scalar(
// CHECK-NEXT:    func.call @kina$fma$1(%a, %b, %c) : (f32, f32, f32) -> f32
// CHECK-NOT:     math.fma
func.func @scalar(%a: f32, %b: f32, %c: f32) -> f32 {
  %r = math.fma %a, %b, %c : f32
  func.return %r : f32
}

// Long vectors go in pieces of 16, of one function.
// CHECK-LABEL: func.func @long(
// CHECK-COUNT-4: func.call @kina$fma$16(
// CHECK:         vector.shuffle
// CHECK-NOT:     math.fma
func.func @long(%a: vector<64xf32>) -> vector<64xf32> {
  %r = math.fma %a, %a, %a : vector<64xf32>
  func.return %r : vector<64xf32>
}

// CHECK-LABEL: func.func private @kina$fma$1(
// CHECK:         arith.extf
// CHECK:         arith.mulf {{.*}} : f64
// CHECK:         arith.addf {{.*}} : f64
// CHECK:         arith.truncf
// CHECK-LABEL: func.func private @kina$fma$16(
// CHECK:         arith.mulf {{.*}} : vector<16xf64>
// CHECK-NOT:     func.func
