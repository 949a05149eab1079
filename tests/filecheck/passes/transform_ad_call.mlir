// RUN: kina-opt %s --pass transform-ad | filecheck %s
// A call goes back through a call of the callee's pullback: a private function for each way of use.

// CHECK-LABEL: func.func @f(
// CHECK-NEXT:    kina.call @g
func.func @f(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<f32> {
  %y = kina.call @g(%x, %i) : (tensor<4xf32>, tensor<2xi64>) -> tensor<f32> loc("a.kina":3:5)
  %e = kina.exp %x : tensor<4xf32> -> tensor<4xf32>
  %z = kina.call @g(%e, %i) : (tensor<4xf32>, tensor<2xi64>) -> tensor<f32>
  %p = kina.mul %y, %z : tensor<f32>, tensor<f32> -> tensor<f32>
  func.return %p : tensor<f32>
}

// The part of the body that a gradient needs, again; then the gradient. What is known of the gradient
// of x already goes in and comes out added to: the additions are those of a body in place of the call.
// CHECK-LABEL: func.func @g(
// CHECK-LABEL: func.func private @g$vjp0(%0: tensor<4xf32>, %1: tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT:    %m = kina.reduce max %0
// CHECK:         [[g:%\d+]] = kina.select
// CHECK-NEXT:    func.return [[g]] : tensor<4xf32>
// CHECK-LABEL: func.func private @g$vjp1(%0: tensor<4xf32>, %1: tensor<f32>, %2: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT:     kina.cast %{{.*}} -> tensor<2x
// CHECK:         [[g:%\d+]] = kina.select
// CHECK-NEXT:    [[s:%\d+]] = kina.add %2, [[g]]
// CHECK-NEXT:    func.return [[s]] : tensor<4xf32>
func.func @g(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<f32> {
  %m = kina.reduce max %x {axis = 0} : tensor<4xf32> -> tensor<f32>
  %f = kina.cast %i : tensor<2xi64> -> tensor<2xf32>
  %s = kina.reduce sum %f {axis = 0} : tensor<2xf32> -> tensor<f32>
  %r = kina.add %m, %s : tensor<f32>, tensor<f32> -> tensor<f32>
  func.return %r : tensor<f32>
}

// CHECK-LABEL: func.func @df(
// CHECK:         [[y:%\w+]] = kina.call @g(%x, %i)
// CHECK:         [[z:%\w+]] = kina.call @g(%e, %i)
// CHECK-COUNT-2: kina.mul %{{.*}} : tensor<f32>, tensor<f32> -> tensor<f32>
// CHECK:         [[a:%\d+]] = kina.call @g$vjp0(%e, %{{\d+}})
// CHECK-NEXT:    [[d:%\d+]] = kina.mul [[a]], %e
// CHECK-NEXT:    [[b:%\d+]] = kina.call @g$vjp1(%x, %{{\d+}}, [[d]])
// CHECK-NEXT:    func.return %{{.*}}, [[b]]
func.func @df(%x: tensor<4xf32>, %i: tensor<2xi64>) -> (tensor<f32>, tensor<4xf32>) {
  %0, %1 = kina.vjp @f(%x, %i) {wrt = [0]} : (tensor<4xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<4xf32>)
  func.return %0, %1 : tensor<f32>, tensor<4xf32>
}
