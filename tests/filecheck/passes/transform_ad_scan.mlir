// RUN: kina-opt %s --pass transform-ad | filecheck %s

func.func @cumsum(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.cumsum %x {axis = 0} : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dcumsum(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.reverse %ct {axis = 0}
// CHECK-NEXT:    %1 = kina.cumsum %0 {axis = 0}
// CHECK-NEXT:    %2 = kina.reverse %1 {axis = 0}
// CHECK-NEXT:    func.return
func.func @dcumsum(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @cumsum(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @prod(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %y = kina.reduce prod %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @dprod(
// CHECK:         %y = kina.
// CHECK:         [[BEFORE:%\S+]] = kina.recurrence %x, {{%\S+}} {axis = 1, start = 1}
// CHECK-NEXT:    [[X:%\S+]] = kina.reverse %x {axis = 1}
// CHECK-NEXT:    [[R:%\S+]] = kina.recurrence [[X]], {{%\S+}} {axis = 1, start = 1}
// CHECK-NEXT:    [[BEHIND:%\S+]] = kina.reverse [[R]] {axis = 1}
// CHECK-NEXT:    kina.mul [[BEFORE]], [[BEHIND]]
func.func @dprod(%x: tensor<2x3xf32>, %ct: tensor<2xf32>) -> (tensor<2x3xf32>) {
  %0, %1 = kina.vjp @prod(%x, %ct) {wrt = [0]} : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2x3xf32>)
  func.return %1 : tensor<2x3xf32>
}

func.func @recurrence(%x: tensor<3xf32>, %t: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.recurrence %x, %t {axis = 0, start = 1} : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @drecurrence(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.reverse %x {axis = 0}
// CHECK-NEXT:    %1 = kina.reverse %ct {axis = 0}
// CHECK-NEXT:    %2 = kina.recurrence %0, %1 {axis = 0, start = 0}
// CHECK-NEXT:    %3 = kina.reverse %2 {axis = 0}
// CHECK-NEXT:    %4 = kina.mul %3, %y
// CHECK:         func.return
func.func @drecurrence(%x: tensor<3xf32>, %t: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0, %1, %2 = kina.vjp @recurrence(%x, %t, %ct) {wrt = [0, 1]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return %1, %2 : tensor<3xf32>, tensor<3xf32>
}
