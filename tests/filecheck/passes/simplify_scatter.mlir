// RUN: kina-opt %s --pass simplify-kina | filecheck %s

// The sum along the axis is the updates; + 0.0 makes -0.0 what a sum from 0 gives.
// CHECK-LABEL: func.func @sums(
// CHECK-NEXT:    [[z:%\d+]] = kina.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    [[b:%\d+]] = kina.broadcast [[z]] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT:    [[a:%\d+]] = kina.add %u, [[b]]
// CHECK-NEXT:    [[k:%\S+]] = kina.reshape [[a]] : tensor<4xf32> -> tensor<4x1xf32>
// CHECK-NEXT:    func.return [[a]], [[k]]
func.func @sums(%u: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4x1xf32>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xf32>, tensor<4xi64> -> tensor<4x8xf32>
  %1 = kina.reduce sum %0 {axis = 1} : tensor<4x8xf32> -> tensor<4xf32>
  %2 = kina.reduce_keep sum %0 {axis = 1} : tensor<4x8xf32> -> tensor<4x1xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<4x1xf32>
}

// Other axes and other reductions stay.
// CHECK-LABEL: func.func @others(
// CHECK:         kina.reduce sum %s {axis = 0}
// CHECK-NEXT:    kina.reduce max %s {axis = 1}
func.func @others(%u: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<8xf32>, tensor<4xf32>) {
  %s = kina.scatter_along_axis %u, %i {axis = 1} : tensor<4xf32>, tensor<4xi64> -> tensor<4x8xf32>
  %r = kina.reduce sum %s {axis = 0} : tensor<4x8xf32> -> tensor<8xf32>
  %m = kina.reduce max %s {axis = 1} : tensor<4x8xf32> -> tensor<4xf32>
  func.return %r, %m : tensor<8xf32>, tensor<4xf32>
}

// A cast between floats moves before the scatter; one to integers stays.
// CHECK-LABEL: func.func @casts(
// CHECK:         [[c:%\d+]] = kina.cast %u : tensor<4xf16> -> tensor<4xf32>
// CHECK-NEXT:    [[w:%\S+]] = kina.scatter_along_axis [[c]], %i {axis = 0} : tensor<4xf32>, tensor<4xi64> -> tensor<8x4xf32>
// CHECK-NEXT:    [[n:%\S+]] = kina.cast %{{.*}} : tensor<8x4xf16> -> tensor<8x4xi8>
// CHECK-NEXT:    func.return [[w]], [[n]]
func.func @casts(%u: tensor<4xf16>, %i: tensor<4xi64>) -> (tensor<8x4xf32>, tensor<8x4xi8>) {
  %0 = kina.scatter_along_axis %u, %i {axis = 0} : tensor<4xf16>, tensor<4xi64> -> tensor<8x4xf16>
  %1 = kina.cast %0 : tensor<8x4xf16> -> tensor<8x4xf32>
  %2 = kina.cast %0 : tensor<8x4xf16> -> tensor<8x4xi8>
  func.return %1, %2 : tensor<8x4xf32>, tensor<8x4xi8>
}
