// RUN: kina-opt %s -p inline-calls,transform-ad,simplify-kina | filecheck %s
// Rows of a product that were not chosen: zeros in the left factor where the gradient of the right one
// reads it, and in the gradient of the left one. A fold that goes back carries what counts along.

!x = tensor<3x4xf32>
!w = tensor<4x4xf32>
!m = tensor<3x1xi1>

func.func @rows(%x: !x, %w: !w, %m: !m) -> !x {
  %k = kina.broadcast %m : !m -> tensor<3x4xi1>
  %y = kina.matmul %x, %w : !x, !w -> !x
  %z = kina.select %k, %y, %x : tensor<3x4xi1>, !x, !x -> !x
  func.return %z : !x
}
func.func @drows(%x: !x, %w: !w, %m: !m, %ct: !x) -> (!x, !x, !w) {
  %r:3 = kina.vjp @rows(%x, %w, %m, %ct) {wrt = [0, 1]} : (!x, !w, !m, !x) -> (!x, !x, !w)
  func.return %r#0, %r#1, %r#2 : !x, !x, !w
}

// CHECK-LABEL: func.func @drows(
// CHECK:       [[m:%\w+]] = kina.broadcast %m : tensor<3x1xi1> -> tensor<3x4xi1>
// CHECK:       [[ct:%\w+]] = kina.select [[m]], %ct,
// CHECK:       [[x:%\w+]] = kina.select [[m]], %x,
// CHECK:       [[dx:%\w+]] = kina.contract [[ct]] [0, 2], %w [1, 2]
// CHECK:       [[part:%\w+]] = kina.select [[m]], [[dx]],
// CHECK:       [[dw:%\w+]] = kina.contract [[x]] [2, 0], [[ct]] [2, 1]
// CHECK-NEXT:  func.return {{%\w+, %\w+}}, [[dw]] :

func.func @layer(%x: !x, %w: !w) -> !x {
  %y = kina.matmul %x, %w : !x, !w -> !x
  func.return %y : !x
}
func.func @folded(%x: !x, %w: tensor<2x4x4xf32>, %m: !m) -> !x {
  %k = kina.broadcast %m : !m -> tensor<3x4xi1>
  %y = kina.fold @layer(%x) over(%w) with() : (!x) over(tensor<2x4x4xf32>) with() -> (!x)
  %z = kina.select %k, %y, %x : tensor<3x4xi1>, !x, !x -> !x
  func.return %z : !x
}
func.func @dfolded(%x: !x, %w: tensor<2x4x4xf32>, %m: !m, %ct: !x) -> (!x, tensor<2x4x4xf32>) {
  %r:2 = kina.vjp @folded(%x, %w, %m, %ct) {wrt = [1]} : (!x, tensor<2x4x4xf32>, !m, !x) -> (!x, tensor<2x4x4xf32>)
  func.return %r#0, %r#1 : !x, tensor<2x4x4xf32>
}

// CHECK-LABEL: func.func private @layer$vjp
// CHECK:       func.return {{%\w+, %\w+, %\w+}} : tensor<3x4xf32>, tensor<3x4xi1>, tensor<4x4xf32>
// CHECK-LABEL: func.func @dfolded(
// CHECK:       kina.fold @layer$vjp{{\d+}}({{%\w+, %\w+}}) over({{%\w+, %\w+}}) with() reverse
