// Programs through upstream MLIR alone: lowered, bufferized, to LLVM, and run by its JIT.
// RUN: kina-opt %s --pass lower-kina | %mlir_opt --one-shot-bufferize=bufferize-function-boundaries --convert-linalg-to-loops --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-math-to-libm --convert-math-to-llvm --finalize-memref-to-llvm --convert-arith-to-llvm --convert-cf-to-llvm --convert-func-to-llvm --convert-index-to-llvm --reconcile-unrealized-casts -o %t.mlir
// RUN: %mlir_runner %t.mlir -e half --entry-point-result=f32 | filecheck %s --check-prefix HALF
// RUN: %mlir_runner %t.mlir -e tie --entry-point-result=i64 | filecheck %s --check-prefix TIE

func.func @nll(%logits: tensor<2x4xf32>, %targets: tensor<2xi64>) -> tensor<2xf32> {
  %0 = kina.log_softmax %logits {axis = 1} : tensor<2x4xf32> -> tensor<2x4xf32>
  %1 = kina.take_along_axis %0, %targets {axis = 1} : tensor<2x4xf32>, tensor<2xi64> -> tensor<2xf32>
  %2 = kina.neg %1 : tensor<2xf32> -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

func.func @greedy(%logits: tensor<2x4xf32>) -> tensor<2xi64> {
  %0 = kina.reduce argmax %logits {axis = 1} : tensor<2x4xf32> -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

// log(3) against three zeros is one half of the mass: -log(1/2). A naive exp of 1000 would overflow.
// HALF: 6.931{{[0-9]+}}e-01
func.func @half() -> f32 {
  %logits = arith.constant dense<[[0.0, 0.0, 0.0, 0.0], [1000.0, 1001.0986, 1000.0, 1000.0]]> : tensor<2x4xf32>
  %targets = arith.constant dense<[0, 1]> : tensor<2xi64>
  %loss = func.call @nll(%logits, %targets) : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<2xf32>
  %i = arith.constant 1 : index
  %value = tensor.extract %loss[%i] : tensor<2xf32>
  func.return %value : f32
}

// The lowest of two equal maxima.
// TIE: 2
func.func @tie() -> i64 {
  %logits = arith.constant dense<[[0.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 5.0, 5.0]]> : tensor<2x4xf32>
  %tokens = func.call @greedy(%logits) : (tensor<2x4xf32>) -> tensor<2xi64>
  %i = arith.constant 1 : index
  %value = tensor.extract %tokens[%i] : tensor<2xi64>
  func.return %value : i64
}
