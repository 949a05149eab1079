// RUN: kina-opt %s --pass inline-calls --print-debuginfo | filecheck %s

// A callee keeps its own body: it is exported too.
// CHECK-LABEL: func.func @pick(
// CHECK:         kina.neg
// CHECK-NEXT:    kina.take_along_axis
func.func @pick(%x: tensor<?x?xf32, #kina.layout<["N", "C"], host>>, %i: tensor<?xi64, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  %n = kina.neg %x : tensor<?x?xf32, #kina.layout<["N", "C"], host>> -> tensor<?x?xf32, #kina.layout<["N", "C"], host>> loc("a.kina":3:7)
  %a = kina.take_along_axis %n, %i {axis = 1} : tensor<?x?xf32, #kina.layout<["N", "C"], host>>, tensor<?xi64, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>> loc("a.kina":4:9)
  func.return %a : tensor<?xf32, #kina.layout<["N"], host>>
}

// Symbols become integers; locations are those of the callee.
// CHECK-LABEL: func.func @static(
// CHECK-NEXT:    %n = kina.neg %x : tensor<2x8xf32> -> tensor<2x8xf32> loc("a.kina":3:7)
// CHECK-NEXT:    %a = kina.take_along_axis %n, %i {axis = 1} : tensor<2x8xf32>, tensor<2xi64> -> tensor<2xf32> loc("a.kina":4:9)
// CHECK-NEXT:    func.return %a : tensor<2xf32>
func.func @static(%x: tensor<2x8xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  %r = kina.call @pick(%x, %i) : (tensor<2x8xf32>, tensor<2xi64>) -> tensor<2xf32> loc("a.kina":8:2)
  func.return %r : tensor<2xf32>
}

// Symbols become the caller's symbols, here with the names crossed over.
// CHECK-LABEL: func.func @crossed(
// CHECK-NEXT:    kina.neg %x : tensor<?x?xf32, #kina.layout<["C", "N"], host>>
// CHECK-NEXT:    kina.take_along_axis {{.*}} -> tensor<?xf32, #kina.layout<["C"], host>>
func.func @crossed(%x: tensor<?x?xf32, #kina.layout<["C", "N"], host>>, %i: tensor<?xi64, #kina.layout<["C"], host>>) -> tensor<?xf32, #kina.layout<["C"], host>> {
  %r = kina.call @pick(%x, %i) : (tensor<?x?xf32, #kina.layout<["C", "N"], host>>, tensor<?xi64, #kina.layout<["C"], host>>) -> tensor<?xf32, #kina.layout<["C"], host>>
  func.return %r : tensor<?xf32, #kina.layout<["C"], host>>
}

// CHECK-LABEL: func.func @pair(
func.func @pair(%x: tensor<2x8xf32>, %i: tensor<2xi64>) -> (tensor<2xf32>, tensor<2x8xf32>) {
  %r = func.call @static(%x, %i) : (tensor<2x8xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %r, %x : tensor<2xf32>, tensor<2x8xf32>
}

// Nested calls, several results, a result that is a parameter; the check of a call that nobody
// reads stays, before what follows it.
// CHECK-LABEL: func.func @nested(
// CHECK-NEXT:    kina.neg
// CHECK-NEXT:    [[FIRST:%\S+]] = kina.take_along_axis
// CHECK-NEXT:    kina.neg
// CHECK-NEXT:    kina.take_along_axis
// CHECK-NEXT:    [[SUM:%\S+]] = kina.add [[FIRST]], [[FIRST]]
// CHECK-NEXT:    func.return [[SUM]], %x :
// CHECK-NOT:     call
func.func @nested(%x: tensor<2x8xf32>, %i: tensor<2xi64>) -> (tensor<2xf32>, tensor<2x8xf32>) {
  %r:2 = kina.call @pair(%x, %i) : (tensor<2x8xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2x8xf32>)
  %dead = kina.call @pick(%x, %i) : (tensor<2x8xf32>, tensor<2xi64>) -> tensor<2xf32>
  %s = kina.add %r#0, %r#0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %s, %r#1 : tensor<2xf32>, tensor<2x8xf32>
}
