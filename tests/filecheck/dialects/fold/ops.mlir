// RUN: KINA_ROUNDTRIP | filecheck %s
// RUN: KINA_GENERIC_ROUNDTRIP | filecheck %s

func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>, %m: tensor<f32>) -> tensor<?xf32, #kina.layout<["N"], host>> {
  func.return %x : tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @pair(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> (tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>>) {
  func.return %x, %w : tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>>
}
func.func @f(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %m: tensor<f32>, %v: tensor<?x3xf32, #kina.layout<["L", 3], host>>) {
  // CHECK: kina.fold @block(%x) over(%w) with(%m) : (tensor<3xf32>) over(tensor<5x3xf32>) with(tensor<f32>) -> (tensor<3xf32>)
  %a = kina.fold @block(%x) over(%w) with(%m) : (tensor<3xf32>) over(tensor<5x3xf32>) with(tensor<f32>) -> (tensor<3xf32>)
  // CHECK: kina.fold @pair(%x) over(%v) with() reverse kept [0] : (tensor<3xf32>) over(tensor<?x3xf32, #kina.layout<["L", 3], host>>) with() -> (tensor<3xf32>, tensor<?x3xf32, #kina.layout<["L", 3], host>>, tensor<?x3xf32, #kina.layout<["L", 3], host>>)
  %b, %c, %d = kina.fold @pair(%x) over(%v) with() reverse kept [0] : (tensor<3xf32>) over(tensor<?x3xf32, #kina.layout<["L", 3], host>>) with() -> (tensor<3xf32>, tensor<?x3xf32, #kina.layout<["L", 3], host>>, tensor<?x3xf32, #kina.layout<["L", 3], host>>)
  func.return
}
func.func @c(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %n: i64, %o: tensor<3xf32>, %p: tensor<5x3xf32>) {
  // CHECK: kina.invoke_layers @block sizes(%n) ins(%x, %w) outs(%o, %p) carried = 1 over = 1 kept = [0] reverse : (tensor<3xf32>, tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) outs : tensor<3xf32>, tensor<5x3xf32>
  %s, %a, %k = kina.invoke_layers @block sizes(%n) ins(%x, %w) outs(%o, %p) carried = 1 over = 1 kept = [0] reverse : (tensor<3xf32>, tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) outs : tensor<3xf32>, tensor<5x3xf32>
  func.return
}
