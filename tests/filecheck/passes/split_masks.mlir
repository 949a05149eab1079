// RUN: kina-opt %s -p split-masks | filecheck %s

// CHECK-LABEL: @few
// CHECK: vector.maskedload %x[%at], {{.*}} into vector<16xf32>
// CHECK-NOT: vector.shuffle
func.func @few(%x: memref<?xf32>, %at: index, %n: index, %zero: vector<16xf32>) -> vector<16xf32> {
  %mask = vector.create_mask %n : vector<16xi1>
  %value = vector.maskedload %x[%at], %mask, %zero : memref<?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  func.return %value : vector<16xf32>
}

// CHECK-LABEL: @many
// CHECK:      %[[FIRST:.*]] = vector.create_mask %n : vector<16xi1>
// CHECK:      %[[LOW:.*]] = vector.maskedload %x[%at], %[[FIRST]], {{.*}} into vector<16xf32>
// CHECK:      %[[LEFT:.*]] = arith.subi %n, %{{.*}} : index
// CHECK-NEXT: %[[SECOND:.*]] = vector.create_mask %[[LEFT]] : vector<16xi1>
// CHECK:      %[[BEHIND:.*]] = arith.addi %at, %{{.*}} : index
// CHECK-NEXT: %[[HIGH:.*]] = vector.maskedload %x[%[[BEHIND]]], %[[SECOND]], {{.*}} into vector<16xf32>
// CHECK:      %[[ALL:.*]] = vector.shuffle %[[LOW]], %[[HIGH]]
// CHECK:      %[[PART:.*]] = vector.shuffle %[[ALL]], %[[ALL]] [0,
// CHECK-NEXT: vector.maskedstore %x[%at], %{{.*}}, %[[PART]] : {{.*}}vector<16xf32>
// CHECK:      vector.maskedstore %x[{{.*}}vector<16xf32>
// CHECK-NOT:  vector.maskedstore
func.func @many(%x: memref<?xf32>, %at: index, %n: index, %zero: vector<32xf32>) {
  %mask = vector.create_mask %n : vector<32xi1>
  %value = vector.maskedload %x[%at], %mask, %zero : memref<?xf32>, vector<32xi1>, vector<32xf32> into vector<32xf32>
  vector.maskedstore %x[%at], %mask, %value : memref<?xf32>, vector<32xi1>, vector<32xf32>
  func.return
}
