"""Results keep their bits from one version to the next: hashes of a version before stand in a file.

`frozen_bits.json` was written before kernels wrote their own loops. A change of a hash is a change
of the language; a NaN is a NaN, whatever its sign and payload.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kina
from helpers import same_bits_programs as programs
from helpers.same import as_tuple

pytestmark = pytest.mark.ordered

FROZEN: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("frozen_bits.json").read_text(encoding="utf-8")
)
OLD = {key.partition("/")[0] for key in FROZEN}
CHOSEN: dict[str, tuple[int, ...]] = {
    name: programs.CORE.get(name, ()) for name in programs.FUNCTIONS if name in OLD
}
"""The functions that the version before had."""
LONG = ("sum_rows", "log_softmax_rows", "stats_rows", "softmax_rows")


def hashed(results: object) -> list[str]:
    return [hashlib.sha256(canonical(r).tobytes()).hexdigest()[:16] for r in as_tuple(results)]


def canonical(array: np.ndarray) -> np.ndarray:
    array = np.array(array)
    if array.dtype.kind in "fV":
        array[np.isnan(array.astype(np.float32))] = np.nan
    return array


def results(module: kina.Module) -> Iterator[tuple[str, list[str]]]:
    signatures = {name: module[name].type for name in CHOSEN}
    calls = programs.calls(signatures, CHOSEN)
    for number, call in enumerate(calls):
        key = f"{call.function}/{call.size}/{number}"
        yield key, hashed(module[call.function](*call.arrays))
    for number, call in programs.twin_calls(calls, CHOSEN):
        yield f"{call.function}/twin{number}", hashed(module[call.function](*call.arrays))
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 300000)).astype(np.float32)
    targets = rng.integers(0, 300000, 2)
    for name in LONG:
        yield f"long/{name}", hashed(module[name](x))
    yield "long/nll", hashed(module["nll"](x, targets))
    yield "long/dnll", hashed(module["dnll"](x, targets, np.ones(2, np.float32)))


def test_results_have_the_bits_of_the_version_before() -> None:
    """All dtypes, both axes, sizes around lanes and chunks, static and symbolic, few long rows."""
    found = dict(results(kina.compile(programs.source(CHOSEN))))
    assert sorted(found) == sorted(FROZEN)
    assert [key for key in FROZEN if found[key] != FROZEN[key]] == []
