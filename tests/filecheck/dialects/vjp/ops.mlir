// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

func.func @f(%x: tensor<?x3xf32, #kina.layout<["N", 3], host>>, %i: tensor<i64>, %y: tensor<3xf16>) -> (tensor<?x3xf32, #kina.layout<["N", 3], host>>, tensor<f32>, tensor<i64>) {
  %0 = kina.reduce sum %x {axis = 0} : tensor<?x3xf32, #kina.layout<["N", 3], host>> -> tensor<3xf32>
  %1 = kina.reduce sum %0 {axis = 0} : tensor<3xf32> -> tensor<f32>
  func.return %x, %1, %i : tensor<?x3xf32, #kina.layout<["N", 3], host>>, tensor<f32>, tensor<i64>
}

// CHECK-LABEL: func.func @g(
func.func @g(%x: tensor<2x3xf32>, %i: tensor<i64>, %y: tensor<3xf16>) {
  // CHECK: kina.vjp @f(%x, %i, %y, %x) {wrt = [2, 0]} : (tensor<2x3xf32>, tensor<i64>, tensor<3xf16>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<f32>, tensor<i64>, tensor<3xf16>, tensor<2x3xf32>)
  %0, %1, %2, %3, %4 = kina.vjp @f(%x, %i, %y, %x) {wrt = [2, 0]} : (tensor<2x3xf32>, tensor<i64>, tensor<3xf16>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<f32>, tensor<i64>, tensor<3xf16>, tensor<2x3xf32>)
  func.return
}
