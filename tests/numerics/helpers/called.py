"""What tests of calls share."""

from __future__ import annotations

PROGRAM = """\
let nll = fn(logits: tensor<F32, [1, 4, 8]>, targets: tensor<I64, [1, 4]>) -> tensor<F32, [1, 4]> {
  -logits.log_softmax(axis=2).take_along_axis(targets, axis=2)
}
let add = fn(x: tensor<F32, [N, D]>, y: tensor<F32, [N, D]>) -> tensor<F32, [N, D]> { x + y }
let scalar = fn(x: tensor<F32, []>) -> tensor<F32, []> { -x }
let total = fn(x: tensor<F32, [4]>) -> tensor<F32, []> { x.reduce(op=sum, axis=0) }
let both = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>)
  -> (tensor<F32, [B]>, tensor<F32, [B, V]>) {
  let logp = x.log_softmax(axis=1) in
  (-logp.take_along_axis(t, axis=1), logp)
}
let copy = fn(x: tensor<F32, [3]>) -> (tensor<F32, [3]>, tensor<F32, [3]>) { (x, x) }
let flag = fn(x: tensor<Bool, [11]>) -> tensor<Bool, [11]> { x }
let bytes = fn(x: tensor<I8, [3]>) -> tensor<I8, [3]> { -x }
let constant = fn() -> tensor<I64, [2]> { tensor<I64, [2]>(10, 20) }
let mlir = fn(out: tensor<I32, [2]>) -> tensor<I32, [2]> { out + out }
let softmax = fn(x: tensor<F32, [R, C]>) -> tensor<F32, [R, C]> { x.log_softmax(axis=1) }
"""
