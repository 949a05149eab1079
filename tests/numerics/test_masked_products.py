"""What a mask keeps out of products is not computed, and every bit is as if it had been.

The oracle are the kernels one by one, which compute all of it. One module holds the programs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import kina
from helpers.settings import SMALL, arrays, bits, machines
from kina.backend.lowering import lower
from kina.backend.options import Options
from kina.backend.stages import checked
from kina.frontend.source import Source

HEAD = """
let {name} = fn(q: tensor<F32, [B, T, K]>, k: tensor<F32, [B, T, K]>, v: tensor<F32, [B, T, K]>)
    -> tensor<F32, [B, T, K]> {{
  let scores = q.matmul(k.transpose([0, 2, 1])) * 0.3 in
  let row = iota([T, T], axis=0) in
  let column = iota([T, T], axis=1) in
  {masked}.softmax(axis=2).matmul(v)
}}
"""
MASKS = {
    "causal": "(column <= row).broadcast([B, T, T]).select(scores, -inf)",
    "reversed": "(column > row + 1).broadcast([B, T, T])"
    ".select(tensor<F32, [B, T, T]>(-inf), scores.tanh())",
    "window": "(column <= row && !(row - column >= 21)).broadcast([B, T, T]).select(scores, -inf)",
    "ends": "(row < column || row == 0).broadcast([B, T, T]).select(scores, -inf)",
}
PADDED = """
let padded = fn(q: tensor<F32, [B, T, K]>, k: tensor<F32, [B, T, K]>, v: tensor<F32, [B, T, K]>,
    valid: tensor<Bool, [B, T]>) -> tensor<F32, [B, T, K]> {
  let seen = valid.reshape([B, 1, T]).broadcast([B, T, T]) in
  seen.select(q.matmul(k.transpose([0, 2, 1])), -inf).softmax(axis=2).matmul(v)
}
"""
WITH_GRADIENTS = ("causal", "padded")
"""A gradient takes longer to compile than three masks."""
SOURCE = "".join(HEAD.format(name=name, masked=mask) for name, mask in MASKS.items()) + PADDED
SOURCE += "".join(f"let d{name} = reverseMode({name})\n" for name in WITH_GRADIENTS)
SETTINGS: dict[str, dict[str, int]] = {
    "kernel by kernel": {**SMALL, "block_rows": 0},
    "usual": {},
    "absurd": {
        "block_rows": 7,
        "least_block_rows": 1,
        "block_bytes": 1000,
        **SMALL,
    },
}
KEPT_OUT = "left out: tiles of which a mask keeps everything out"
ZEROS = "left out: zeros at both ends of the axis"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, kina.Module]]:
    """The programs as each machine runs them."""
    made: dict[str, kina.Module] = {}
    for name, settings in SETTINGS.items():
        with machines(settings, tmp_path_factory.mktemp("cache")):
            made[name] = kina.compile(SOURCE)
    yield made
    kina.set_num_threads(None)


def arguments(name: str, size: int, kind: str) -> list[np.ndarray]:
    """Ordinary numbers; products that vanish below zero; NaN and infinities."""
    rng = np.random.default_rng(size)
    shape = (2, size, 24)
    q, k, v, cotangent = (rng.standard_normal(shape, np.float32) for _ in range(4))
    if kind == "vanishing":
        v = np.where(v > 0.5, np.float32(1e-45), np.float32(-1e-45))
        cotangent[:, ::2] = -1e-45
    if kind == "special":
        q[0, size // 2], k[0, -1, 3], k[1, 0] = np.inf, np.nan, -np.inf
        v[0, -1], v[1, size // 3, 5], cotangent[1, -1, 0] = np.nan, np.inf, np.nan
    given = [q, k, v]
    if name.endswith("padded"):
        given.append(np.arange(size) < np.array([[max(size // 3, 1)], [size]]))
    return [*given, cotangent] if name.startswith("d") else given


@pytest.mark.parametrize("kind", ["ordinary", "vanishing", "special"])
@pytest.mark.parametrize("name", [*MASKS, "padded"])
def test_what_is_left_out_changes_no_bit(
    name: str, kind: str, modules: dict[str, kina.Module]
) -> None:
    for function in (name, f"d{name}")[: 1 + (name in WITH_GRADIENTS)]:
        for size in (1, 40, 131):
            given = arguments(function, size, kind)
            wanted = arrays(modules["kernel by kernel"][function](*given))
            for machine, threads in (("usual", 1), ("usual", 3), ("absurd", 2)):
                kina.set_num_threads(threads)
                got = arrays(modules[machine][function](*given))
                for number, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
                    assert (bits(mine) == bits(theirs)).all(), (
                        machine,
                        threads,
                        function,
                        size,
                        number,
                    )


def test_a_masked_key_is_not_even_read(modules: dict[str, kina.Module]) -> None:
    """NaN in a key and in its query is seen by its own position and those behind it alone."""
    q, k, v = arguments("causal", 100, "ordinary")
    wanted = modules["usual"].causal(q, k, v)
    k[:, 60:] = np.nan
    got = modules["usual"].causal(q, k, v)
    assert (got[:, :60] == wanted[:, :60]).all()
    assert np.isnan(got[:, 60:]).all()


def test_the_schedule_says_what_is_left_out() -> None:
    options = Options("x86-64-v4", threads=False)
    found: dict[str, set[str]] = {}
    name = ""
    for line in lower(checked(Source("t.kina", SOURCE), options), options).kernels:
        name, _, same = line.partition(": as ") if line.startswith("kina_") else (name, "", "")
        name = name.split(":")[0]
        found.setdefault(name, set()).update(found.get(same, ()))
        found[name] |= {line.strip()} & {KEPT_OUT, ZEROS}
    for mask, wanted in {
        "causal": {KEPT_OUT, ZEROS},
        "reversed": {KEPT_OUT, ZEROS},
        "dcausal": {KEPT_OUT, ZEROS},
        "window": {KEPT_OUT, ZEROS},
        "ends": {ZEROS},
        "padded": {ZEROS},
    }.items():
        kernels = [what for name, what in found.items() if name.startswith(f"kina_{mask}$")]
        assert set().union(*kernels) == wanted, mask
