// RUN: kina-opt %s --pass simplify-kina | filecheck %s

// A selection moves before what computes its values: unary, binary, cast.
// CHECK-LABEL: func.func @elementwise(
// CHECK-NEXT:    kina.check_indices %i {axis = 1, size = 8 : i64} : tensor<4xi64>
// CHECK-NEXT:    [[Y:%\S+]] = kina.select_along_axis %y, %i {axis = 1} : tensor<4x8xf32>
// CHECK-NEXT:    [[X:%\S+]] = kina.select_along_axis %x, %i {axis = 1} : tensor<4x8xf16>
// CHECK-NEXT:    [[CAST:%\S+]] = kina.cast [[X]] : tensor<4xf16> -> tensor<4xf32>
// CHECK-NEXT:    [[EXP:%\S+]] = kina.exp [[CAST]]
// CHECK-NEXT:    [[SUB:%\S+]] = kina.sub [[EXP]], [[Y]]
// CHECK-NEXT:    func.return [[SUB]]
func.func @elementwise(%x: tensor<4x8xf16>, %y: tensor<4x8xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %c = kina.cast %x : tensor<4x8xf16> -> tensor<4x8xf32>
  %e = kina.exp %c : tensor<4x8xf32> -> tensor<4x8xf32>
  %s = kina.sub %e, %y : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %t = kina.take_along_axis %s, %i {axis = 1} : tensor<4x8xf32>, tensor<4xi64> -> tensor<4xf32>
  func.return %t : tensor<4xf32>
}

// The middle of log_softmax: one value per fiber needs no selection. The order of the
// subtractions stays: (x - m) - log(s), never x - (m + log(s)).
// CHECK-LABEL: func.func @per_fiber(
// CHECK-NEXT:    kina.log %s : tensor<4x1xf32>
// CHECK-NEXT:    kina.check_indices %i
// CHECK-DAG:     [[L:%\S+]] = kina.reshape {{%\S+}} : tensor<4x1xf32> -> tensor<4xf32>
// CHECK-DAG:     [[M:%\S+]] = kina.reshape %m : tensor<4x1xf32> -> tensor<4xf32>
// CHECK-DAG:     [[X:%\S+]] = kina.select_along_axis %x
// CHECK:         [[FIRST:%\S+]] = kina.sub [[X]], [[M]]
// CHECK-NEXT:    [[SECOND:%\S+]] = kina.sub [[FIRST]], [[L]]
// CHECK-NEXT:    func.return [[SECOND]]
func.func @per_fiber(%x: tensor<4x8xf32>, %m: tensor<4x1xf32>, %s: tensor<4x1xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %mb = kina.broadcast %m : tensor<4x1xf32> -> tensor<4x8xf32>
  %shifted = kina.sub %x, %mb : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %sb = kina.broadcast %s : tensor<4x1xf32> -> tensor<4x8xf32>
  %l = kina.log %sb : tensor<4x8xf32> -> tensor<4x8xf32>
  %r = kina.sub %shifted, %l : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %t = kina.take_along_axis %r, %i {axis = 1} : tensor<4x8xf32>, tensor<4xi64> -> tensor<4xf32>
  func.return %t : tensor<4xf32>
}

// A broadcast that has the axis is read through; one that ends after the axis has nothing to
// select from; an interior axis of size 1 is dropped.
// CHECK-LABEL: func.func @broadcasts(
// CHECK:         kina.select_along_axis %row, %i {axis = 1} : tensor<8x1xf32>, tensor<4x3xi64> -> tensor<4x3xf32>
// CHECK:         kina.broadcast %last : tensor<3xf32> -> tensor<4x3xf32>
// CHECK:         [[FLAT:%\S+]] = kina.reshape %inner : tensor<4x1x1xf32> -> tensor<4x1xf32>
// CHECK-NEXT:    kina.broadcast [[FLAT]] : tensor<4x1xf32> -> tensor<4x3xf32>
func.func @broadcasts(%row: tensor<8x1xf32>, %last: tensor<3xf32>, %inner: tensor<4x1x1xf32>, %i: tensor<4x3xi64>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %a = kina.broadcast %row : tensor<8x1xf32> -> tensor<4x8x3xf32>
  %b = kina.broadcast %last : tensor<3xf32> -> tensor<4x8x3xf32>
  %c = kina.broadcast %inner : tensor<4x1x1xf32> -> tensor<4x8x3xf32>
  %x = kina.take_along_axis %a, %i {axis = 1} : tensor<4x8x3xf32>, tensor<4x3xi64> -> tensor<4x3xf32>
  %y = kina.take_along_axis %b, %i {axis = 1} : tensor<4x8x3xf32>, tensor<4x3xi64> -> tensor<4x3xf32>
  %z = kina.take_along_axis %c, %i {axis = 1} : tensor<4x8x3xf32>, tensor<4x3xi64> -> tensor<4x3xf32>
  func.return %x, %y, %z : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// Checks stay in program order, of unused results too. An equal check once more is dropped, also
// under another axis; another size is another check; so is a gather.
// CHECK-LABEL: func.func @checks(
// CHECK-NEXT:    kina.gather %table, %i
// CHECK-NEXT:    kina.check_indices %j {axis = 1, size = 8 : i64}
// CHECK-NEXT:    kina.check_indices %i {axis = 1, size = 8 : i64}
// CHECK-NEXT:    kina.check_indices %i {axis = 0, size = 4 : i64}
// CHECK-NEXT:    func.return %x
func.func @checks(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %table: tensor<9x2xf32>, %i: tensor<4xi64>, %j: tensor<4xi64>) -> tensor<4x8xf32> {
  %g = kina.gather %table, %i : tensor<9x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
  %h = kina.gather %table, %i : tensor<9x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
  %a = kina.take_along_axis %x, %j {axis = 1} : tensor<4x8xf32>, tensor<4xi64> -> tensor<4xf32>
  %b = kina.take_along_axis %x, %i {axis = 1} : tensor<4x8xf32>, tensor<4xi64> -> tensor<4xf32>
  %c = kina.take_along_axis %w, %i {axis = 0} : tensor<8x4xf32>, tensor<4xi64> -> tensor<4xf32>
  %y = kina.broadcast %b : tensor<4xf32> -> tensor<4x4xf32>
  %d = kina.take_along_axis %y, %i {axis = 0} : tensor<4x4xf32>, tensor<4xi64> -> tensor<4xf32>
  func.return %x : tensor<4x8xf32>
}

// The size of a symbolic axis is its symbol.
// CHECK-LABEL: func.func @symbolic(
// CHECK-NEXT:    kina.check_indices %i {axis = 1, size = "V"} : tensor<?xi64, #kina.layout<["B"], host>>
// CHECK-NEXT:    kina.select_along_axis %x, %i {axis = 1}
// CHECK-NEXT:    kina.neg
func.func @symbolic(%x: tensor<?x?xf32, #kina.layout<["B", "V"], host>>, %i: tensor<?xi64, #kina.layout<["B"], host>>) -> tensor<?xf32, #kina.layout<["B"], host>> {
  %n = kina.neg %x : tensor<?x?xf32, #kina.layout<["B", "V"], host>> -> tensor<?x?xf32, #kina.layout<["B", "V"], host>>
  %t = kina.take_along_axis %n, %i {axis = 1} : tensor<?x?xf32, #kina.layout<["B", "V"], host>>, tensor<?xi64, #kina.layout<["B"], host>> -> tensor<?xf32, #kina.layout<["B"], host>>
  func.return %t : tensor<?xf32, #kina.layout<["B"], host>>
}

// Elementwise operations happen before a broadcast.
// CHECK-LABEL: func.func @spread_late(
// CHECK-NEXT:    [[LOG:%\S+]] = kina.log %x : tensor<4x1xf32>
// CHECK-NEXT:    [[NEG:%\S+]] = kina.neg [[LOG]] : tensor<4x1xf32>
// CHECK-NEXT:    [[CAST:%\S+]] = kina.cast [[NEG]] : tensor<4x1xf32> -> tensor<4x1xi32>
// CHECK-NEXT:    [[Y:%\S+]] = kina.broadcast %y : tensor<i32> -> tensor<4x1xi32>
// CHECK-NEXT:    [[SUM:%\S+]] = kina.add [[Y]], [[CAST]] : tensor<4x1xi32>
// CHECK-NEXT:    [[WIDE:%\S+]] = kina.broadcast [[SUM]] : tensor<4x1xi32> -> tensor<2x4x8xi32>
// CHECK-NEXT:    func.return [[WIDE]]
func.func @spread_late(%x: tensor<4x1xf32>, %y: tensor<i32>) -> tensor<2x4x8xi32> {
  %b = kina.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf32>
  %c = kina.broadcast %b : tensor<4x8xf32> -> tensor<2x4x8xf32>
  %l = kina.log %c : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  %n = kina.neg %l : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  %i = kina.cast %n : tensor<2x4x8xf32> -> tensor<2x4x8xi32>
  %d = kina.broadcast %y : tensor<i32> -> tensor<2x4x8xi32>
  %s = kina.add %d, %i : tensor<2x4x8xi32>, tensor<2x4x8xi32> -> tensor<2x4x8xi32>
  func.return %s : tensor<2x4x8xi32>
}

// Two broadcasts of which neither fits into the other stay.
// CHECK-LABEL: func.func @outer(
// CHECK:         kina.mul {{%\S+}}, {{%\S+}} : tensor<4x8xf32>
func.func @outer(%x: tensor<4x1xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %a = kina.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf32>
  %b = kina.broadcast %y : tensor<8xf32> -> tensor<4x8xf32>
  %m = kina.mul %a, %b : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %m : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @identities(
// CHECK-NEXT:    func.return %x, %x, %x, %x, %h, %k, %p :
func.func @identities(%x: tensor<4xf32>, %h: tensor<4xf16>, %k: tensor<4xi4>, %p: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xi4>, tensor<4xi1>) {
  %a = kina.broadcast %x : tensor<4xf32> -> tensor<4xf32>
  %b0 = kina.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
  %b = kina.reshape %b0 : tensor<2x2xf32> -> tensor<4xf32>
  %c = kina.cast %x : tensor<4xf32> -> tensor<4xf32>
  %d0 = kina.neg %x : tensor<4xf32> -> tensor<4xf32>
  %d = kina.neg %d0 : tensor<4xf32> -> tensor<4xf32>
  %e0 = kina.cast %h : tensor<4xf16> -> tensor<4xf32>
  %e = kina.cast %e0 : tensor<4xf32> -> tensor<4xf16>
  %f0 = kina.cast %k : tensor<4xi4> -> tensor<4xi64>
  %f = kina.cast %f0 : tensor<4xi64> -> tensor<4xi4>
  %g0 = kina.cast %p : tensor<4xi1> -> tensor<4xf8E4M3FN>
  %g = kina.cast %g0 : tensor<4xf8E4M3FN> -> tensor<4xi1>
  func.return %a, %b, %c, %d, %e, %f, %g : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xi4>, tensor<4xi1>
}

// What would change bits stays: a cast that loses some and comes back, x + 0, x * 1, x - x.
// CHECK-LABEL: func.func @not_identities(
// CHECK-COUNT-7: kina.{{cast|add|mul|sub}}
func.func @not_identities(%x: tensor<f32>, %h: tensor<f16>, %k: tensor<i32>) -> (tensor<f32>, tensor<f16>, tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = kina.constant dense<0.0> : tensor<f32> -> tensor<f32>
  %one = kina.constant dense<1.0> : tensor<f32> -> tensor<f32>
  %a0 = kina.cast %x : tensor<f32> -> tensor<f16>
  %a = kina.cast %a0 : tensor<f16> -> tensor<f32>
  %b0 = kina.cast %h : tensor<f16> -> tensor<bf16>
  %b = kina.cast %b0 : tensor<bf16> -> tensor<f16>
  %c0 = kina.cast %k : tensor<i32> -> tensor<f32>
  %c = kina.cast %c0 : tensor<f32> -> tensor<i32>
  %d = kina.add %x, %zero : tensor<f32>, tensor<f32> -> tensor<f32>
  %e = kina.mul %x, %one : tensor<f32>, tensor<f32> -> tensor<f32>
  %f = kina.sub %x, %x : tensor<f32>, tensor<f32> -> tensor<f32>
  func.return %a, %b, %c, %d, %e, %f : tensor<f32>, tensor<f16>, tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// Shaping that adds 1s merges with its neighbour; one value everywhere is a broadcast, and zeros
// of both signs are not one value.
// CHECK-LABEL: func.func @shaping(
// CHECK-DAG:     kina.broadcast %x : tensor<4xf32> -> tensor<3x4xf32>
// CHECK-DAG:     kina.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
// CHECK-DAG:     [[ONE:%\S+]] = kina.constant dense<1.500000e+00> : tensor<f32> -> tensor<f32>
// CHECK-DAG:     kina.broadcast [[ONE]] : tensor<f32> -> tensor<2xf32>
// CHECK-DAG:     kina.constant {{.*}} -> tensor<1x2xf32>
func.func @shaping(%x: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<1x2xf32>) {
  %a0 = kina.reshape %x : tensor<4xf32> -> tensor<1x4xf32>
  %a = kina.broadcast %a0 : tensor<1x4xf32> -> tensor<3x4xf32>
  %b0 = kina.broadcast %x : tensor<4xf32> -> tensor<1x4xf32>
  %b = kina.reshape %b0 : tensor<1x4xf32> -> tensor<2x2xf32>
  %c = kina.constant dense<1.5> : tensor<2xf32> -> tensor<2xf32>
  %d = kina.constant dense<[[0.0, -0.0]]> : tensor<1x2xf32> -> tensor<1x2xf32>
  func.return %a, %b, %c, %d : tensor<3x4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<1x2xf32>
}

// What passes noted about the uses of an operation must hold for all that it stands for.
// CHECK-LABEL: func.func @noted(
// CHECK-NEXT:    [[E:%\S+]] = kina.exp %x {nonpositive} :
// CHECK-NEXT:    func.return [[E]], [[E]]
func.func @noted(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = kina.exp %x {nonpositive, summed} : tensor<4xf32> -> tensor<4xf32>
  %b = kina.exp %x {nonpositive} : tensor<4xf32> -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Equal operations happen once; a reshape is not a broadcast of the same types.
// CHECK-LABEL: func.func @duplicates(
// CHECK-NEXT:    [[E:%\S+]] = kina.exp %x
// CHECK-NEXT:    [[R:%\S+]] = kina.reduce sum [[E]]
// CHECK-NEXT:    [[M:%\S+]] = kina.reduce max [[E]]
// CHECK-NEXT:    func.return [[R]], [[M]], [[R]]
func.func @duplicates(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = kina.exp %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = kina.exp %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %dead = kina.log %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %r = kina.reduce sum %a {axis = 1} : tensor<4x8xf32> -> tensor<4xf32>
  %m = kina.reduce max %b {axis = 1} : tensor<4x8xf32> -> tensor<4xf32>
  %s = kina.reduce sum %b {axis = 1} : tensor<4x8xf32> -> tensor<4xf32>
  func.return %r, %m, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
