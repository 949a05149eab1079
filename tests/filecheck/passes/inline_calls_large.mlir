// RUN: kina-opt %s --pass inline-calls | filecheck %s

// 17 operations, called nine times: the copies would have more than 128.
// CHECK-LABEL: func.func @large(
func.func @large(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = kina.neg %0 : tensor<4xf32> -> tensor<4xf32>
  %2 = kina.neg %1 : tensor<4xf32> -> tensor<4xf32>
  %3 = kina.neg %2 : tensor<4xf32> -> tensor<4xf32>
  %4 = kina.neg %3 : tensor<4xf32> -> tensor<4xf32>
  %5 = kina.neg %4 : tensor<4xf32> -> tensor<4xf32>
  %6 = kina.neg %5 : tensor<4xf32> -> tensor<4xf32>
  %7 = kina.neg %6 : tensor<4xf32> -> tensor<4xf32>
  %8 = kina.neg %7 : tensor<4xf32> -> tensor<4xf32>
  %9 = kina.neg %8 : tensor<4xf32> -> tensor<4xf32>
  %10 = kina.neg %9 : tensor<4xf32> -> tensor<4xf32>
  %11 = kina.neg %10 : tensor<4xf32> -> tensor<4xf32>
  %12 = kina.neg %11 : tensor<4xf32> -> tensor<4xf32>
  %13 = kina.neg %12 : tensor<4xf32> -> tensor<4xf32>
  %14 = kina.neg %13 : tensor<4xf32> -> tensor<4xf32>
  %15 = kina.neg %14 : tensor<4xf32> -> tensor<4xf32>
  %16 = kina.neg %15 : tensor<4xf32> -> tensor<4xf32>
  %17 = kina.neg %16 : tensor<4xf32> -> tensor<4xf32>
  func.return %17 : tensor<4xf32>
}

// CHECK-LABEL: func.func @often(
// CHECK-COUNT-8: kina.call @large
// CHECK-NEXT:    func.return
func.func @often(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = kina.call @large(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = kina.call @large(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = kina.call @large(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = kina.call @large(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = kina.call @large(%4) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = kina.call @large(%5) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = kina.call @large(%6) : (tensor<4xf32>) -> tensor<4xf32>
  %8 = kina.call @large(%7) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %8 : tensor<4xf32>
}

// One operation more, called once: a body.
// CHECK-LABEL: func.func @once(
// CHECK-NOT:     @often
// CHECK:         kina.neg
// CHECK-COUNT-8: kina.call @large
func.func @once(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = kina.neg %0 : tensor<4xf32> -> tensor<4xf32>
  %2 = kina.call @often(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// Nothing reads the result, and no index can be out of range: nothing is left.
// CHECK-LABEL: func.func @unused(
// CHECK-NEXT:    func.return
func.func @unused(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = kina.call @large(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
