// RUN: kina-opt %s --pass lower-kina,export-c,check-sizes | filecheck %s --check-prefix CHECKED
// RUN: kina-opt %s --pass lower-kina,export-c,check-sizes,assert-to-status | filecheck %s

// A temporary that no argument bounds: [A, A] from [A].
func.func @square(%x: tensor<?xf32, #kina.layout<["A"], host>>) -> tensor<?xf32, #kina.layout<["A"], host>> {
  %0 = kina.reshape %x : tensor<?xf32, #kina.layout<["A"], host>> -> tensor<1x?xf32, #kina.layout<[1, "A"], host>>
  %1 = kina.broadcast %0 : tensor<1x?xf32, #kina.layout<[1, "A"], host>> -> tensor<?x?xf32, #kina.layout<["A", "A"], host>>
  %2 = kina.reduce sum %1 {axis = 0} : tensor<?x?xf32, #kina.layout<["A", "A"], host>> -> tensor<?xf32, #kina.layout<["A"], host>>
  func.return %2 : tensor<?xf32, #kina.layout<["A"], host>>
}
// CHECKED-LABEL: func.func @kina_square
// CHECKED:         [[PRODUCT:%.*]] = arith.mulf {{.*}} : f64
// CHECKED:         [[PRODUCT2:%.*]] = arith.mulf [[PRODUCT]], {{.*}} : f64
// CHECKED:         [[FITS:%.*]] = arith.cmpf olt, [[PRODUCT2]], {{.*}} : f64
// CHECKED:         cf.assert [[FITS]], "out of memory" {status = -1 : i32}
// CHECKED-NOT:     cf.assert

// CHECK-LABEL: func.func @kina_square
// CHECK-SAME:  status_messages = []
// CHECK:         arith.constant -1 : i32

// Everything has the size of the argument: nothing to check.
func.func @same(%x: tensor<?x8xf32, #kina.layout<["A", 8], host>>) -> tensor<?x8xf32, #kina.layout<["A", 8], host>> {
  %0 = kina.softmax %x {axis = 1} : tensor<?x8xf32, #kina.layout<["A", 8], host>> -> tensor<?x8xf32, #kina.layout<["A", 8], host>>
  func.return %0 : tensor<?x8xf32, #kina.layout<["A", 8], host>>
}
// CHECKED-LABEL: func.func @kina_same
// CHECKED-NOT:     cf.assert
