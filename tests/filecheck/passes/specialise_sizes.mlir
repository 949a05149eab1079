// RUN: kina-opt %s --pass specialise-sizes | filecheck %s

// A private function has the sizes that all who use it agree on; N differs, so it stays a symbol.
// CHECK-LABEL: func.func private @scale(
// CHECK-SAME:      %x: tensor<?x4xf32, #kina.layout<["N", 4], host>>, %w: tensor<4xf32>) -> tensor<?x4xf32, #kina.layout<["N", 4], host>> attributes {kina.requires = {{\[\[}}"N", 1 : i64, "it is empty"]]} {
// CHECK-NEXT:    %b = kina.broadcast %w : tensor<4xf32> -> tensor<?x4xf32, #kina.layout<["N", 4], host>>
// CHECK-NEXT:    kina.mul %x, %b
func.func private @scale(%x: tensor<?x?xf32, #kina.layout<["N", "D"], host>> loc("a.kina":1:1), %w: tensor<?xf32, #kina.layout<["D"], host>>) -> tensor<?x?xf32, #kina.layout<["N", "D"], host>> attributes {kina.requires = [["N", 1 : i64, "it is empty"], ["D", 1 : i64, "it is empty"]]} {
  %b = kina.broadcast %w : tensor<?xf32, #kina.layout<["D"], host>> -> tensor<?x?xf32, #kina.layout<["N", "D"], host>> loc("a.kina":2:3)
  %y = kina.mul %x, %b : tensor<?x?xf32, #kina.layout<["N", "D"], host>>, tensor<?x?xf32, #kina.layout<["N", "D"], host>> -> tensor<?x?xf32, #kina.layout<["N", "D"], host>>
  func.return %y : tensor<?x?xf32, #kina.layout<["N", "D"], host>>
}

// What it calls is done after it: D of @scale is 4 through @twice.
// CHECK-LABEL: func.func private @twice(
// CHECK-SAME:      %x: tensor<3x4xf32>
// CHECK-NEXT:    kina.call @scale({{.*}}) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
func.func private @twice(%x: tensor<?x?xf32, #kina.layout<["M", "E"], host>>, %w: tensor<?xf32, #kina.layout<["E"], host>>) -> tensor<?x?xf32, #kina.layout<["M", "E"], host>> {
  %y = kina.call @scale(%x, %w) : (tensor<?x?xf32, #kina.layout<["M", "E"], host>>, tensor<?xf32, #kina.layout<["E"], host>>) -> tensor<?x?xf32, #kina.layout<["M", "E"], host>>
  func.return %y : tensor<?x?xf32, #kina.layout<["M", "E"], host>>
}

// An exported function keeps its symbols, whoever calls it; and one that nobody calls.
// CHECK-LABEL: func.func @exported(
// CHECK-SAME:      %x: tensor<?xf32, #kina.layout<["N"], host>>
func.func @exported(%x: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
// CHECK-LABEL: func.func private @unused(
// CHECK-SAME:      %x: tensor<?xf32, #kina.layout<["N"], host>>
func.func private @unused(%x: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}

// The sizes of a fold's layers, of a gradient, and what a `size` parameter passes count as well; the last
// stays as it is.
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME:      %x: tensor<8xf32>
func.func private @layer(%x: tensor<?xf32, #kina.layout<["D"], host>>, %w: tensor<?xf32, #kina.layout<["D"], host>>) -> tensor<?xf32, #kina.layout<["D"], host>> {
  %y = kina.mul %x, %w : tensor<?xf32, #kina.layout<["D"], host>>, tensor<?xf32, #kina.layout<["D"], host>> -> tensor<?xf32, #kina.layout<["D"], host>>
  func.return %y : tensor<?xf32, #kina.layout<["D"], host>>
}
// CHECK-LABEL: func.func private @square(
// CHECK-SAME:      %x: tensor<8xf32>
func.func private @square(%x: tensor<?xf32, #kina.layout<["D"], host>>) -> tensor<?xf32, #kina.layout<["D"], host>> {
  %y = kina.mul %x, %x : tensor<?xf32, #kina.layout<["D"], host>>, tensor<?xf32, #kina.layout<["D"], host>> -> tensor<?xf32, #kina.layout<["D"], host>>
  func.return %y : tensor<?xf32, #kina.layout<["D"], host>>
}
// CHECK-LABEL: func.func private @sized(
// CHECK-SAME:      %x: tensor<8xf32>
// CHECK-SAME:    -> tensor<?x8xf32, #kina.layout<["n", 8], host>> attributes {kina.sizes = ["n"]}
func.func private @sized(%x: tensor<?xf32, #kina.layout<["D"], host>>) -> tensor<?x?xf32, #kina.layout<["n", "D"], host>> attributes {kina.sizes = ["n"]} {
  %y = kina.broadcast %x : tensor<?xf32, #kina.layout<["D"], host>> -> tensor<?x?xf32, #kina.layout<["n", "D"], host>>
  func.return %y : tensor<?x?xf32, #kina.layout<["n", "D"], host>>
}

func.func @f(%x: tensor<3x4xf32>, %z: tensor<2x4xf32>, %w: tensor<4xf32>, %v: tensor<8xf32>, %l: tensor<?x8xf32, #kina.layout<["L", 8], host>>) -> (tensor<3x4xf32>, tensor<2x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<5x8xf32>, tensor<8xf32>) {
  %a = kina.call @twice(%x, %w) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %b = kina.call @scale(%z, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %c = kina.fold @layer(%v) over(%l) with() : (tensor<8xf32>) over(tensor<?x8xf32, #kina.layout<["L", 8], host>>) with() -> (tensor<8xf32>)
  %d, %e = kina.vjp @square(%v, %c) {wrt = [0]} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %s = kina.call @sized(%v) sizes [5 : i64] : (tensor<8xf32>) -> tensor<5x8xf32>
  %g = kina.call @exported(%v) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a, %b, %c, %d, %e, %s, %g : tensor<3x4xf32>, tensor<2x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<5x8xf32>, tensor<8xf32>
}
