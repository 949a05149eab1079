// RUN: kina-opt %s --pass simplify-kina | filecheck %s

// A slice becomes its check and a window; a check that always holds is left out.
// CHECK-LABEL: func.func @split(
// CHECK-NEXT:    kina.check_window %i {what = "slice", axis = 1, size = 2 : i64, within = 5 : i64}
// CHECK-NEXT:    [[A:%\S+]] = kina.window %x, %i {axis = 1}
// CHECK-NEXT:    [[Z:%\S+]] = kina.constant dense<3>
// CHECK-NEXT:    [[B:%\S+]] = kina.window %x, [[Z]] {axis = 1}
// CHECK-NEXT:    kina.check_window %i {what = "update", axis = 1, size = 1 : i64, within = 5 : i64}
// CHECK-NEXT:    [[C:%\S+]] = kina.overwrite %x, %n, %i {axis = 1}
// CHECK-NEXT:    func.return [[A]], [[B]], [[C]]
func.func @split(%x: tensor<2x5xf32>, %n: tensor<2x1xf32>, %i: tensor<i64>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x5xf32>) {
  %0 = kina.slice %x, %i {axis = 1} : tensor<2x5xf32>, tensor<i64> -> tensor<2x2xf32>
  %z = kina.constant dense<3> : tensor<i64> -> tensor<i64>
  %1 = kina.slice %x, %z {axis = 1} : tensor<2x5xf32>, tensor<i64> -> tensor<2x2xf32>
  %2 = kina.update %x, %n, %i {axis = 1} : tensor<2x5xf32>, tensor<2x1xf32>, tensor<i64> -> tensor<2x5xf32>
  func.return %0, %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x5xf32>
}

// The check of a size that is a symbol stays, also where nothing reads the slice.
// CHECK-LABEL: func.func @kept(
// CHECK-NEXT:    kina.constant
// CHECK-NEXT:    kina.check_window {{.*}} {what = "slice", axis = 0, size = 2 : i64, within = "T"}
// CHECK-NEXT:    func.return
func.func @kept(%x: tensor<?xf32, #kina.layout<["T"], host>>) {
  %z = kina.constant dense<0> : tensor<i64> -> tensor<i64>
  %0 = kina.slice %x, %z {axis = 0} : tensor<?xf32, #kina.layout<["T"], host>>, tensor<i64> -> tensor<2xf32>
  func.return
}

// An operation moves before a concatenation that is only stored …
// CHECK-LABEL: func.func @stored(
// CHECK:         [[A:%\S+]] = kina.mul %x,
// CHECK:         [[B:%\S+]] = kina.mul %y,
// CHECK-NEXT:    [[C:%\S+]] = kina.concat [[A]], [[B]] {axis = 0}
// CHECK-NEXT:    func.return [[C]]
func.func @stored(%x: tensor<2xf32>, %y: tensor<3xf32>, %z: tensor<5xf32>) -> tensor<5xf32> {
  %0 = kina.concat %x, %y {axis = 0} : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
  %1 = kina.mul %0, %z : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
  func.return %1 : tensor<5xf32>
}

// … and not before one that is reduced.
// CHECK-LABEL: func.func @reduced(
// CHECK-NEXT:    [[C:%\S+]] = kina.concat %x, %y
// CHECK-NEXT:    [[E:%\S+]] = kina.exp [[C]]
// CHECK-NEXT:    kina.reduce sum [[E]]
func.func @reduced(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<f32> {
  %0 = kina.concat %x, %y {axis = 0} : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
  %1 = kina.exp %0 : tensor<5xf32> -> tensor<5xf32>
  %2 = kina.reduce sum %1 {axis = 0} : tensor<5xf32> -> tensor<f32>
  func.return %2 : tensor<f32>
}

// Zeros around something are put beside it.
// CHECK-LABEL: func.func @padded(
// CHECK:         [[A:%\S+]] = kina.broadcast {{.*}} -> tensor<2xf32>
// CHECK-NEXT:    [[B:%\S+]] = kina.broadcast {{.*}} -> tensor<1xf32>
// CHECK-NEXT:    kina.concat [[A]], %x, [[B]] {axis = 0}
func.func @padded(%x: tensor<2xf32>) -> tensor<5xf32> {
  %c = kina.constant dense<0.0> : tensor<f32> -> tensor<f32>
  %z = kina.broadcast %c : tensor<f32> -> tensor<5xf32>
  %i = kina.constant dense<2> : tensor<i64> -> tensor<i64>
  %0 = kina.overwrite %z, %x, %i {axis = 0} : tensor<5xf32>, tensor<2xf32>, tensor<i64> -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}

// A window that starts at a size is checked, unless the normal forms say that it fits.
// CHECK-LABEL: func.func @fits(
// CHECK-NOT:     kina.check_window
// CHECK:         kina.window
// CHECK:         kina.check_window {{%\S+}} {what = "slice", axis = 0, size = "T", within = "K + T"}
func.func @fits(%x: tensor<?xf32, #kina.layout<["K + T"], host>>, %k: tensor<?xf32, #kina.layout<["K"], host>>, %t: tensor<?xf32, #kina.layout<["T"], host>>) -> (tensor<?xf32, #kina.layout<["T"], host>>, tensor<?xf32, #kina.layout<["T"], host>>) {
  %0 = kina.size {of = "K"} : tensor<i64>
  %1 = kina.slice %x, %0 {axis = 0} : tensor<?xf32, #kina.layout<["K + T"], host>>, tensor<i64> -> tensor<?xf32, #kina.layout<["T"], host>>
  %2 = kina.size {of = "T"} : tensor<i64>
  %3 = kina.slice %x, %2 {axis = 0} : tensor<?xf32, #kina.layout<["K + T"], host>>, tensor<i64> -> tensor<?xf32, #kina.layout<["T"], host>>
  func.return %1, %3 : tensor<?xf32, #kina.layout<["T"], host>>, tensor<?xf32, #kina.layout<["T"], host>>
}
