// RUN: kina-opt %s | kina-opt | filecheck %s
// Infinities and NaN are printed as bits, and read back as such.

// CHECK:      %0 = arith.constant dense<0xff800000> : tensor<f32>
// CHECK-NEXT: %1 = arith.constant dense<[0x7fc00000, 1.000000e+00, 1.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %2 = arith.constant dense<0x7c00> : tensor<2xf16>
// CHECK-NEXT: %3 = arith.constant dense<0xff80> : tensor<bf16>
// CHECK-NEXT: %4 = arith.constant dense<[16, 3]> : tensor<2xi32>
// CHECK-NEXT: %5 = arith.constant dense<4.480000e+02> : tensor<f8E4M3FN>
%0 = arith.constant dense<0xff800000> : tensor<f32>
%1 = arith.constant dense<[0x7FC00000, 1.0, 0x3f800000]> : tensor<3xf32>
%2 = arith.constant dense<0x7C00> : tensor<2xf16>
%3 = arith.constant dense<0xFF80> : tensor<bf16>
%4 = arith.constant dense<[0x10, 3]> : tensor<2xi32>
%5 = arith.constant dense<0x7e> : tensor<f8E4M3FN>
