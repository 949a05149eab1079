// RUN: KINA_INVALID | filecheck %s

// CHECK: call: no function is called missing
func.func @g(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = kina.call @missing(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %a : tensor<3xf32>
}

// -----

// CHECK: call: f takes 1 argument, but 2 are given
func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
func.func @g(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = kina.call @f(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %a : tensor<3xf32>
}

// -----

// CHECK: call: f: argument 2 has type tensor<F32, [4]>, expected tensor<F32, [3]> ([N] with N = 3)
func.func @f(%x: tensor<?xf32, #kina.layout<["N"], host>>, %y: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @g(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<3xf32> {
  %a = kina.call @f(%x, %y) : (tensor<3xf32>, tensor<4xf32>) -> tensor<3xf32>
  func.return %a : tensor<3xf32>
}

// -----

// CHECK: call: f: argument 1 has type tensor<F32, [3, 3]>, expected tensor<F32, [N]>
func.func @f(%x: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @g(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %a = kina.call @f(%x) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %a : tensor<3x3xf32>
}

// -----

// CHECK: call: f gives (tensor<F32, [3]>) here, but the results have types (tensor<F32, [4]>)
func.func @f(%x: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @g(%x: tensor<3xf32>) -> tensor<4xf32> {
  %a = kina.call @f(%x) : (tensor<3xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
