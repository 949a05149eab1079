// RUN: kina-opt %s --pass simplify-kina | filecheck %s

// A product whose last two axes are exchanged afterwards is written that way.
// CHECK-LABEL: func.func @turned(
// CHECK-NEXT:    [[p:%\d+]] = kina.contract %x [0, 3, 2], %y [0, 3, 1]
// CHECK-NEXT:    func.return [[p]]
func.func @turned(%x: tensor<2x5x3xf32>, %y: tensor<2x5x4xf32>) -> tensor<2x4x3xf32> {
  %0 = kina.contract %x [0, 3, 1], %y [0, 3, 2] : tensor<2x5x3xf32>, tensor<2x5x4xf32> -> tensor<2x3x4xf32>
  %1 = kina.transpose %0 {axes = [0, 2, 1]} : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  func.return %1 : tensor<2x4x3xf32>
}

// Other transposes stay, and so does one of a product that is read elsewhere.
// CHECK-LABEL: func.func @stays(
// CHECK:         kina.transpose
// CHECK:         kina.transpose
func.func @stays(%x: tensor<2x5x3xf32>, %y: tensor<2x5x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>) {
  %0 = kina.contract %x [0, 3, 1], %y [0, 3, 2] : tensor<2x5x3xf32>, tensor<2x5x4xf32> -> tensor<2x3x4xf32>
  %1 = kina.transpose %0 {axes = [1, 0, 2]} : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %2 = kina.contract %x [0, 3, 1], %y [0, 3, 2] : tensor<2x5x3xf32>, tensor<2x5x4xf32> -> tensor<2x3x4xf32>
  %3 = kina.transpose %2 {axes = [0, 2, 1]} : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  func.return %1, %3, %2 : tensor<3x2x4xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>
}
