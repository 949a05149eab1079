// RUN: kina-opt %s -p expand-math --print-debuginfo | filecheck %s

// Clamp, round to n, two exact steps to r, a polynomial, and one scaling; no branch, no call.
// CHECK-LABEL: func.func @exp(
// CHECK-NOT:     math.exp
// CHECK:         arith.cmpf ogt
// CHECK-NEXT:    arith.select
// CHECK:         arith.cmpf olt
// CHECK-NEXT:    arith.select
// CHECK-COUNT-9: math.fma
// CHECK:         arith.shli
// CHECK:         math.fma
// CHECK:         arith.subi
// CHECK-NEXT:    [[R:%\S+]] = arith.bitcast {{.*}} : i32 to f32 loc("a.kina":3:7)
// CHECK-NEXT:    func.return [[R]] : f32
func.func @exp(%x: f32) -> f32 {
  %y = math.exp %x : f32 loc("a.kina":3:7)
  func.return %y : f32
}

// The promise that x is not large saves the upper clamp and the second scale.
// CHECK-LABEL: func.func @exp_nonpositive(
// CHECK-NEXT:    arith.constant -1.045000e+02 : f32
// CHECK-NEXT:    arith.cmpf ogt
// CHECK-NEXT:    arith.select
// CHECK-NOT:     arith.cmpi
// CHECK-NOT:     arith.mulf
// CHECK:         func.return
func.func @exp_nonpositive(%x: f32) -> f32 {
  %y = math.exp %x {nonpositive} : f32
  func.return %y : f32
}

// Where results are only added to exp(0), tiny ones need no care either.
// CHECK-LABEL: func.func @exp_summed(
// CHECK-NEXT:    arith.constant -8.600000e+01 : f32
// CHECK-NEXT:    arith.cmpf ogt
// CHECK-NEXT:    arith.select
// CHECK-NOT:     arith.cmp
// CHECK-COUNT-9: math.fma
// CHECK-NOT:     math.fma
// CHECK:         arith.shli
// CHECK:         [[R:%\S+]] = arith.mulf
// CHECK-NEXT:    func.return [[R]]
func.func @exp_summed(%x: f32) -> f32 {
  %y = math.exp %x {nonpositive, summed} : f32
  func.return %y : f32
}

// CHECK-LABEL: func.func @log(
// CHECK-NOT:     math.log
// CHECK:         arith.sitofp {{.*}} : i32 to f32
// CHECK:         arith.cmpf ugt, %x
// CHECK-NEXT:    [[R:%\S+]] = arith.select {{.*}} : f32
// CHECK-NEXT:    func.return [[R]] : f32
func.func @log(%x: f32) -> f32 {
  %y = math.log %x : f32
  func.return %y : f32
}

// 2^(n-1) - 1/2, with what it lost, and twice the sum.
// CHECK-LABEL: func.func @expm1(
// CHECK-NOT:     math.expm1
// CHECK:         arith.shli
// CHECK:         arith.subf {{.*}} : f32
// CHECK-COUNT-3: arith.addf
// CHECK:         [[TINY:%\S+]] = arith.cmpi slt
// CHECK-NEXT:    [[R:%\S+]] = arith.select [[TINY]], %x, {{%\S+}} : f32
// CHECK-NEXT:    func.return [[R]] : f32
func.func @expm1(%x: f32) -> f32 {
  %y = math.expm1 %x : f32
  func.return %y : f32
}

// The exponent is that of 1 + x; the rest is computed from x itself.
// CHECK-LABEL: func.func @log1p(
// CHECK-NOT:     math.log1p
// CHECK:         arith.addf %x
// CHECK:         arith.bitcast %x : f32 to i32
// CHECK:         arith.sitofp {{.*}} : i32 to f32
// CHECK:         arith.cmpi ult
// CHECK:         arith.cmpf ugt, %x
// CHECK-NEXT:    [[R:%\S+]] = arith.select {{.*}} : f32
// CHECK-NEXT:    func.return [[R]] : f32
func.func @log1p(%x: f32) -> f32 {
  %y = math.log1p %x : f32
  func.return %y : f32
}

// One division; the error of the quotient is exact, so it counts.
// CHECK-LABEL: func.func @tanh(
// CHECK-NOT:     math.tanh
// CHECK:         arith.divf
// CHECK-NOT:     arith.divf
// CHECK:         arith.ori
// CHECK:         [[R:%\S+]] = arith.select {{.*}}, %x, {{.*}} : f32
// CHECK-NEXT:    func.return [[R]] : f32
func.func @tanh(%x: f32) -> f32 {
  %y = math.tanh %x : f32
  func.return %y : f32
}

// Both polynomials, and a choice: no branch.
// CHECK-LABEL: func.func @erf(
// CHECK-NOT:     math.erf
// CHECK:         [[NEAR:%\S+]] = math.fma {{%\S+}}, %x, %x : f32
// CHECK:         arith.shli
// CHECK:         [[R:%\S+]] = arith.select {{%\S+}}, [[NEAR]], {{%\S+}} : f32
// CHECK-NEXT:    func.return [[R]] : f32
func.func @erf(%x: f32) -> f32 {
  %y = math.erf %x : f32
  func.return %y : f32
}

// Other types and functions stay: they are widened, or correctly rounded by the hardware.
// CHECK-LABEL: func.func @stays(
// CHECK-NEXT:    math.exp %x : f64
// CHECK-NEXT:    math.sqrt %z : f32
// CHECK-NEXT:    math.log %v : vector<4xf32>
func.func @stays(%x: f64, %z: f32, %v: vector<4xf32>) {
  %a = math.exp %x : f64
  %b = math.sqrt %z : f32
  %c = math.log %v : vector<4xf32>
  func.return
}

// A fused multiply-add of the user's stays.
// CHECK-LABEL: func.func @fma(
// CHECK:       linalg.generic
// CHECK:         math.fma %a, %b, %c : f32
func.func @fma(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %v = math.fma %a, %b, %c : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
