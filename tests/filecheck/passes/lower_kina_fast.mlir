// RUN: kina-opt %s --pass 'lower-kina{fast=true}' | filecheck %s

// CHECK-LABEL: func.func @max(
// CHECK:         arith.constant -2139095041 : i32
// CHECK:         [[IMAGES:%\S+]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK-NEXT:    ^{{.*}}([[X:%\S+]]: f32, [[BEST:%\S+]]: i32):
// A NaN of either sign becomes the largest image.
// CHECK-NEXT:      [[NAN:%\S+]] = arith.cmpf uno, [[X]], [[X]] : f32
// CHECK-NEXT:      [[TOP:%\S+]] = arith.constant 2147483647 : i32
// CHECK-NEXT:      [[BITS:%\S+]] = arith.bitcast [[X]] : f32 to i32
// CHECK-NEXT:      [[C31:%\S+]] = arith.constant 31 : i32
// CHECK-NEXT:      [[SIGN:%\S+]] = arith.shrsi [[BITS]], [[C31]] : i32
// CHECK-NEXT:      [[MASK:%\S+]] = arith.constant 2147483647 : i32
// CHECK-NEXT:      [[FLIP:%\S+]] = arith.andi [[SIGN]], [[MASK]] : i32
// CHECK-NEXT:      [[IMAGE:%\S+]] = arith.xori [[BITS]], [[FLIP]] : i32
// CHECK-NEXT:      [[KEY:%\S+]] = arith.select [[NAN]], [[TOP]], [[IMAGE]] : i32
// CHECK-NEXT:      arith.maxsi [[KEY]], [[BEST]] : i32
// CHECK:         linalg.generic {{.*}} ins([[IMAGES]] : tensor<2xi32>)
// CHECK:         arith.bitcast {{%\S+}} : i32 to f32
func.func @max(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = kina.reduce max %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// The sum of log_softmax carries NaN, so its max does not look for it; exp is told its sign.
// CHECK-LABEL: func.func @log_softmax(
// CHECK-NOT:     arith.cmpf
// CHECK:         arith.maximumf
// CHECK:         math.exp {{%\S+}} {nonpositive, summed} : f32
func.func @log_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kina.log_softmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// argmax of the last axis: the best value so far and its index, which schedule-cpu takes in lanes.
// CHECK-LABEL: func.func @argmax_last(
// CHECK:         {{%\S+}}, [[INDEX:%\S+]] = "linalg.generic"(%x, {{%\S+}}, {{%\S+}}) {{.*}} iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 2>}> ({
// CHECK-NEXT:    ^{{.*}}([[SMALL:%\S+]]: bf16, [[BEST:%\S+]]: f32, [[AT:%\S+]]: i32):
// CHECK-NEXT:      [[X:%\S+]] = arith.extf [[SMALL]] : bf16 to f32
// CHECK-NEXT:      [[GT:%\S+]] = arith.cmpf ogt, [[X]], [[BEST]] : f32
// CHECK-NEXT:      [[LOOP:%\S+]] = linalg.index 1 : index
// CHECK-NEXT:      [[I:%\S+]] = arith.index_cast [[LOOP]] : index to i32
// CHECK-NEXT:      [[NEW:%\S+]] = arith.select [[GT]], [[X]], [[BEST]] : f32
// CHECK-NEXT:      [[NEWI:%\S+]] = arith.select [[GT]], [[I]], [[AT]] : i32
// CHECK-NEXT:      linalg.yield [[NEW]], [[NEWI]] : f32, i32
// CHECK:         linalg.generic {{.*}} ins([[INDEX]] : tensor<2xi32>)
// CHECK:           arith.extsi {{%\S+}} : i32 to i64
func.func @argmax_last(%x: tensor<2x3xbf16>) -> tensor<2xi64> {
  %0 = kina.reduce argmax %x {axis = 1} : tensor<2x3xbf16> -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

// Of another axis: the maximum, the lowest index equal to it, 0 where nothing exceeds the start.
// CHECK-LABEL: func.func @argmax(
// CHECK:         arith.select {{.*}} : i32
// CHECK-NEXT:    arith.maxsi
// CHECK:         [[MAX:%\S+]] = linalg.generic {{.*}} iterator_types = ["parallel"]} ins({{%\S+}} : tensor<2xi32>) outs({{%\S+}} : tensor<2xf32>)
// CHECK:         [[INDEX:%\S+]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%x, [[MAX]] : tensor<3x2xf32>, tensor<2xf32>) outs({{%\S+}} : tensor<2xi32>)
// CHECK-NEXT:    ^{{.*}}([[X:%\S+]]: f32, [[M:%\S+]]: f32, [[SO_FAR:%\S+]]: i32):
// CHECK-NEXT:      [[EQUAL:%\S+]] = arith.cmpf oeq, [[X]], [[M]] : f32
// CHECK-NEXT:      [[LOOP:%\S+]] = linalg.index 0 : index
// CHECK-NEXT:      [[I:%\S+]] = arith.index_cast [[LOOP]] : index to i32
// CHECK-NEXT:      [[NONE:%\S+]] = arith.constant 2147483647 : i32
// CHECK-NEXT:      [[FOUND:%\S+]] = arith.select [[EQUAL]], [[I]], [[NONE]] : i32
// CHECK-NEXT:      arith.minsi [[FOUND]], [[SO_FAR]] : i32
// CHECK:         ins([[MAX]], [[INDEX]] : tensor<2xf32>, tensor<2xi32>) outs({{%\S+}} : tensor<2xi64>)
// CHECK:           [[START:%\S+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:      [[UNMOVED:%\S+]] = arith.cmpf oeq, {{%\S+}}, [[START]] : f32
// CHECK-NEXT:      [[WIDE:%\S+]] = arith.extsi {{%\S+}} : i32 to i64
// CHECK-NEXT:      [[ZERO:%\S+]] = arith.constant 0 : i64
// CHECK-NEXT:      arith.select [[UNMOVED]], [[ZERO]], [[WIDE]] : i64
func.func @argmax(%x: tensor<3x2xf32>) -> tensor<2xi64> {
  %0 = kina.reduce argmax %x {axis = 0} : tensor<3x2xf32> -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

// An index of 32 bits does not reach every element of an axis of unknown size; integers are
// their own image.
// CHECK-LABEL: func.func @argmax_symbolic(
// CHECK-NOT:     arith.bitcast
// CHECK:         arith.cmpi eq, {{.*}} : i8
// CHECK:         arith.index_cast {{%\S+}} : index to i64
// CHECK:         arith.constant 9223372036854775807 : i64
func.func @argmax_symbolic(%x: tensor<?x2xi4, #kina.layout<["N", 2], host>>) -> tensor<2xi64> {
  %0 = kina.reduce argmax %x {axis = 0} : tensor<?x2xi4, #kina.layout<["N", 2], host>> -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}
