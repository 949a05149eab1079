"""A machine's model decides how fast programs are, and not one bit of what they compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kina
from helpers.same_bits_programs import arguments, source
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.machine import MACHINES, Machine

CHOSEN: dict[str, tuple[int, ...]] = {
    "log_softmax_rows": (65, 1000),
    "log_softmax_columns": (65,),
    "sum_rows": (16385,),
    "sum_columns": (130,),
    "stats_rows": (65,),
    "nll": (65, 1000),
    "dnll": (65,),
    "matmul_deep": (65,),
    "matmul_wide": (65,),
    "dmatmul": (),
    "matmul_I8": (65,),
    "matmul_rows_I8": (65,),
}
SIZES = (63, 64, 1000, 16385)
ABSURD = {
    "streams all": Machine(
        streamed=64,
        long_row=64,
        next_row=(1, 1 << 30),
        first_level=1,
        small=1,
        grain=1,
        cheap=0,
        short_body=0,
        tile_rows=3,
        tile_columns=8,
        tile_depth=7,
        tiles=1,
        few_rows=1,
        near=0,
        least_columns=1,
        chains=1,
        block_rows=1,
        least_block_rows=1,
        block_bytes=1,
        shared_block_bytes=1,
        worth_blocks=0,
    ),
    "streams nothing": Machine(
        streamed=1 << 60,
        next_row=(0, 0),
        cheap=1000,
        costly=1,
        access=1000,
        many_rows=1,
        deep=8,
        lanes_count=True,
        masks=False,
        short_body=1000,
        whole_body=10,
        piece=16,
        tiles=1,
        few_rows=3,
        least_columns=1 << 60,
        block_rows=0,
    ),
    "narrow": Machine(
        band=16,
        narrow_bands=(4, 1),
        links=1,
        ahead=64,
        steps_ahead=1,
        access=0,
        deep=8,
        stack=0,
        apart=1024,
        contest=16,
        lanes_count=True,
        masks=False,
        short_body=0,
        whole_body=0,
        piece=8,
        tile_rows=1,
        tile_columns=64,
        tile_depth=100,
        tiles=2,
        few_rows=8,
        near=0,
        short_row=1 << 60,
        rows_ahead=1,
        least_columns=1,
        chains=16,
        block_rows=33,
        least_block_rows=33,
        worth_blocks=0,
    ),
}  # fmt: skip
DOTS: dict[str, dict[str, int]] = {
    "streams all": {"tile_rows": 3, "tile_columns": 32, "depth": 16, "block": 1},
    "streams nothing": {"tile_rows": 1, "tile_columns": 64, "depth": 32, "block": 1 << 14},
    "narrow": {"tile_rows": 5, "tile_columns": 32, "depth": 1 << 12, "block": 100},
}
"""Tiles of dot products, of instructions that the machine has."""
Results = Mapping[tuple[str, int], list[bytes]]


def results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """The bits of every call, compiled afresh."""
    monkeypatch.setenv("KINA_CACHE", str(folder))
    text = source(CHOSEN)
    module, signatures = kina.compile(text), check(Source("t.kina", text)).signatures
    found: dict[tuple[str, int], list[bytes]] = {}
    for name, twins in CHOSEN.items():
        calls = [(name, size) for size in SIZES] + [(f"{name}_{size}", size) for size in twins]
        for function, size in calls:
            got = module[function](*arguments(signatures[function], size))
            arrays = got if isinstance(got, tuple) else (got,)
            found[function, size] = [np.asarray(array).tobytes() for array in arrays]
    return found


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What the usual machine computes."""
    with pytest.MonkeyPatch.context() as patch:
        return results(tmp_path_factory.mktemp("usual"), patch)


@pytest.mark.parametrize("machine", ABSURD)
def test_two_machines_give_the_same_bits(
    machine: str, usual: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, known in MACHINES.items():
        dots = known.dots and replace(known.dots, **DOTS[machine])
        has = {"has_fma": known.has_fma, "has_halves": known.has_halves, "dots": dots}
        monkeypatch.setitem(MACHINES, name, replace(ABSURD[machine], **has))
    got = results(tmp_path, monkeypatch)
    assert got.keys() == usual.keys()
    assert [call for call in got if got[call] != usual[call]] == []
