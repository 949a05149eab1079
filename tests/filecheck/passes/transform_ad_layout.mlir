// RUN: kina-opt %s --pass transform-ad | filecheck %s

func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %y = kina.transpose %x {axes = [2, 0, 1]} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  func.return %y : tensor<4x2x3xf32>
}
// CHECK-LABEL: func.func @dtranspose(
// CHECK:         kina.transpose %ct {axes = [1, 2, 0]} : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
func.func @dtranspose(%x: tensor<2x3x4xf32>, %ct: tensor<4x2x3xf32>) -> tensor<2x3x4xf32> {
  %0, %1 = kina.vjp @transpose(%x, %ct) {wrt = [0]} : (tensor<2x3x4xf32>, tensor<4x2x3xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>)
  func.return %1 : tensor<2x3x4xf32>
}

func.func @slice(%x: tensor<5xf32>, %i: tensor<i64>) -> tensor<2xf32> {
  %y = kina.slice %x, %i {axis = 0} : tensor<5xf32>, tensor<i64> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @dslice(
// CHECK:         [[Z:%\S+]] = kina.broadcast
// CHECK-NEXT:    kina.overwrite [[Z]], %ct, %i {axis = 0}
func.func @dslice(%x: tensor<5xf32>, %i: tensor<i64>, %ct: tensor<2xf32>) -> tensor<5xf32> {
  %0, %1 = kina.vjp @slice(%x, %i, %ct) {wrt = [0]} : (tensor<5xf32>, tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<5xf32>)
  func.return %1 : tensor<5xf32>
}

func.func @concat(%x: tensor<5xf32>, %y: tensor<1xf32>) -> tensor<6xf32> {
  %z = kina.concat %x, %y {axis = 0} : tensor<5xf32>, tensor<1xf32> -> tensor<6xf32>
  func.return %z : tensor<6xf32>
}
// CHECK-LABEL: func.func @dconcat(
// CHECK:         [[P:%\S+]] = kina.size {of = 0 : i64}
// CHECK-NEXT:    kina.window %ct, [[P]] {axis = 0} : {{.*}} -> tensor<5xf32>
// CHECK-NEXT:    [[Q:%\S+]] = kina.size {of = 5 : i64}
// CHECK-NEXT:    kina.window %ct, [[Q]] {axis = 0} : {{.*}} -> tensor<1xf32>
func.func @dconcat(%x: tensor<5xf32>, %y: tensor<1xf32>, %ct: tensor<6xf32>) -> (tensor<5xf32>, tensor<1xf32>) {
  %0, %1, %2 = kina.vjp @concat(%x, %y, %ct) {wrt = [0, 1]} : (tensor<5xf32>, tensor<1xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<5xf32>, tensor<1xf32>)
  func.return %1, %2 : tensor<5xf32>, tensor<1xf32>
}

func.func @update(%x: tensor<5xf32>, %n: tensor<2xf32>, %i: tensor<i64>) -> tensor<5xf32> {
  %y = kina.update %x, %n, %i {axis = 0} : tensor<5xf32>, tensor<2xf32>, tensor<i64> -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
// CHECK-LABEL: func.func @dupdate(
// CHECK:         [[Z:%\S+]] = kina.broadcast {{.*}} -> tensor<2xf32>
// CHECK-NEXT:    kina.overwrite %ct, [[Z]], %i {axis = 0}
// CHECK-NEXT:    kina.window %ct, %i {axis = 0} : {{.*}} -> tensor<2xf32>
func.func @dupdate(%x: tensor<5xf32>, %n: tensor<2xf32>, %i: tensor<i64>, %ct: tensor<5xf32>) -> (tensor<5xf32>, tensor<2xf32>) {
  %0, %1, %2 = kina.vjp @update(%x, %n, %i, %ct) {wrt = [0, 1]} : (tensor<5xf32>, tensor<2xf32>, tensor<i64>, tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<2xf32>)
  func.return %1, %2 : tensor<5xf32>, tensor<2xf32>
}
