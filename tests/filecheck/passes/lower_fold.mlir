// RUN: kina-opt %s --pass lower-kina | filecheck %s
// RUN: kina-opt %s --pass lower-kina,export-c | filecheck %s --check-prefix C
// RUN: kina-opt %s --pass lower-kina,export-c,check-sizes,assert-to-status,schedule-cpu | filecheck %s --check-prefix LOOP
// RUN: kina-opt %s --pass lower-kina,export-c,check-sizes,assert-to-status,allocate-temporaries | filecheck %s --check-prefix LOOP
// A fold is a loop that calls its function on slices; in C, on pointers.

func.func @block(%x: tensor<?xf32, #kina.layout<["N"], host>>, %w: tensor<?xf32, #kina.layout<["N"], host>>) -> (tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>>) {
  %y = kina.mul %x, %w : tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>> -> tensor<?xf32, #kina.layout<["N"], host>>
  func.return %y, %w : tensor<?xf32, #kina.layout<["N"], host>>, tensor<?xf32, #kina.layout<["N"], host>>
}

// CHECK-LABEL: func.func @f(
// CHECK:         [[y:%\w+]], [[s:%\w+]], [[k:%\w+]] = scf.for [[i:%\d+]] = %{{.*}} iter_args([[x:%\d+]] = %x, [[a:%\d+]] = %{{\d+}}, [[b:%\d+]] = %{{\d+}}) -> (tensor<3xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
// CHECK:           [[l:%\d+]] = arith.subi %{{\d+}}, [[i]] : index
// CHECK-NEXT:      [[w:%\d+]] = tensor.extract_slice %w{{\[}}[[l]], 0] [1, 3] [1, 1] : tensor<?x3xf32> to tensor<3xf32>
// CHECK:           func.call @block({{.*}}) {symbol_sizes = [3 : i64]}
// CHECK:           tensor.insert_slice %{{\d+}} into [[a]]{{\[}}[[l]], 0] [1, 3] [1, 1]
// CHECK-NEXT:      tensor.insert_slice [[x]] into [[b]]{{\[}}[[l]], 0] [1, 3] [1, 1]
// CHECK-NEXT:      scf.yield

// C-LABEL: func.func @kina_f(
// C-NOT:     scf.for
// C:         kina.invoke_layers @kina_block sizes(%{{\d+}}) ins(%{{.*}}) outs(%{{.*}}) carried = 1 over = 1 kept = [0] reverse

// The first layer's input is copied into its place; after that nothing is, and every layer is called
// as long as all were successful.
// LOOP-LABEL: func.func @kina_f(
// LOOP-NOT:     {{memref.alloc|take}}
// LOOP:         memref.copy
// LOOP:         scf.for %{{.*}} iter_args([[status:%\d+]] = %{{\d+}}) -> (i32) {
// LOOP:           [[ok:%\d+]] = arith.cmpi eq, [[status]]
// LOOP-NEXT:      scf.if [[ok]] -> (i32) {
// LOOP-NOT:       memref.copy
// LOOP-COUNT-4:   llvm.getelementptr
// LOOP:           [[new:%\d+]] = func.call @kina_block(
// LOOP-NEXT:      scf.yield [[new]] : i32
// LOOP-NEXT:    } else {
// LOOP-NEXT:      scf.yield [[status]] : i32
func.func @f(%x: tensor<3xf32>, %w: tensor<?x3xf32, #kina.layout<["L", 3], host>>) -> (tensor<3xf32>, tensor<?x3xf32, #kina.layout<["L", 3], host>>, tensor<?x3xf32, #kina.layout<["L", 3], host>>) {
  %y, %s, %k = kina.fold @block(%x) over(%w) with() reverse kept [0] : (tensor<3xf32>) over(tensor<?x3xf32, #kina.layout<["L", 3], host>>) with() -> (tensor<3xf32>, tensor<?x3xf32, #kina.layout<["L", 3], host>>, tensor<?x3xf32, #kina.layout<["L", 3], host>>)
  func.return %y, %s, %k : tensor<3xf32>, tensor<?x3xf32, #kina.layout<["L", 3], host>>, tensor<?x3xf32, #kina.layout<["L", 3], host>>
}
