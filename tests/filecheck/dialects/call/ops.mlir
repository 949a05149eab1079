// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

func.func @f(%x: tensor<?x8xf32, #kina.layout<["N", 8], host>>) -> (tensor<?x8xf32, #kina.layout<["N", 8], host>>, tensor<f32>) {
  %c = kina.constant dense<1.0> : tensor<f32> -> tensor<f32>
  func.return %x, %c : tensor<?x8xf32, #kina.layout<["N", 8], host>>, tensor<f32>
}
func.func @g(%x: tensor<3x8xf32>, %y: tensor<?x8xf32, #kina.layout<["M", 8], host>>) {
  // CHECK: kina.call @f(%x) : (tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<f32>)
  %a, %b = kina.call @f(%x) : (tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<f32>)
  // CHECK: kina.call @f(%y) : (tensor<?x8xf32, #kina.layout<["M", 8], host>>) -> (tensor<?x8xf32, #kina.layout<["M", 8], host>>, tensor<f32>)
  %c, %d = kina.call @f(%y) : (tensor<?x8xf32, #kina.layout<["M", 8], host>>) -> (tensor<?x8xf32, #kina.layout<["M", 8], host>>, tensor<f32>)
  func.return
}
