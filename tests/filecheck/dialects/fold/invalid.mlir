// RUN: KINA_INVALID | filecheck %s

// CHECK: fold: no function is called missing
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a = kina.fold @missing(%x) over(%w) with() : (tensor<3xf32>) over(tensor<5x3xf32>) with() -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: fold: `over` is empty, expected a tensor with a layer axis
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a = kina.fold @block(%x) over() with(%x) : (tensor<3xf32>) over() with(tensor<3xf32>) -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: fold: over[0] has type tensor<F32, []>, expected a layer axis
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a = kina.fold @block(%x) over(%s) with() : (tensor<3xf32>) over(tensor<f32>) with() -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: fold: over[1] has 4 layers and over[0] has 5, expected the same leading axis
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a = kina.fold @block(%x) over(%w, %v) with() : (tensor<3xf32>) over(tensor<5x3xf32>, tensor<4x3xf32>) with() -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: fold: block takes 2 arguments, but x, 1 of `over` and 1 of `with` are given
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a = kina.fold @block(%x) over(%w) with(%x) : (tensor<3xf32>) over(tensor<5x3xf32>) with(tensor<3xf32>) -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: fold: block: argument 2 has type tensor<F32, [5]>, expected tensor<F32, [3]> ([N] with N = 3)
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a = kina.fold @block(%x) over(%u) with() : (tensor<3xf32>) over(tensor<3x5xf32>) with() -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: fold: block gives (tensor<F32, [3]>) here, but the results have types (tensor<F32, [4]>)
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a = kina.fold @block(%x) over(%w) with() : (tensor<3xf32>) over(tensor<5x3xf32>) with() -> (tensor<4xf32>)
  func.return
}

// -----

// CHECK: fold: block gives (tensor<F32, [3]>, tensor<F32, [5, 3]>) here, but the results have types (tensor<F32, [3]>)
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a = kina.fold @block(%x) over(%w) with() kept [0] : (tensor<3xf32>) over(tensor<5x3xf32>) with() -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: fold: there is no carried value 1 to be kept
func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %u: tensor<3x5xf32>, %v: tensor<4x3xf32>, %s: tensor<f32>) {
  %a, %k = kina.fold @block(%x) over(%w) with() kept [1] : (tensor<3xf32>) over(tensor<5x3xf32>) with() -> (tensor<3xf32>, tensor<5x3xf32>)
  func.return
}

// -----

// CHECK: fold: block makes tensor<F32, []> of an x of type tensor<F32, [3]>, expected the same type: what it gives is the x of the next layer
func.func @block(%x: tensor<3xf32>, %w: tensor<f32>) -> tensor<f32> {
  func.return %w : tensor<f32>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5xf32>) {
  %a = kina.fold @block(%x) over(%w) with() : (tensor<3xf32>) over(tensor<5xf32>) with() -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: fold: block gives 0 results, expected 1
func.func @block(%x: tensor<3xf32>, %w: tensor<f32>) -> () {
  func.return
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5xf32>) {
  %a = kina.fold @block(%x) over(%w) with() : (tensor<3xf32>) over(tensor<5xf32>) with() -> (tensor<3xf32>)
  func.return
}

// -----

// CHECK: invoke_layers: the results have other types than the outputs
func.func @c(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %o: tensor<3xf32>) {
  %s, %a = kina.invoke_layers @block sizes() ins(%x, %w) outs(%o) carried = 1 over = 1 kept = [] : (tensor<3xf32>, tensor<5x3xf32>) -> tensor<4xf32> outs : tensor<3xf32>
  func.return
}

// -----

// CHECK: invoke_layers: the numbers of operands do not fit
func.func @c(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %o: tensor<3xf32>) {
  %s, %a = kina.invoke_layers @block sizes() ins(%x, %w) outs(%o) carried = 1 over = 0 kept = [] : (tensor<3xf32>, tensor<5x3xf32>) -> tensor<3xf32> outs : tensor<3xf32>
  func.return
}

// -----

// CHECK: invoke_layers: the numbers of operands do not fit
func.func @c(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %o: tensor<3xf32>) {
  %s, %a = kina.invoke_layers @block sizes() ins(%x, %w) outs(%o) carried = 1 over = 1 kept = [1] : (tensor<3xf32>, tensor<5x3xf32>) -> tensor<3xf32> outs : tensor<3xf32>
  func.return
}

// -----

// CHECK: invoke_layers: the numbers of operands do not fit
func.func @c(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %o: tensor<3xf32>) {
  %s, %a = kina.invoke_layers @block sizes() ins(%x, %w) outs(%o) carried = 2 over = 1 kept = [] : (tensor<3xf32>, tensor<5x3xf32>) -> tensor<3xf32> outs : tensor<3xf32>
  func.return
}
