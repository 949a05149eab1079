// RUN: kina-opt %s --pass transform-ad | filecheck %s
// One rule a function; "CHECK-NEXT" says that there is nothing else.

func.func @exp(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.exp %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dexp(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.mul %ct, %y
// CHECK-NEXT:    func.return
func.func @dexp(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @exp(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @log(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.log %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dlog(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.div %ct, %x
// CHECK-NEXT:    func.return
func.func @dlog(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @log(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @sqrt(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.sqrt %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dsqrt(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.add %y, %y
// CHECK-NEXT:    %1 = kina.div %ct, %0
// CHECK-NEXT:    func.return
func.func @dsqrt(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @sqrt(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @expm1(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.expm1 %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// exp again, and not y + 1, which loses what is left where y is near -1.
// CHECK-LABEL: func.func @dexpm1(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.exp %x
// CHECK-NEXT:    %1 = kina.mul %ct, %0
// CHECK-NEXT:    func.return
func.func @dexpm1(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @expm1(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @log1p(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.log1p %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dlog1p(
// CHECK:         kina.constant dense<1.000000e+00>
// CHECK-NEXT:    [[ONE:%\S+]] = kina.broadcast
// CHECK-NEXT:    [[SUM:%\S+]] = kina.add %x, [[ONE]]
// CHECK-NEXT:    kina.div %ct, [[SUM]]
// CHECK-NEXT:    func.return
func.func @dlog1p(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @log1p(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @tanh(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.tanh %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// (1 - y) * (1 + y)
// CHECK-LABEL: func.func @dtanh(
// CHECK:         %y = kina.
// CHECK:         [[ONE:%\S+]] = kina.broadcast
// CHECK-NEXT:    [[LESS:%\S+]] = kina.sub [[ONE]], %y
// CHECK-NEXT:    [[MORE:%\S+]] = kina.add [[ONE]], %y
// CHECK-NEXT:    [[SLOPE:%\S+]] = kina.mul [[LESS]], [[MORE]]
// CHECK-NEXT:    kina.mul %ct, [[SLOPE]]
// CHECK-NEXT:    func.return
func.func @dtanh(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @tanh(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @erf(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.erf %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @derf(
// CHECK:         [[SQUARE:%\S+]] = kina.mul %x, %x
// CHECK-NEXT:    [[MINUS:%\S+]] = kina.neg [[SQUARE]]
// CHECK-NEXT:    [[BELL:%\S+]] = kina.exp [[MINUS]] {nonpositive}
// CHECK:         kina.constant dense<1.128379{{.*}}>
// CHECK:         kina.mul {{.*}}, [[BELL]]
// CHECK-NEXT:    kina.mul %ct
// CHECK-NEXT:    func.return
func.func @derf(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @erf(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @sub(%x: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.sub %x, %z : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dsub(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.neg %ct
// CHECK-NEXT:    func.return
func.func @dsub(%x: tensor<3xf32>, %z: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0, %1, %2 = kina.vjp @sub(%x, %z, %ct) {wrt = [0, 1]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return %1, %2 : tensor<3xf32>, tensor<3xf32>
}

func.func @mul(%x: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.mul %x, %z : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dmul(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.mul %ct, %x
// CHECK-NEXT:    func.return
func.func @dmul(%x: tensor<3xf32>, %z: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %2 = kina.vjp @mul(%x, %z, %ct) {wrt = [1]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %2 : tensor<3xf32>
}

func.func @div(%x: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.div %x, %z : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @ddiv(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.div %ct, %z
// CHECK-NEXT:    %1 = kina.div %ct, %z
// CHECK-NEXT:    %2 = kina.mul %1, %y
// CHECK-NEXT:    %3 = kina.neg %2
// CHECK-NEXT:    func.return
func.func @ddiv(%x: tensor<3xf32>, %z: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0, %1, %2 = kina.vjp @div(%x, %z, %ct) {wrt = [0, 1]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return %1, %2 : tensor<3xf32>, tensor<3xf32>
}

func.func @broadcast(%x: tensor<1x3xf32>) -> tensor<4x2x3xf32> {
  %y = kina.broadcast %x : tensor<1x3xf32> -> tensor<4x2x3xf32>
  func.return %y : tensor<4x2x3xf32>
}
// CHECK-LABEL: func.func @dbroadcast(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.reduce_keep sum %ct {axis = 1} : tensor<4x2x3xf32> -> tensor<4x1x3xf32>
// CHECK-NEXT:    %1 = kina.reduce sum %0 {axis = 0} : tensor<4x1x3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    func.return
func.func @dbroadcast(%x: tensor<1x3xf32>, %ct: tensor<4x2x3xf32>) -> (tensor<1x3xf32>) {
  %0, %1 = kina.vjp @broadcast(%x, %ct) {wrt = [0]} : (tensor<1x3xf32>, tensor<4x2x3xf32>) -> (tensor<4x2x3xf32>, tensor<1x3xf32>)
  func.return %1 : tensor<1x3xf32>
}

func.func @small(%x: tensor<bf16>) -> tensor<4x2xbf16> {
  %y = kina.broadcast %x : tensor<bf16> -> tensor<4x2xbf16>
  func.return %y : tensor<4x2xbf16>
}
// CHECK-LABEL: func.func @dsmall(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.cast %ct : tensor<4x2xbf16> -> tensor<4x2xf32>
// CHECK-NEXT:    %1 = kina.reduce sum %0 {axis = 1}
// CHECK-NEXT:    %2 = kina.reduce sum %1 {axis = 0}
// CHECK-NEXT:    %3 = kina.cast %2 : tensor<f32> -> tensor<bf16>
// CHECK-NEXT:    func.return
func.func @dsmall(%x: tensor<bf16>, %ct: tensor<4x2xbf16>) -> (tensor<bf16>) {
  %0, %1 = kina.vjp @small(%x, %ct) {wrt = [0]} : (tensor<bf16>, tensor<4x2xbf16>) -> (tensor<4x2xbf16>, tensor<bf16>)
  func.return %1 : tensor<bf16>
}

func.func @narrow(%x: tensor<3xf32>) -> tensor<3xbf16> {
  %y = kina.cast %x : tensor<3xf32> -> tensor<3xbf16>
  func.return %y : tensor<3xbf16>
}
// CHECK-LABEL: func.func @dnarrow(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.cast %ct : tensor<3xbf16> -> tensor<3xf32>
// CHECK-NEXT:    func.return
func.func @dnarrow(%x: tensor<3xf32>, %ct: tensor<3xbf16>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @narrow(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xbf16>) -> (tensor<3xbf16>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @sum(%x: tensor<2x3xf32>) -> tensor<3xf32> {
  %y = kina.reduce sum %x {axis = 0} : tensor<2x3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dsum(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.reshape %ct : tensor<3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %1 = kina.broadcast %0 : tensor<1x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    func.return
func.func @dsum(%x: tensor<2x3xf32>, %ct: tensor<3xf32>) -> (tensor<2x3xf32>) {
  %0, %1 = kina.vjp @sum(%x, %ct) {wrt = [0]} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>)
  func.return %1 : tensor<2x3xf32>
}

func.func @mean(%x: tensor<?x3xf32, #kina.layout<["N", 3], host>>) -> tensor<1x3xf32> {
  %y = kina.reduce_keep mean %x {axis = 0} : tensor<?x3xf32, #kina.layout<["N", 3], host>> -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}
// CHECK-LABEL: func.func @dmean(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.constant dense<1.000000e+00>
// CHECK-NEXT:    %1 = kina.broadcast %0 : tensor<f32> -> tensor<?xf32, #kina.layout<["N"], host>>
// CHECK-NEXT:    %2 = kina.reduce sum %1 {axis = 0}
// CHECK-NEXT:    %3 = kina.broadcast %2 : tensor<f32> -> tensor<1x3xf32>
// CHECK-NEXT:    %4 = kina.div %ct, %3
// CHECK-NEXT:    %5 = kina.broadcast %4 : tensor<1x3xf32> -> tensor<?x3xf32, #kina.layout<["N", 3], host>>
// CHECK-NEXT:    func.return
func.func @dmean(%x: tensor<?x3xf32, #kina.layout<["N", 3], host>>, %ct: tensor<1x3xf32>) -> (tensor<?x3xf32, #kina.layout<["N", 3], host>>) {
  %0, %1 = kina.vjp @mean(%x, %ct) {wrt = [0]} : (tensor<?x3xf32, #kina.layout<["N", 3], host>>, tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<?x3xf32, #kina.layout<["N", 3], host>>)
  func.return %1 : tensor<?x3xf32, #kina.layout<["N", 3], host>>
}

func.func @max(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
  %y = kina.reduce_keep max %x {axis = 1} : tensor<2x3xf32> -> tensor<2x1xf32>
  func.return %y : tensor<2x1xf32>
}
// CHECK-LABEL: func.func @dmax(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.broadcast %y
// CHECK-NEXT:    %1 = kina.equal %x, %0
// CHECK-NEXT:    %2 = kina.not_equal %x, %x
// CHECK-NEXT:    %3 = kina.logical_or %1, %2
// CHECK-NEXT:    %4 = kina.cast %3 : tensor<2x3xi1> -> tensor<2x3xf32>
// CHECK-NEXT:    %5 = kina.reduce_keep sum %4 {axis = 1}
// CHECK-NEXT:    %6 = kina.div %ct, %5
// CHECK-NEXT:    %7 = kina.broadcast %6
// CHECK-NEXT:    %8 = kina.constant dense<0.000000e+00>
// CHECK-NEXT:    %9 = kina.broadcast %8
// CHECK-NEXT:    %10 = kina.select %3, %7, %9
// CHECK-NEXT:    func.return
func.func @dmax(%x: tensor<2x3xf32>, %ct: tensor<2x1xf32>) -> (tensor<2x3xf32>) {
  %0, %1 = kina.vjp @max(%x, %ct) {wrt = [0]} : (tensor<2x3xf32>, tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>)
  func.return %1 : tensor<2x3xf32>
}

func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = kina.softmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @dsoftmax(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.mul %ct, %y
// CHECK-NEXT:    %1 = kina.reduce_keep sum %0 {axis = 1}
// CHECK-NEXT:    %2 = kina.broadcast %1
// CHECK-NEXT:    %3 = kina.sub %ct, %2
// CHECK-NEXT:    %4 = kina.mul %y, %3
// CHECK-NEXT:    func.return
func.func @dsoftmax(%x: tensor<2x3xf32>, %ct: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %0, %1 = kina.vjp @softmax(%x, %ct) {wrt = [0]} : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  func.return %1 : tensor<2x3xf32>
}

// Small floats: the rule reads the result in F32, as it was before it was rounded.
func.func @unrounded(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %y = kina.log_softmax %x {axis = 1} : tensor<2x3xbf16> -> tensor<2x3xbf16>
  func.return %y : tensor<2x3xbf16>
}
// CHECK-LABEL: func.func @dunrounded(
// CHECK:         %y = kina.
// CHECK-NEXT:    [[ct:%\d+]] = kina.cast %ct
// CHECK-NEXT:    [[x:%\d+]] = kina.cast %x
// CHECK-NEXT:    [[y:%\d+]] = kina.log_softmax [[x]] {axis = 1} : tensor<2x3xf32>
// CHECK-NEXT:    [[s:%\d+]] = kina.reduce_keep sum [[ct]] {axis = 1}
// CHECK-NEXT:    [[b:%\d+]] = kina.broadcast [[s]]
// CHECK-NEXT:    [[p:%\d+]] = kina.exp [[y]] {nonpositive}
// CHECK-NEXT:    [[m:%\d+]] = kina.mul [[p]], [[b]]
// CHECK-NEXT:    [[d:%\d+]] = kina.sub [[ct]], [[m]]
// CHECK-NEXT:    kina.cast [[d]] : tensor<2x3xf32> -> tensor<2x3xbf16>
// CHECK-NEXT:    func.return
func.func @dunrounded(%x: tensor<2x3xbf16>, %ct: tensor<2x3xbf16>) -> (tensor<2x3xbf16>) {
  %0, %1 = kina.vjp @unrounded(%x, %ct) {wrt = [0]} : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> (tensor<2x3xbf16>, tensor<2x3xbf16>)
  func.return %1 : tensor<2x3xbf16>
}

func.func @gather(%x: tensor<?x3xf32, #kina.layout<["V", 3], host>>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %y = kina.gather %x, %i : tensor<?x3xf32, #kina.layout<["V", 3], host>>, tensor<2xi64> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @dgather(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.scatter_add %ct, %i
// CHECK-NEXT:    func.return
func.func @dgather(%x: tensor<?x3xf32, #kina.layout<["V", 3], host>>, %i: tensor<2xi64>, %ct: tensor<2x3xf32>) -> (tensor<?x3xf32, #kina.layout<["V", 3], host>>) {
  %0, %1 = kina.vjp @gather(%x, %i, %ct) {wrt = [0]} : (tensor<?x3xf32, #kina.layout<["V", 3], host>>, tensor<2xi64>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<?x3xf32, #kina.layout<["V", 3], host>>)
  func.return %1 : tensor<?x3xf32, #kina.layout<["V", 3], host>>
}

func.func @scatter(%x: tensor<3xf32>, %i: tensor<3xi64>) -> tensor<5x3xf32> {
  %y = kina.scatter_along_axis %x, %i {axis = 0} : tensor<3xf32>, tensor<3xi64> -> tensor<5x3xf32>
  func.return %y : tensor<5x3xf32>
}
// CHECK-LABEL: func.func @dscatter(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.select_along_axis %ct, %i {axis = 0}
// CHECK-NEXT:    func.return
func.func @dscatter(%x: tensor<3xf32>, %i: tensor<3xi64>, %ct: tensor<5x3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @scatter(%x, %i, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xi64>, tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @scatter_add(%x: tensor<2x3xf32>, %i: tensor<2xi64>) -> tensor<5x3xf32> {
  %y = kina.scatter_add %x, %i : tensor<2x3xf32>, tensor<2xi64> -> tensor<5x3xf32>
  func.return %y : tensor<5x3xf32>
}
// CHECK-LABEL: func.func @dscatter_add(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.gather %ct, %i
// CHECK-NEXT:    func.return
func.func @dscatter_add(%x: tensor<2x3xf32>, %i: tensor<2xi64>, %ct: tensor<5x3xf32>) -> (tensor<2x3xf32>) {
  %0, %1 = kina.vjp @scatter_add(%x, %i, %ct) {wrt = [0]} : (tensor<2x3xf32>, tensor<2xi64>, tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<2x3xf32>)
  func.return %1 : tensor<2x3xf32>
}

func.func @select(%c: tensor<3xi1>, %x: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.select %c, %x, %z : tensor<3xi1>, tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dselect(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.constant dense<0.000000e+00>
// CHECK-NEXT:    %1 = kina.broadcast %0
// CHECK-NEXT:    %2 = kina.select %c, %ct, %1
// CHECK-NEXT:    %3 = kina.logical_not %c
// CHECK-NEXT:    %4 = kina.constant
// CHECK-NEXT:    %5 = kina.broadcast %4
// CHECK-NEXT:    %6 = kina.select %3, %ct, %5
// CHECK-NEXT:    func.return
func.func @dselect(%c: tensor<3xi1>, %x: tensor<3xf32>, %z: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0, %1, %2 = kina.vjp @select(%c, %x, %z, %ct) {wrt = [1, 2]} : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return %1, %2 : tensor<3xf32>, tensor<3xf32>
}

func.func @abs(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.abs %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dabs(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.constant dense<0.000000e+00>
// CHECK-NEXT:    %1 = kina.broadcast %0
// CHECK-NEXT:    %2 = kina.greater %x, %1
// CHECK-NEXT:    %3 = kina.mul %ct, %x
// CHECK-NEXT:    %4 = kina.select %2, %ct, %3
// CHECK-NEXT:    %5 = kina.less %x, %1
// CHECK-NEXT:    %6 = kina.neg %ct
// CHECK-NEXT:    %7 = kina.select %5, %6, %4
// CHECK-NEXT:    func.return
func.func @dabs(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @abs(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @floor(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.floor %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dfloor(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.constant dense<0.000000e+00>
// CHECK-NEXT:    %1 = kina.broadcast %0
// CHECK-NEXT:    func.return
func.func @dfloor(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @floor(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @stop(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.stop_gradient %x : tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dstop(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.constant dense<0.000000e+00>
// CHECK-NEXT:    %1 = kina.broadcast %0
// CHECK-NEXT:    func.return
func.func @dstop(%x: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @stop(%x, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @maximum(%x: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.maximum %x, %z : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dmaximum(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.greater_equal %x, %z
// CHECK-NEXT:    %1 = kina.not_equal %x, %x
// CHECK-NEXT:    %2 = kina.logical_or %0, %1
// CHECK-NEXT:    %3 = kina.constant dense<5.000000e-01>
// CHECK-NEXT:    %4 = kina.broadcast %3
// CHECK-NEXT:    %5 = kina.mul %ct, %4
// CHECK-NEXT:    %6 = kina.greater_equal %z, %x
// CHECK-NEXT:    %7 = kina.not_equal %z, %z
// CHECK-NEXT:    %8 = kina.logical_or %6, %7
// CHECK-NEXT:    %9 = kina.select %8, %5, %ct
// CHECK-NEXT:    %10 = kina.constant dense<0.000000e+00>
// CHECK-NEXT:    %11 = kina.broadcast %10
// CHECK-NEXT:    %12 = kina.select %2, %9, %11
// CHECK-NEXT:    func.return
func.func @dmaximum(%x: tensor<3xf32>, %z: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @maximum(%x, %z, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

func.func @clamp(%x: tensor<3xf32>, %l: tensor<3xf32>, %h: tensor<3xf32>) -> tensor<3xf32> {
  %y = kina.clamp %x, %l, %h : tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dclamp(
// CHECK:         %y = kina.
// CHECK-NEXT:    %0 = kina.less %x, %l
// CHECK-NEXT:    %1 = kina.maximum %x, %l
// CHECK-NEXT:    %2 = kina.greater %1, %h
// CHECK-NEXT:    %3 = kina.logical_or %0, %2
// CHECK-NEXT:    %4 = kina.logical_not %3
// CHECK-NEXT:    %5 = kina.constant dense<0.000000e+00>
// CHECK-NEXT:    %6 = kina.broadcast %5
// CHECK-NEXT:    %7 = kina.select %4, %ct, %6
// CHECK-NEXT:    func.return
func.func @dclamp(%x: tensor<3xf32>, %l: tensor<3xf32>, %h: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @clamp(%x, %l, %h, %ct) {wrt = [0]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

// What was not chosen makes 0 / 0 of its zero, and is made 0 again before it goes anywhere else.
func.func @chosen(%c: tensor<3xi1>, %x: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %l = kina.log %x : tensor<3xf32> -> tensor<3xf32>
  %y = kina.select %c, %l, %z : tensor<3xi1>, tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// CHECK-LABEL: func.func @dchosen(
// CHECK:         %y = kina.
// CHECK:         [[CT:%\S+]] = kina.select %c, %ct, {{%\S+}}
// CHECK-NEXT:    [[SHARE:%\S+]] = kina.div [[CT]], %x
// CHECK:         [[ZERO:%\S+]] = kina.broadcast
// CHECK-NEXT:    [[MADE:%\S+]] = kina.select %c, [[SHARE]], [[ZERO]]
// CHECK-NEXT:    func.return [[MADE]]
func.func @dchosen(%c: tensor<3xi1>, %x: tensor<3xf32>, %z: tensor<3xf32>, %ct: tensor<3xf32>) -> (tensor<3xf32>) {
  %0, %1 = kina.vjp @chosen(%c, %x, %z, %ct) {wrt = [1]} : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %1 : tensor<3xf32>
}

// A row of which nothing counts is zeros too, whatever a softmax over it makes.
func.func @rows(%c: tensor<2xi1>, %x: tensor<2x3xf32>, %i: tensor<2xi64>, %z: tensor<2xf32>) -> tensor<2xf32> {
  %l = kina.log_softmax %x {axis = 1} : tensor<2x3xf32> -> tensor<2x3xf32>
  %t = kina.take_along_axis %l, %i {axis = 1} : tensor<2x3xf32>, tensor<2xi64> -> tensor<2xf32>
  %y = kina.select %c, %t, %z : tensor<2xi1>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @drows(
// CHECK:         kina.scatter_along_axis
// CHECK-NOT:     kina.select
// CHECK:         [[SHARE:%\S+]] = kina.sub
// CHECK-NEXT:    [[KEPT:%\S+]] = kina.reshape %c : tensor<2xi1> -> tensor<2x1xi1>
// CHECK-NEXT:    [[CHOSEN:%\S+]] = kina.broadcast [[KEPT]]
// CHECK:         kina.select [[CHOSEN]], [[SHARE]],
func.func @drows(%c: tensor<2xi1>, %x: tensor<2x3xf32>, %i: tensor<2xi64>, %z: tensor<2xf32>, %ct: tensor<2xf32>) -> tensor<2x3xf32> {
  %0, %1 = kina.vjp @rows(%c, %x, %i, %z, %ct) {wrt = [1]} : (tensor<2xi1>, tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2x3xf32>)
  func.return %1 : tensor<2x3xf32>
}
