// The programs of the seeds, lowered and read by mlir-opt; no place is lost on the way.
// RUN: kina-opt %S/../../../examples/storylm0_nll.kina --pass lower-kina --print-debuginfo | %mlir_opt | filecheck %s --check-prefix NLL
// RUN: kina-opt %S/../../../examples/storylm0_greedy.kina --pass lower-kina --print-debuginfo | %mlir_opt | filecheck %s --check-prefix GREEDY
// RUN: kina-opt %S/../../../examples/storylm0_sample.kina --pass lower-kina --print-debuginfo | %mlir_opt | filecheck %s --check-prefix SAMPLE
// RUN: kina-opt %S/../../../examples/argmax_axis1.kina --pass lower-kina | %mlir_opt | filecheck %s --check-prefix AXIS1
// RUN: kina-opt %S/../../../examples/argmax_keep_axis1.kina --pass lower-kina | %mlir_opt | filecheck %s --check-prefix KEEP
// RUN: kina-opt %S/../../../examples/storylm0_nll.kina --pass lower-kina --print-debuginfo | filecheck %s --check-prefix PLACES

// NLL-NOT:   {{= "?kina\.|#kina\.}}
// NLL:       func.func @nll(%{{.*}}: tensor<1x4x8xf32>, %{{.*}}: tensor<1x4xi64>) -> tensor<1x4xf32>
// NLL:       arith.maximumf
// NLL:       math.exp
// NLL:       math.log
// NLL:       cf.assert %{{.*}}, "{{.*}}storylm0_nll.kina:{{[0-9]+:[0-9]+}}: take_along_axis: index out of range 0 .. 7 (axis 2)"
// NLL:       tensor.extract
// NLL-NOT:   {{= "?kina\.|#kina\.}}
// NLL:       return %{{.*}} : tensor<1x4xf32>

// GREEDY:    func.func @greedy(%{{.*}}: tensor<1x4x8xf32>) -> tensor<1x4xi64>
// GREEDY:    linalg.index 2
// GREEDY-NOT: {{= "?kina\.|#kina\.}}
// GREEDY:    return %{{.*}} : tensor<1x4xi64>

// SAMPLE:    -> tensor<1x4xi64>
// SAMPLE:    math.log
// SAMPLE:    arith.divf
// SAMPLE:    arith.cmpf ogt
// SAMPLE:    linalg.index 2
// SAMPLE-NOT: {{= "?kina\.|#kina\.}}
// SAMPLE:    return %{{.*}} : tensor<1x4xi64>

// AXIS1:     (%{{.*}}: tensor<2x3xf32>) -> tensor<2xi64>
// AXIS1:     linalg.index 1

// KEEP:      (%{{.*}}: tensor<2x3xf32>) -> tensor<2x1xi64>
// KEEP:      linalg.index 1
// KEEP:      tensor.expand_shape

// PLACES-NOT: loc(unknown)
// PLACES:     loc("{{.*}}storylm0_nll.kina":1:1)
