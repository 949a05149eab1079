// RUN: kina-opt %s --pass assert-to-status --print-debuginfo | filecheck %s

// No check: the status is 0.
// CHECK-LABEL: func.func @none(
// CHECK-SAME:    -> i32 attributes {status_messages = []}
// CHECK-NEXT:    [[OK:%\S+]] = arith.constant 0 : i32
// CHECK-NEXT:    func.return [[OK]] : i32
func.func @none(%x: memref<4xf32>) {
  func.return
}

// Two checks share a branch; the status is the first that failed. What a check needs comes before
// it (%late); what none needs, and every write to an output, stands inside (%early).
// CHECK-LABEL: func.func @two(
// CHECK-SAME:    status_messages = ["first", "second"]
// CHECK-NEXT:    %late = arith.cmpi eq, %a, %b : i32
// CHECK-NEXT:    [[TWO:%\S+]] = arith.constant 2 : i32 loc("a.kina":9:5)
// CHECK-NEXT:    [[ONE:%\S+]] = arith.constant 1 : i32 loc("a.kina":8:5)
// CHECK-NEXT:    [[CODE:%\S+]] = arith.select %p, [[TWO]], [[ONE]] : i32
// CHECK-NEXT:    [[ALL:%\S+]] = arith.andi %p, %late : i1
// CHECK-NEXT:    [[STATUS:%\S+]] = scf.if [[ALL]] -> (i32) {
// CHECK-NEXT:      %early = arith.negf %x : tensor<4xf32>
// CHECK-NEXT:      bufferization.materialize_in_destination %early
// CHECK-NEXT:      [[ZERO:%\S+]] = arith.constant 0 : i32
// CHECK-NEXT:      scf.yield [[ZERO]] : i32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield [[CODE]] : i32
// CHECK-NEXT:    } loc("a.kina":8:5)
// CHECK-NEXT:    func.return [[STATUS]] : i32
func.func @two(%x: tensor<4xf32>, %p: i1, %a: i32, %b: i32, %out: memref<4xf32>) {
  %early = arith.negf %x : tensor<4xf32>
  cf.assert %p, "first" loc("a.kina":8:5)
  %late = arith.cmpi eq, %a, %b : i32
  cf.assert %late, "second" loc("a.kina":9:5)
  bufferization.materialize_in_destination %early in restrict writable %out : (tensor<4xf32>, memref<4xf32>) -> ()
  func.return
}

// A check of what was read at a checked place comes after that place is known to be good.
// CHECK-LABEL: func.func @dependent(
// CHECK-NEXT:    [[ONE:%\S+]] = arith.constant 1 : i32
// CHECK-NEXT:    [[OUTER:%\S+]] = scf.if %p -> (i32) {
// CHECK-NEXT:      %read = linalg.generic
// CHECK:             tensor.extract %x
// CHECK:           %good = arith.cmpf
// CHECK-NEXT:      [[TWO:%\S+]] = arith.constant 2 : i32
// CHECK-NEXT:      [[INNER:%\S+]] = scf.if %good -> (i32) {
// CHECK-NEXT:        bufferization.materialize_in_destination %read
// CHECK:           } else {
// CHECK-NEXT:        scf.yield [[TWO]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield [[INNER]] : i32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield [[ONE]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[OUTER]] : i32
func.func @dependent(%x: tensor<4xf32>, %at: tensor<index>, %start: tensor<f32>, %p: i1, %out: memref<f32>) {
  cf.assert %p, "first"
  %read = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%at : tensor<index>) outs(%start : tensor<f32>) {
  ^bb0(%place: index, %old: f32):
    %element = tensor.extract %x[%place] : tensor<4xf32>
    linalg.yield %element : f32
  } -> tensor<f32>
  %value = tensor.extract %read[] : tensor<f32>
  %good = arith.cmpf oeq, %value, %value : f32
  cf.assert %good, "second"
  bufferization.materialize_in_destination %read in restrict writable %out : (tensor<f32>, memref<f32>) -> ()
  func.return
}

// A check on computed indices takes its whole computation along, the values that a region captures
// included.
// CHECK-LABEL: func.func @computed(
// CHECK-NEXT:    %limit = arith.constant 8 : i64
// CHECK-NEXT:    %start = arith.constant dense<1> : tensor<i8>
// CHECK-NEXT:    %ok = linalg.generic
// CHECK:         %flag = tensor.extract %ok[] : tensor<i8>
// CHECK:         scf.if
// CHECK-NEXT:      %rest = arith.negf
func.func @computed(%x: tensor<4xf32>, %i: tensor<4xi64>, %out: memref<4xf32>) {
  %rest = arith.negf %x : tensor<4xf32>
  %limit = arith.constant 8 : i64
  %start = arith.constant dense<1> : tensor<i8>
  %ok = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%i : tensor<4xi64>) outs(%start : tensor<i8>) {
  ^bb0(%index: i64, %so_far: i8):
    %below = arith.cmpi ult, %index, %limit : i64
    %wide = arith.extui %below : i1 to i8
    %both = arith.andi %wide, %so_far : i8
    linalg.yield %both : i8
  } -> tensor<i8>
  %flag = tensor.extract %ok[] : tensor<i8>
  %good = arith.trunci %flag : i8 to i1
  cf.assert %good, "index"
  bufferization.materialize_in_destination %rest in restrict writable %out : (tensor<4xf32>, memref<4xf32>) -> ()
  func.return
}
