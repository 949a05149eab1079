"""Small products read their factors as they lie, with the bits of plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import kina
from helpers.settings import bits

SIZES = ((16, 16, 16), (64, 64, 64), (17, 33, 20), (9, 1, 40), (63, 64, 31), (14, 7, 70))
KINDS = {
    "nn": ("[3, {m}, {k}]", "x.matmul(w)"),
    "tn": ("[3, {k}, {m}]", "x.transpose([0, 2, 1]).matmul(w)"),
    "inside": ("[{m}, 3, {k}]", "(x.transpose([1, 0, 2]).matmul(w) + 1.0).maximum(0.0)"),
}
SOURCE = "\n".join(
    f"let {kind}{number} = fn(x: tensor<F32, {x.format(m=m, k=k)}>, w: tensor<F32, [3, {k}, {n}]>) "
    f"-> tensor<F32, [3, {m}, {n}]> {{ {body} }}"
    for number, (m, k, n) in enumerate(SIZES)
    for kind, (x, body) in KINDS.items()
)


@pytest.fixture(scope="module")
def modules() -> tuple[kina.Module, kina.Module]:
    return kina.compile(SOURCE, threads=False), kina.compile(SOURCE, fast=False)


def within(array: np.ndarray) -> np.ndarray:
    """The same numbers in a memory that is NaN before and behind them."""
    memory = np.full((array.shape[0] + 2, *array.shape[1:]), np.nan, np.float32)
    memory[1:-1] = array
    return memory[1:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_small_products(kind: str, modules: tuple[kina.Module, kina.Module]) -> None:
    fast, plain = modules
    for number, (m, k, n) in enumerate(SIZES):
        shape = {"nn": (3, m, k), "tn": (3, k, m), "inside": (m, 3, k)}[kind]
        rng = np.random.default_rng([m, k, n])
        x = within(rng.standard_normal(shape, np.float32))
        w = within(rng.standard_normal((3, k, n), np.float32))
        held = np.full((5, m, n), 7, np.float32)
        fast[f"{kind}{number}"](x, w, out=held[1:-1])
        wanted = plain[f"{kind}{number}"](x, w)
        assert (bits(held[1:-1]) == bits(wanted)).all(), (m, k, n)
        assert (held[[0, -1]] == 7).all()
