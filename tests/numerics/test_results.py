"""Several results of one function: each is written to its own output, whatever they share."""

from __future__ import annotations

import numpy as np

import kina

PROGRAM = """
let reductions = fn(x: tensor<F32, [B, N]>) -> (
  tensor<F32, [B]>, tensor<F32, [B]>, tensor<F32, [B]>, tensor<F32, [B]>
) {
  let squares = (x * x).reduce(op=sum, axis=1) in
  (x.reduce(op=sum, axis=1), squares, sqrt(squares), squares)
}
let constants = fn(x: tensor<F32, [B, N]>) -> (
  tensor<F32, [B]>, tensor<F32, [B]>, tensor<F32, [B]>
) {
  let zero = tensor<F32, []>(0).broadcast([B]) in
  (zero, x.reduce(op=sum, axis=1), zero)
}
"""


def test_results_that_start_from_the_same_value() -> None:
    """Two sums of one shape: equal fills must not lead to one buffer."""
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    module = kina.compile(PROGRAM)
    for name in ("reductions", "constants"):
        got, wanted = module[name](x), module[name].reference(x)
        for position, (left, right) in enumerate(zip(got, wanted, strict=True)):
            assert np.array_equal(left, right), f"{name}: result {position}"
