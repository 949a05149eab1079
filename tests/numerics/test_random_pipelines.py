"""Random chains of layers with their gradients: in blocks, kernel by kernel, and in plain loops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kina
from helpers.chained import LETTERS, OTHERS, Chain, chain
from helpers.settings import SMALL, arrays, bits, machines

BLOCKS = {
    "block_rows": 7,
    "least_block_rows": 1,
    "block_bytes": 1000,
    "shared_block_bytes": 1000,
    "worth_blocks": 0,
    "grain": 1 << 8,
}


def results(module: kina.Module, name: str, given: list[np.ndarray]) -> list[np.ndarray]:
    return arrays(module[name](*given))


def check(chains: list[Chain], cache: Path) -> None:
    """In blocks and kernel by kernel to the bit, and about what plain loops give."""
    text = "\n".join(each.source() for each in chains)
    try:
        with machines({**SMALL, "block_rows": 0}, cache / "one"):
            whole = kina.compile(text, threads=False)
        with machines({**SMALL, **BLOCKS}, cache / "blocks"):
            blocks = kina.compile(text)
        plain = kina.compile(text, fast=False)
        for each in chains:
            for seed, sizes in enumerate((LETTERS, OTHERS)):
                compare(each, each.arguments(sizes, seed), whole, blocks, plain)
    except Exception as error:
        error.add_note(text)
        raise


def compare(
    each: Chain,
    given: list[np.ndarray],
    whole: kina.Module,
    blocks: kina.Module,
    plain: kina.Module,
) -> None:
    name = f"d{each.name}"
    wanted = results(whole, name, given)
    for threads in (1, 3):
        kina.set_num_threads(threads)
        for place, (mine, theirs) in enumerate(
            zip(results(blocks, name, given), wanted, strict=True)
        ):
            assert (bits(mine) == bits(theirs)).all(), (each.name, place, threads)
    for place, (mine, theirs) in enumerate(zip(wanted, results(plain, name, given), strict=True)):
        if theirs.size and np.isfinite(theirs).all():
            near = 1e-3 * max(1.0, float(np.abs(theirs).max()))
            np.testing.assert_allclose(mine, theirs, rtol=1e-2, atol=near, err_msg=str(place))


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    yield
    kina.set_num_threads(None)


def test_chains_have_the_bits_of_their_kernels(tmp_path: Path) -> None:
    check([chain(f"f{seed}", seed) for seed in (24,)], tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("start", range(1000, 1300, 10))
def test_many_chains_have_the_bits_of_their_kernels(start: int, tmp_path: Path) -> None:
    check([chain(f"f{seed}", seed) for seed in range(start, start + 10)], tmp_path)
