"""Every test compiles on the pipeline that it is told to use.

`KINA_TEST_PIPELINE` is `fast` (the default), `plain` for plain loops in the form of the
specification, or `plain-sample` for those on some parameters of each test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import groupby

import pytest

import kina

PIPELINE = os.environ.get("KINA_TEST_PIPELINE", "fast")
EVERY = 8
"""The sample takes the first parameter of a test and every eighth one after it."""
FAST_ONLY = (
    "test_argmax.py",
    "test_calls.py",
    "test_contractions.py",
    "test_expand_math.py",
    "test_few_long_rows.py",
    "test_folds.py",
    "test_ill_typed.py",
    "test_integer_products.py",
    "test_large_results.py",
    "test_leaks.py",
    "test_long_axes.py",
    "test_lowering_matrix.py",
    "test_masked_products.py",
    "test_matmul.py",
    "test_memory_bounds.py",
    "test_numbers.py",
    "test_peak_memory.py",
    "test_pipelines.py",
    "test_pipelines_windows.py",
    "test_process.py",
    "test_random_pipelines.py",
    "test_reproducible.py",
    "test_schedule.py",
    "test_shares.py",
    "test_small_floats.py",
    "test_vjp_small_floats.py",
    "test_written_linalg.py",
)
"""They state the order of sums, look at kernels or both pipelines, or run nothing compiled."""


@pytest.fixture(scope="session", autouse=True)
def pipeline() -> Iterator[None]:
    """Make plain loops the default of `kina.compile` and `kina.load` where that is asked for."""
    with pytest.MonkeyPatch.context() as patch:
        if PIPELINE != "fast":
            for name in ("compile", "load"):
                patch.setattr(kina, name, partial(getattr(kina, name), fast=False))
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if PIPELINE == "fast":
        return
    both = [
        item
        for item in items
        if item.path.name not in FAST_ONLY and item.get_closest_marker("ordered") is None
    ]
    chosen = list(_sampled(both)) if PIPELINE == "plain-sample" else both
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def _sampled(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    for _, group in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        yield from list(group)[::EVERY]
