// What the pass tests lower is accepted by mlir-opt as well.
// RUN: kina-opt %S/../passes/lower_kina.mlir --pass lower-kina --print-debuginfo | %mlir_opt -o /dev/null
// RUN: kina-opt %S/../passes/lower_kina_symbolic.mlir --pass lower-kina | %mlir_opt | filecheck %s
// RUN: kina-opt %S/../passes/lower_kina_fast.mlir --pass 'lower-kina{fast=true}' | %mlir_opt -o /dev/null
// RUN: kina-opt %S/../passes/lower_selection.mlir --pass 'lower-kina{fast=true}' | %mlir_opt -o /dev/null
// RUN: kina-opt %S/../passes/lower_fold.mlir --pass lower-kina | %mlir_opt -o /dev/null

// CHECK-LABEL: func.func @swap(
// CHECK:         tensor.extract
// CHECK-LABEL: func.func @call(
// CHECK:         call @callee
