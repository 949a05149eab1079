// RUN: KINA_INVALID | filecheck %s

// CHECK: matmul: left has shape [2, 3] and right has shape [4, 5]: axis 1 of left is 3 and axis 0 of right is 4, expected equal sizes
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  %0 = kina.matmul %x, %y : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: matmul: left has shape [2, 3, 4] and right has shape [5, 4, 6]: axis 0 is 2 and 5, expected equal sizes
func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<5x4x6xf32>) {
  %0 = kina.matmul %x, %y : tensor<2x3x4xf32>, tensor<5x4x6xf32> -> tensor<2x3x6xf32>
  func.return
}

// -----

// CHECK: matmul: left has shape [3], expected rank 2 or more
func.func @f(%x: tensor<3xf32>, %y: tensor<3x6xf32>) {
  %0 = kina.matmul %x, %y : tensor<3xf32>, tensor<3x6xf32> -> tensor<6xf32>
  func.return
}

// -----

// CHECK: matmul: left has shape [3, 4] and right has shape [2, 4, 5]: expected right of rank 2, or of rank 2 as left
func.func @f(%x: tensor<3x4xf32>, %y: tensor<2x4x5xf32>) {
  %0 = kina.matmul %x, %y : tensor<3x4xf32>, tensor<2x4x5xf32> -> tensor<2x3x5xf32>
  func.return
}

// -----

// CHECK: matmul: left has dtype Bool, expected F16, BF16, F32, F8E4M3, F8E5M2, I64, I32, I16, I8 or I4
func.func @f(%x: tensor<3x4xi1>) {
  %0 = kina.matmul %x, %x : tensor<3x4xi1>, tensor<3x4xi1> -> tensor<3x4xi1>
  func.return
}

// -----

// CHECK: matmul: left has dtype I8 and right has dtype I32, expected equal dtypes
func.func @f(%x: tensor<3x3xi8>, %y: tensor<3x3xi32>) {
  %0 = kina.matmul %x, %y : tensor<3x3xi8>, tensor<3x3xi32> -> tensor<3x3xi32>
  func.return
}

// -----

// CHECK: matmul: result has type tensor<I32, [3, 3]>, expected tensor<I8, [3, 3]>
func.func @f(%x: tensor<3x3xi8>) {
  %0 = kina.matmul %x, %x : tensor<3x3xi8>, tensor<3x3xi8> -> tensor<3x3xi32>
  func.return
}

// -----

// CHECK: contract: left has rank 2 and 3 loops
func.func @f(%x: tensor<3x3xf32>) {
  %0 = kina.contract %x [0, 1, 2], %x [2, 1] : tensor<3x3xf32>, tensor<3x3xf32> -> tensor<3x3xf32>
  func.return
}

// -----

// CHECK: contract: the loops of right are [1, 1], expected each one once
func.func @f(%x: tensor<3x3xf32>) {
  %0 = kina.contract %x [0, 1], %x [1, 1] : tensor<3x3xf32>, tensor<3x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: contract: loop 2 is summed over, expected both operands to walk it
func.func @f(%x: tensor<3x3xf32>) {
  %0 = kina.contract %x [0, 2], %x [0, 1] : tensor<3x3xf32>, tensor<3x3xf32> -> tensor<3x3xf32>
  func.return
}

// -----

// CHECK: contract: axis 1 of the result is walked by no operand
func.func @f(%x: tensor<3x3xf32>) {
  %0 = kina.contract %x [0, 2], %x [0, 2] : tensor<3x3xf32>, tensor<3x3xf32> -> tensor<3x3xf32>
  func.return
}

// -----

// CHECK: contract: loop 2 is 3 in left and 4 in right
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  %0 = kina.contract %x [0, 2], %y [2, 1] : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: contract: operands have dtypes F32 and F16, expected one numeric dtype
func.func @f(%x: tensor<2x3xf32>, %y: tensor<3x5xf16>) {
  %0 = kina.contract %x [0, 2], %y [2, 1] : tensor<2x3xf32>, tensor<3x5xf16> -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: contract: result has type tensor<F32, [2, 6]>, expected tensor<F32, [2, 5]>
func.func @f(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  %0 = kina.contract %x [0, 2], %y [2, 1] : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<2x6xf32>
  func.return
}
