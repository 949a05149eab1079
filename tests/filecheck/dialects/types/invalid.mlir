// RUN: KINA_INVALID | filecheck %s

// CHECK: has a dynamic dimension and no #kina.layout to name it
func.func @f(%x: tensor<?xf32>) {
  %0 = kina.neg %x : tensor<?xf32> -> tensor<?xf32>
  func.return
}

// -----

// CHECK: the layout's dimensions do not match the shape
func.func @f(%x: tensor<?x3xf32, #kina.layout<["B", 4], host>>) {
  %0 = kina.neg %x : tensor<?x3xf32, #kina.layout<["B", 4], host>> -> tensor<?x3xf32, #kina.layout<["B", 4], host>>
  func.return
}

// -----

// CHECK: placement is moon, expected one of host, device
func.func @f(%x: tensor<?xf32, #kina.layout<["B"], moon>>) {
  func.return
}

// -----

// CHECK: expected sizes >= 1
func.func @f(%x: tensor<?x0xf32, #kina.layout<["B", 0], host>>) {
  func.return
}

// -----

// CHECK: expected every dimension to be at least 1
func.func @f(%x: tensor<0xf32>) {
  %0 = kina.neg %x : tensor<0xf32> -> tensor<0xf32>
  func.return
}

// -----

// CHECK: encoding is "sparse", expected #kina.layout
func.func @f(%x: tensor<2xf32, "sparse">) {
  %0 = kina.neg %x : tensor<2xf32, "sparse"> -> tensor<2xf32, "sparse">
  func.return
}

// -----

// CHECK: element type is f64, expected one of
func.func @f(%x: tensor<2xf64>) {
  %0 = kina.neg %x : tensor<2xf64> -> tensor<2xf64>
  func.return
}

// -----

// CHECK: dimension "1 + T" is no normal form of a size, expected for example "N", "T + 1" or "3 * D"
func.func @f(%x: tensor<?xf32, #kina.layout<["1 + T"], host>>) {
  func.return
}
