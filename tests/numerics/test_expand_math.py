"""`expand-math` against float64: accuracy, special values, the same bits on every target.

`tools/ulp_sweep.py` does this for all 2^32 inputs; here are a stride of them and all the places
where the code changes its mind.
"""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from helpers.scalar_tools import load
from kina.backend.targets import TARGETS
from kina.passes.expand_math import NONPOSITIVE, SUMMED

library = load("scalar_library")
ulp_sweep = load("ulp_sweep")

BLOCK = 4096
EXACT = {"erf": np.vectorize(math.erf, otypes=[np.float64])}
"""What NumPy lacks."""
Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ctypes.CDLL]:
    """Every function and the short forms of exp, of every target that this CPU runs, and native."""
    folder = tmp_path_factory.mktemp("expand_math")
    built: dict[str, ctypes.CDLL] = {}
    for target in filter(library.cpu_runs, library.X86_TARGETS):
        built[target] = ctypes.CDLL(str(ulp_sweep.library(target, folder)))
        for note, name in {NONPOSITIVE: "short", SUMMED: "summed"}.items():
            short = ulp_sweep.library(target, folder, note)
            built[f"{target} {name}"] = ctypes.CDLL(str(short))
    return built


@pytest.mark.parametrize("target", library.X86_TARGETS)
def test_every_target_is_compared(libraries: dict[str, ctypes.CDLL], target: str) -> None:
    """Says in the report which targets this CPU leaves out."""
    if not library.cpu_runs(target):
        pytest.skip(f"this CPU cannot run code for {target}")
    assert {target, f"{target} short", f"{target} summed"} <= libraries.keys()


def run(compiled: ctypes.CDLL, name: str, *operands: Floats) -> Floats:
    """Maps arrays of any length, in blocks."""
    size = len(operands[0])
    padded = [np.resize(x, -(-size // BLOCK) * BLOCK) for x in operands]
    result = np.empty(len(padded[0]), np.float32)
    for start in range(0, len(result), BLOCK):
        parts = [array[start : start + BLOCK] for array in (*padded, result)]
        compiled[name](*(ctypes.c_void_p(part.ctypes.data) for part in parts))
    return result[:size]


ODD = ("expm1", "log1p", "tanh", "erf")
"""Functions that are 0 at 0, with its sign; all but erf have slope 1 there."""


def inputs() -> Floats:
    """A stride through all bit patterns, and the neighbourhood of every threshold."""
    stride = np.arange(0, 1 << 32, 8209, dtype=np.uint64).astype(np.uint32)
    thresholds = np.float32([0, 2**-149, 2**-126, 0.69, 1, 1.38, 64, 88.72284, 89, np.inf])
    near_zero = np.float32([-87.33655, -103.97208, -104.32, -104.5])  # where exp underflows
    # where the others change their form, or reach their limit
    others = np.float32([2**-25, 2**-12, 0.9, 4, 10, 17.25, 20, 25])
    thresholds = np.concatenate([thresholds, near_zero, others])
    near = (thresholds.view(np.uint32)[:, None].astype(np.int64) + np.arange(-50, 51)).ravel()
    halves = (np.arange(-151, 129) + 0.5) * np.log(2)  # where exp changes its exponent
    powers = 2.0 ** np.arange(-149, 128) * 1.38  # where log does
    bits = np.concatenate([stride, (near % (1 << 32)).astype(np.uint32)]).view(np.float32)
    places = np.concatenate([halves, halves / 2, powers, powers - 1]).astype(np.float32)
    points = np.concatenate([bits, -bits, places])
    return np.append(points, np.float32([np.nan, -np.nan, np.inf, -np.inf]))


def short_form(library_name: str) -> bool:
    """Whether it holds a short form of exp, and nothing else."""
    return " " in library_name


def within(library_name: str, x: Floats) -> npt.NDArray[np.bool_]:
    """Where a form of exp promises the bits of the long one."""
    small = np.isnan(x) | (x <= 64)
    limits = {"short": small, "summed": small & ~(x < -86)}
    return limits.get(library_name.rpartition(" ")[2], np.ones_like(small))


def ulps(result: Floats, exact: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Errors in units in the last place; infinity counts as 2^128, as rounding sees it."""
    with np.errstate(over="ignore", invalid="ignore"):
        unit = np.exp2(np.clip(np.floor(np.log2(np.abs(exact))), -126, 127) - 23)
        value = np.clip(result.astype(np.float64), -(2.0**128), 2.0**128)
        return np.abs(value - np.clip(exact, -(2.0**128), 2.0**128)) / unit


@pytest.mark.parametrize("name", ulp_sweep.FUNCTIONS)
def test_within_one_ulp(libraries: dict[str, ctypes.CDLL], name: str) -> None:
    """Of float64, subnormals and overflow included; NaN exactly where float64 has it."""
    x = inputs()
    with np.errstate(all="ignore"):
        exact = EXACT.get(name, getattr(np, name, None))(x.astype(np.float64))
    result = run(libraries["native"], name, x)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    known = np.isfinite(exact) & (exact != 0)
    errors = ulps(result[known], exact[known])
    assert errors.max() <= 1, (errors.max(), x[known][errors.argmax()])
    # 0.99 would hide a coefficient that is off: most results are the nearest float32
    assert np.count_nonzero(errors > 0.5) < 0.01 * len(errors)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("exp", "0x0p0", "0x1p0"),
        ("exp", "-0x0p0", "0x1p0"),
        ("exp", "inf", "inf"),
        ("exp", "-inf", "0x0p0"),
        ("exp", "0x1.62e42ep6", "0x1.ffff08p127"),  # the last one that does not overflow
        ("exp", "0x1.62e430p6", "inf"),
        ("exp", "-0x1.9fe368p6", "0x1p-149"),  # the last one that does not underflow
        ("exp", "-0x1.9fe36ap6", "0x0p0"),
        ("log", "0x1p0", "0x0p0"),
        ("log", "0x0p0", "-inf"),
        ("log", "-0x0p0", "-inf"),
        ("log", "inf", "inf"),
        ("log", "-0x1p-149", "nan"),
        ("log", "-inf", "nan"),
        ("log", "0x1p-149", "-0x1.9d1da0p6"),
        ("log", "0x1.fffffep127", "0x1.62e430p6"),
        *((name, zero, zero) for name in ODD for zero in ("0x0p0", "-0x0p0")),
        *((name, tiny, tiny) for name in ODD[:-1] for tiny in ("0x1p-149", "-0x1p-126")),
        ("expm1", "inf", "inf"),
        ("expm1", "-inf", "-0x1p0"),
        ("expm1", "0x1.62e42ep6", "0x1.ffff08p127"),
        ("expm1", "0x1.62e430p6", "inf"),
        ("log1p", "inf", "inf"),
        ("log1p", "-0x1p0", "-inf"),
        ("log1p", "-0x1.000002p0", "nan"),
        ("log1p", "-inf", "nan"),
        ("log1p", "0x1.fffffep127", "0x1.62e430p6"),
        ("tanh", "inf", "0x1p0"),
        ("tanh", "-inf", "-0x1p0"),
        ("erf", "inf", "0x1p0"),
        ("erf", "-inf", "-0x1p0"),
    ],
)
def test_special_values(
    libraries: dict[str, ctypes.CDLL], name: str, x: str, expected: str
) -> None:
    """Each by its bits; zeros have the right sign."""
    value, wanted = (np.float32([float.fromhex(text)]) for text in (x, expected))
    for library_name, compiled in libraries.items():
        if short_form(library_name) and (name != "exp" or not within(library_name, value).all()):
            continue
        result = run(compiled, name, value)
        np.testing.assert_array_equal(result, wanted, err_msg=library_name)
        assert np.isnan(wanted[0]) or np.signbit(result[0]) == np.signbit(wanted[0])


def test_a_nan_stays_one_whatever_its_payload(libraries: dict[str, ctypes.CDLL]) -> None:
    """Quiet and signalling, of both signs."""
    payloads = np.arange(1, 1 << 23, 4099, dtype=np.uint32)
    nans = np.concatenate([payloads | 0x7F800000, payloads | 0xFF800000]).view(np.float32)
    for library_name, compiled in libraries.items():
        for name in ("exp",) if short_form(library_name) else ulp_sweep.FUNCTIONS:
            assert np.isnan(run(compiled, name, nans)).all()


@pytest.mark.parametrize("name", ulp_sweep.FUNCTIONS)
def test_same_bits_on_every_target(libraries: dict[str, ctypes.CDLL], name: str) -> None:
    """The emulated fma and the short forms included."""
    x = inputs()
    expected = run(libraries["native"], name, x)
    for library_name, compiled in libraries.items():
        if name != "exp" and short_form(library_name):
            continue
        promised = within(library_name, x)
        asked, wanted = x[promised], expected[promised]
        result = run(compiled, name, asked)
        same = (result.view(np.uint32) == wanted.view(np.uint32)) | np.isnan(wanted)
        assert same.all(), (library_name, asked[~same][:5])


def test_summed_exp_is_never_subnormal(libraries: dict[str, ctypes.CDLL]) -> None:
    """Far below, it is what it is at -86: nothing, next to 1, and the same on every target."""
    x = np.float32(
        [-86, np.nextafter(np.float32(-86), np.float32(-87)), -87.4, -104, -1e30, -np.inf]
    )
    for library_name, compiled in libraries.items():
        if library_name.endswith("summed"):
            result = run(compiled, "exp", x)
            assert result[0] >= np.finfo(np.float32).tiny
            assert (result == result[0]).all(), library_name


@pytest.mark.parametrize("target", library.X86_TARGETS)
def test_vectorises_without_calls(target: str, tmp_path: Path) -> None:
    """No call, and arithmetic on whole vectors."""
    assembly = ulp_sweep.library(target, tmp_path).with_suffix(".s").read_text()
    assert "call" not in assembly
    expected = {"x86-64-v2": "mulpd", "x86-64-v3": "vfmadd213ps"}
    assert expected.get(target, "vfmadd213ps") in assembly


FMA = """
  func.func @fma(%a: memref<4096xf32>, %b: memref<4096xf32>, %c: memref<4096xf32>,
                 %y: memref<4096xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %end = arith.constant 4096 : index
    scf.for %i = %zero to %end step %one {
      %u = memref.load %a[%i] : memref<4096xf32>
      %v = memref.load %b[%i] : memref<4096xf32>
      %w = memref.load %c[%i] : memref<4096xf32>
      %r = math.fma %u, %v, %w : f32
      memref.store %r, %y[%i] : memref<4096xf32>
    }
    func.return
  }"""


def fma_operands() -> tuple[Floats, Floats, Floats]:
    """Random ones, ones that nearly cancel, ones that round twice in float64, special values."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, (3, 200_000), np.uint32).view(np.float32)
    near = rng.standard_normal((3, 200_000)).astype(np.float32)
    near[2] = -near[0] * near[1]
    # half the last place of c, less by too little for float64: (1 + d) * (1 - d) = 1 - d^2
    d = rng.integers(1, 300, 200_000) * 2.0**-23
    sign = rng.choice([-1, 1], (2, 200_000))
    wide = np.stack([sign[0] * (1 + d), 2.0**-24 * (1 - d), sign[1] * rng.uniform(1, 2, 200_000)])
    tiny = near * np.float32(2.0**-70)  # products that are subnormal
    tiny[2] *= np.float32(2.0**-66)
    corners = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3e38, 1e-45, 2**-126])
    special = np.stack([axis.ravel() for axis in np.meshgrid(corners, corners, corners)])
    every = np.concatenate([bits, near, wide.astype(np.float32), tiny, special], axis=1)
    return every[0], every[1], every[2]


def test_emulated_fma_is_the_instruction(tmp_path: Path) -> None:
    """Bit for bit, subnormals, overflow and signed zeros included."""
    if TARGETS["native"].emulates:
        pytest.skip("this CPU has no fused multiply-add to compare with")
    native = library.build(FMA, [], TARGETS["native"], tmp_path / "native.so")
    emulated = library.build(FMA, [], TARGETS["x86-64-v2"], tmp_path / "emulated.so")
    operands = fma_operands()
    expected = run(ctypes.CDLL(str(native)), "fma", *operands)
    result = run(ctypes.CDLL(str(emulated)), "fma", *operands)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    wrong = (result.view(np.uint32) != expected.view(np.uint32)) & ~np.isnan(expected)
    assert not wrong.any(), [x[wrong][:3] for x in (*operands, result, expected)]
