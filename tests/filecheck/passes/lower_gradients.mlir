// RUN: kina-opt %s --pass decompose-kina,lower-kina | filecheck %s
// RUN: kina-opt %s -p 'decompose-kina,lower-kina{fast=true}' | filecheck %s
// RUN: kina-opt %s --pass decompose-kina,lower-kina | %mlir_opt --linalg-fuse-elementwise-ops -o /dev/null

// The place is compared with the index: nothing is written where an index says.
// CHECK-LABEL: func.func @scatter(
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK:           arith.trunci %{{.*}} : i64 to i32
// CHECK-NEXT:      linalg.index 1
// CHECK-NEXT:      arith.index_cast %{{.*}} : index to i32
// CHECK:           arith.cmpi eq
// CHECK-NEXT:      arith.select
// CHECK-NEXT:      linalg.yield
func.func @scatter(%u: tensor<4xf32>, %i: tensor<4xi64>) -> tensor<4x8xf32> {
  %s = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xf32>, tensor<4xi64> -> tensor<4x8xf32>
  func.return %s : tensor<4x8xf32>
}

// A size that is not known is compared in 64 bits; a small float is widened, not selected.
// CHECK-LABEL: func.func @symbolic(
// CHECK:           arith.extf %{{.*}} : f16 to f32
// CHECK-NEXT:      linalg.index 0
// CHECK-NEXT:      arith.index_cast %{{.*}} : index to i64
// CHECK:           arith.select %{{.*}} : f32
// CHECK-NEXT:      arith.truncf %{{.*}} : f32 to f16
func.func @symbolic(%x: tensor<?xf16, #kina.layout<["V"], host>>, %u: tensor<f16>, %i: tensor<i64>) -> tensor<?xf16, #kina.layout<["V"], host>> {
  %s = kina.scatter_along_axis %u, %i {axis = 0} : tensor<f16>, tensor<i64> -> tensor<?xf16, #kina.layout<["V"], host>>
  func.return %s : tensor<?xf16, #kina.layout<["V"], host>>
}

// Position after position, in order; the sums are F32.
// CHECK-LABEL: func.func @rows(
// CHECK:         linalg.fill
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               tensor.extract %i[
// CHECK-NEXT:          arith.index_cast
// CHECK-NEXT:          tensor.extract
// CHECK-NEXT:          tensor.extract
// CHECK-NEXT:          arith.addf %{{.*}} : f32
// CHECK-NEXT:          tensor.insert
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
func.func @rows(%u: tensor<2x5x3xbf16>, %i: tensor<2x5xi64>) -> tensor<7x3xbf16> {
  %s = kina.scatter_add %u, %i : tensor<2x5x3xbf16>, tensor<2x5xi64> -> tensor<7x3xbf16>
  func.return %s : tensor<7x3xbf16>
}
