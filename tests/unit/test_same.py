"""Equal matrix products share one function, and each call passes its own tensors and sizes."""

from __future__ import annotations

import numpy as np
import pytest

import kina
from kina.backend.lowering import Lowered, lower
from kina.backend.options import Options
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.order import ordered_product

# All products of `layers` are results: what only the next one reads would make a pipeline of them.
SOURCE = """
let layers = fn(
  x: tensor<F32, [T, 16]>,
  a: tensor<F32, [16, 24]>,
  b: tensor<F32, [24, 16]>,
  c: tensor<F32, [16, 24]>,
  d: tensor<F32, [24, 16]>
) -> (tensor<F32, [T, 24]>, tensor<F32, [T, 16]>, tensor<F32, [T, 24]>, tensor<F32, [T, 16]>) {
  let p = x.matmul(a) in
  let q = p.matmul(b) in
  let r = q.matmul(c) in
  (p, q, r, r.matmul(d))
}
let turned = fn(y: tensor<F32, [S, 16]>, a: tensor<F32, [24, 16]>) -> tensor<F32, [S, 24]> {
  y.matmul(a.transpose([1, 0]))
}
let scaled = fn(y: tensor<F32, [S, 16]>, a: tensor<F32, [16, 24]>) -> tensor<F32, [S, 24]> {
  y.matmul(a * 2.0)
}
let again = fn(x: tensor<F32, [R, 16]>, w: tensor<F32, [16, 24]>) -> tensor<F32, [R, 24]> {
  x.matmul(w)
}
"""


@pytest.fixture(scope="module")
def lowered() -> Lowered:
    return lower(check(Source("t.kina", SOURCE)), Options("x86-64-v3"))


def test_equal_products_are_one_function(lowered: Lowered) -> None:
    shared = {line for line in lowered.kernels if ": as " in line}
    assert shared == {
        "kina_layers$2: as kina_layers$0",
        "kina_layers$3: as kina_layers$1",
        "kina_again$0: as kina_layers$0",
    }
    for name in ("kina_layers$2", "kina_layers$3", "kina_again$0"):
        assert f"func.func private @{name}(" not in lowered.code


def test_each_call_has_its_own_tensors_and_sizes() -> None:
    module = kina.compile(SOURCE)
    rng = np.random.default_rng(0)
    x, a, b, c, d = (
        rng.standard_normal(shape, np.float32)
        for shape in ((5, 16), (16, 24), (24, 16), (16, 24), (24, 16))
    )
    wanted = x
    for factor in (a, b, c, d):
        wanted = ordered_product(wanted, factor)
    assert (module.layers(x, a, b, c, d)[-1] == wanted).all()
    assert (module.again(x[:2], a) == ordered_product(x[:2], a)).all()
    assert (module.scaled(x, a) == ordered_product(x, a * 2)).all()
    assert (module.turned(x, np.ascontiguousarray(a.T)) == ordered_product(x, a)).all()
