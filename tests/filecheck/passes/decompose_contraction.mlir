// RUN: kina-opt %s --pass decompose-kina --print-debuginfo | filecheck %s

// A matrix product says which loop walks which axis.
// CHECK-LABEL: func.func @shared(
// CHECK-NEXT:    kina.contract %x [0, 1, 3], %y [3, 2] : tensor<5x2x3xf32>, tensor<3x4xf32> -> tensor<5x2x4xf32> loc("a.kina":2:5)
// CHECK-NEXT:    func.return
func.func @shared(%x: tensor<5x2x3xf32>, %y: tensor<3x4xf32>) -> tensor<5x2x4xf32> {
  %0 = kina.matmul %x, %y : tensor<5x2x3xf32>, tensor<3x4xf32> -> tensor<5x2x4xf32> loc("a.kina":2:5)
  func.return %0 : tensor<5x2x4xf32>
}

// Small floats are added up in F32 and round once.
// CHECK-LABEL: func.func @small(
// CHECK-NEXT:    [[X:%\S+]] = kina.cast %x : tensor<2x3xbf16> -> tensor<2x3xf32>
// CHECK-NEXT:    [[Y:%\S+]] = kina.cast %y : tensor<3x4xbf16> -> tensor<3x4xf32>
// CHECK-NEXT:    [[R:%\S+]] = kina.contract [[X]] [0, 2], [[Y]] [2, 1] : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:    kina.cast [[R]] : tensor<2x4xf32> -> tensor<2x4xbf16>
func.func @small(%x: tensor<2x3xbf16>, %y: tensor<3x4xbf16>) -> tensor<2x4xbf16> {
  %0 = kina.matmul %x, %y : tensor<2x3xbf16>, tensor<3x4xbf16> -> tensor<2x4xbf16>
  func.return %0 : tensor<2x4xbf16>
}

// The low bits of I8 are those of I4.
// CHECK-LABEL: func.func @nibbles(
// CHECK-COUNT-2: kina.cast {{.*}} -> tensor<3x3xi8>
// CHECK-NEXT:    kina.contract {{.*}} -> tensor<3x3xi8>
// CHECK-NEXT:    kina.cast {{.*}} -> tensor<3x3xi4>
func.func @nibbles(%x: tensor<3x3xi4>) -> tensor<3x3xi4> {
  %0 = kina.matmul %x, %x : tensor<3x3xi4>, tensor<3x3xi4> -> tensor<3x3xi4>
  func.return %0 : tensor<3x3xi4>
}

// Summed loops that both operands walk side by side are one.
// CHECK-LABEL: func.func @weights(
// CHECK-NEXT:    [[X:%\S+]] = kina.reshape %x : tensor<5x2x3xf32> -> tensor<10x3xf32>
// CHECK-NEXT:    [[C:%\S+]] = kina.reshape %ct : tensor<5x2x4xf32> -> tensor<10x4xf32>
// CHECK-NEXT:    kina.contract [[X]] [2, 0], [[C]] [2, 1] : tensor<10x3xf32>, tensor<10x4xf32> -> tensor<3x4xf32>
func.func @weights(%x: tensor<5x2x3xf32>, %ct: tensor<5x2x4xf32>) -> tensor<3x4xf32> {
  %0 = kina.contract %x [2, 3, 0], %ct [2, 3, 1] : tensor<5x2x3xf32>, tensor<5x2x4xf32> -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}

// Not where something stands between them.
// CHECK-LABEL: func.func @apart(
// CHECK-NEXT:    kina.contract %x [1, 0, 2], %ct [1, 2] :
func.func @apart(%x: tensor<5x2x3xf32>, %ct: tensor<5x3xf32>) -> tensor<2xf32> {
  %0 = kina.contract %x [1, 0, 2], %ct [1, 2] : tensor<5x2x3xf32>, tensor<5x3xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
