"""`expand-small-floats` against ml_dtypes and NumPy: every code, every rounding boundary."""

from __future__ import annotations

import ctypes
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from helpers.scalar_tools import load
from kina.backend.targets import TARGETS
from kina.passes.expand_small_floats import ExpandSmallFloats

library = load("scalar_library")

BLOCK = 4096
KINDS = {
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
}
CODE = {1: np.uint8, 2: np.uint16}


@pytest.fixture(scope="module", params=library.X86_TARGETS)
def compiled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ctypes.CDLL:
    """All conversions, built for one target."""
    if not library.cpu_runs(request.param):
        pytest.skip(f"this CPU cannot run code for {request.param}")
    functions: list[str] = []
    for kind in KINDS:
        up = [f"%r = arith.extf %v : {kind} to f32"]
        down = [f"%r = arith.truncf %v : f32 to {kind}"]
        functions.append(library.map_function(f"{kind}_up", kind, "f32", BLOCK, up))
        functions.append(library.map_function(f"{kind}_down", "f32", kind, BLOCK, down))
    path: Path = tmp_path_factory.mktemp(request.param) / "conversions.so"
    # f16 as well where an instruction exists: what v2 gets is tried everywhere
    passes = [ExpandSmallFloats(f16=True)]
    return ctypes.CDLL(
        str(library.build("\n".join(functions), passes, TARGETS[request.param], path))
    )


def run(
    compiled: ctypes.CDLL, name: str, x: npt.NDArray[np.generic], to: npt.DTypeLike
) -> npt.NDArray[np.generic]:
    """Maps an array of any length, in blocks."""
    padded = np.resize(x, -(-len(x) // BLOCK) * BLOCK)
    result = np.empty(len(padded), to)
    for start in range(0, len(padded), BLOCK):
        source, target = padded[start : start + BLOCK], result[start : start + BLOCK]
        compiled[name](ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(target.ctypes.data))
    return result[: len(x)]


def all_codes(kind: str) -> npt.NDArray[np.generic]:
    """Every value of a format."""
    size = KINDS[kind].itemsize
    return np.arange(1 << (8 * size), dtype=CODE[size]).view(KINDS[kind])


def boundaries(kind: str) -> npt.NDArray[np.float32]:
    """Every value of the format, every midpoint of neighbours, and the f32 next to each.

    The midpoint past the largest value is where the format overflows. Beside these: NaN of both
    kinds, infinities, the extremes of f32, and random bit patterns.
    """
    values = all_codes(kind).astype(np.float32)
    finite = np.unique(np.abs(values[np.isfinite(values)])).astype(np.float64)
    beyond = 2 * finite[-1] - finite[-2]  # what would follow the largest value
    steps = np.append(finite, beyond)
    middle = (steps[1:] + steps[:-1]) / 2
    with np.errstate(over="ignore"):  # beyond bfloat16's largest value lies infinity
        points = np.concatenate([steps, middle, [np.inf]]).astype(np.float32)
    up, down = np.float32(np.inf), np.float32(-np.inf)
    near = np.concatenate([points, np.nextafter(points, up), np.nextafter(points, down)])
    nan = np.uint32([0x7FC00000, 0x7F800001, 0x7FFFFFFF, 0x7FBFFFFF]).view(np.float32)
    tiny = np.uint32([0, 1, 2, 0x7FFFFF, 0x800000]).view(np.float32)
    random = np.random.default_rng(0).integers(0, 1 << 32, 100_000, np.uint32).view(np.float32)
    positive = np.concatenate([near, nan, tiny, random])
    return np.concatenate([positive, -positive])


@pytest.mark.parametrize("kind", KINDS)
def test_every_code_widens_exactly(compiled: ctypes.CDLL, kind: str) -> None:
    """Bit for bit, but a NaN is a NaN."""
    codes = all_codes(kind)
    with np.errstate(invalid="ignore"):
        expected = codes.astype(np.float32)
    result = run(compiled, f"{kind}_up", codes, np.float32)
    same = result.view(np.uint32) == expected.view(np.uint32)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    assert (same | np.isnan(expected)).all(), codes[~same]


@pytest.mark.parametrize("kind", KINDS)
def test_every_boundary_rounds_to_nearest_even(compiled: ctypes.CDLL, kind: str) -> None:
    """Bit for bit, overflow and subnormals included; every NaN is one code of either sign."""
    inputs, dtype = boundaries(kind), KINDS[kind]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        expected = inputs.astype(dtype)
    result = run(compiled, f"{kind}_down", inputs, dtype)
    code = CODE[dtype.itemsize]
    is_nan = np.isnan(expected.astype(np.float32))
    wrong = (result.view(code) != expected.view(code)) & ~is_nan
    assert not wrong.any(), (inputs[wrong][:5], result[wrong][:5], expected[wrong][:5])
    sign = code(1 << (8 * dtype.itemsize - 1))
    assert np.isnan(result[is_nan].astype(np.float32)).all()
    assert len(np.unique(result[is_nan].view(code) & ~sign)) == 1


def test_the_boundaries_hold_what_they_should() -> None:
    """448 is the largest F8E4M3; 464 lies between it and what would be 480."""
    points = set(boundaries("f8E4M3FN").tolist())
    assert {448.0, 464.0, float(np.nextafter(np.float32(464), np.float32(500)))} <= points
    assert {2.0**-10, 2.0**-9, -(2.0**-10)} <= points
    assert {65520.0, 2.0**-25} <= set(boundaries("f16").tolist())


@pytest.mark.parametrize("target", library.X86_TARGETS)
def test_storage_needs_no_conversion(target: str, tmp_path: Path) -> None:
    """Loads, stores, constants, selects and bitcasts of small floats become an object."""
    functions: list[str] = []
    for kind, dtype in KINDS.items():
        body = [
            f"%c = arith.constant 1.5 : {kind}",
            f"%b = arith.bitcast %v : {kind} to i{8 * dtype.itemsize}",
            f"%z = arith.constant 0 : i{8 * dtype.itemsize}",
            f"%k = arith.cmpi eq, %b, %z : i{8 * dtype.itemsize}",
            f"%r = arith.select %k, %c, %v : {kind}",
        ]
        functions.append(library.map_function(kind, kind, kind, 64, body))
    text = "\n".join(functions)
    assert library.build(text, [], TARGETS[target], tmp_path / "storage.so").stat().st_size
