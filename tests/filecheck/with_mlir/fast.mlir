// RUN: kina-opt %s --pass 'lower-kina{fast=true}' | %mlir_opt --linalg-fuse-elementwise-ops --canonicalize | filecheck %s

// CHECK-LABEL: func.func @nll(
// CHECK:         arith.maximumf
// CHECK:         math.exp %{{.*}} {nonpositive, summed} : f32
// CHECK:         cf.assert
func.func @nll(%logits: tensor<1x4x8xf32>, %targets: tensor<1x4xi64>) -> tensor<1x4xf32> {
  %0 = kina.log_softmax %logits {axis = 2} : tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  %1 = kina.take_along_axis %0, %targets {axis = 2} : tensor<1x4x8xf32>, tensor<1x4xi64> -> tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @argmax(
// CHECK:         arith.cmpf ogt
// CHECK:         arith.select {{.*}} : f32
// CHECK:         arith.select {{.*}} : i32
func.func @argmax(%x: tensor<?x8xf32, #kina.layout<["B", 8], host>>) -> tensor<?xi64, #kina.layout<["B"], host>> {
  %0 = kina.reduce argmax %x {axis = 1} : tensor<?x8xf32, #kina.layout<["B", 8], host>> -> tensor<?xi64, #kina.layout<["B"], host>>
  func.return %0 : tensor<?xi64, #kina.layout<["B"], host>>
}
