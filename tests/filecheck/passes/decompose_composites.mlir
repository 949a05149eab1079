// RUN: kina-opt %s --pass decompose-kina --print-debuginfo | filecheck %s

// exp of -|x| only, and the side on which it is small above the bar.
// CHECK-LABEL: func.func @sigmoid(
// CHECK-NEXT:    [[ABS:%\S+]] = kina.abs %x : tensor<3xf32> -> tensor<3xf32> loc("a.kina":2:5)
// CHECK-NEXT:    [[NEG:%\S+]] = kina.neg [[ABS]]
// CHECK-NEXT:    [[EXP:%\S+]] = kina.exp [[NEG]] {nonpositive} : {{.*}} loc("a.kina":2:5)
// CHECK:         [[SUM:%\S+]] = kina.add {{%\S+}}, [[EXP]]
// CHECK:         [[LESS:%\S+]] = kina.less %x,
// CHECK:         [[TOP:%\S+]] = kina.select [[LESS]], [[EXP]], {{%\S+}}
// CHECK-NEXT:    [[R:%\S+]] = kina.div [[TOP]], [[SUM]]
// CHECK-NEXT:    func.return [[R]]
func.func @sigmoid(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = kina.sigmoid %x : tensor<3xf32> -> tensor<3xf32> loc("a.kina":2:5)
  func.return %0 : tensor<3xf32>
}

// An infinite maximum is the result: nothing of a fiber of -inf is looked at.
// CHECK-LABEL: func.func @logsumexp(
// CHECK-NEXT:    [[MAX:%\S+]] = kina.reduce_keep max %x {axis = 1} : tensor<2x3xf32>
// CHECK:         [[EXP:%\S+]] = kina.exp {{%\S+}} {nonpositive, summed}
// CHECK-NEXT:    [[SUM:%\S+]] = kina.reduce_keep sum [[EXP]] {axis = 1}
// CHECK-NEXT:    [[LOG:%\S+]] = kina.log [[SUM]] : tensor<2x1xf32>
// CHECK-NEXT:    [[VALUE:%\S+]] = kina.add [[MAX]], [[LOG]]
// CHECK:         [[FINITE:%\S+]] = kina.less
// CHECK-NEXT:    [[CHOSEN:%\S+]] = kina.select [[FINITE]], [[VALUE]], [[MAX]]
// CHECK-NEXT:    [[R:%\S+]] = kina.reshape [[CHOSEN]] : tensor<2x1xf32> -> tensor<2xf32>
// CHECK-NEXT:    func.return [[R]]
func.func @logsumexp(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = kina.logsumexp %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// A norm of small floats is one operation on F32, and rounds once. Large elements are scaled, and
// eps with them, to no less than a normal number.
// CHECK-LABEL: func.func @rms_norm(
// CHECK-NEXT:    [[X:%\S+]] = kina.cast %x : tensor<2x3xbf16> -> tensor<2x3xf32>
// CHECK-NEXT:    [[W:%\S+]] = kina.cast %w : tensor<3xbf16> -> tensor<3xf32>
// CHECK-NOT:     kina.cast
// CHECK:         [[ABS:%\S+]] = kina.abs [[X]]
// CHECK-NEXT:    [[MAX:%\S+]] = kina.reduce_keep max [[ABS]] {axis = 1} {nan_elsewhere} : tensor<2x3xf32> -> tensor<2x1xf32>
// CHECK:         [[LARGE:%\S+]] = kina.greater [[MAX]],
// CHECK:         [[SCALE:%\S+]] = kina.select [[LARGE]]
// CHECK:         [[EPS:%\S+]] = kina.select [[LARGE]]
// CHECK:         kina.reduce_keep mean {{%\S+}} {axis = 1}
// CHECK-NEXT:    [[SUM:%\S+]] = kina.add {{%\S+}}, [[EPS]] : tensor<2x1xf32>
// CHECK-NEXT:    [[ROOT:%\S+]] = kina.sqrt [[SUM]]
// CHECK:         kina.div {{%\S+}}, [[ROOT]] : tensor<2x1xf32>
// CHECK:         [[R:%\S+]] = kina.cast {{%\S+}} : tensor<2x3xf32> -> tensor<2x3xbf16>
// CHECK-NEXT:    func.return [[R]]
func.func @rms_norm(%x: tensor<2x3xbf16>, %w: tensor<3xbf16>) -> tensor<2x3xbf16> {
  %0 = kina.rms_norm %x, %w {axis = 1, eps = 1.0e-05} : tensor<2x3xbf16>, tensor<3xbf16> -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// The mean goes first; weight and bias are spread along the axis, wherever it is.
// CHECK-LABEL: func.func @layer_norm(
// CHECK:         [[MEAN:%\S+]] = kina.reduce_keep mean [[SCALED:%\S+]] {axis = 0} : tensor<2x3xf32> -> tensor<1x3xf32>
// CHECK:         kina.sub [[SCALED]],
// CHECK:         kina.reshape %w : tensor<2xf32> -> tensor<2x1xf32>
// CHECK:         kina.reshape %b : tensor<2xf32> -> tensor<2x1xf32>
// CHECK:         kina.add
// CHECK-NEXT:    func.return
func.func @layer_norm(%x: tensor<2x3xf32>, %w: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2x3xf32> {
  %0 = kina.layer_norm %x, %w, %b {axis = 0, eps = 1.0e-05} : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
