"""The emulated fused multiply-add: the bits of the instruction, in every shape it is called in."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from kina.backend import codegen, fma
from kina.backend.targets import TARGETS, host_cpu

STEP = 64
MODULE = """
define i32 @kina_f(ptr %a, ptr %b, ptr %c, ptr %out, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %pa = getelementptr float, ptr %a, i64 %i
  %pb = getelementptr float, ptr %b, i64 %i
  %pc = getelementptr float, ptr %c, i64 %i
  %po = getelementptr float, ptr %out, i64 %i
  %x = load TYPE, ptr %pa, align 4
  %y = load TYPE, ptr %pb, align 4
  %z = load TYPE, ptr %pc, align 4
  %r = call TYPE @llvm.fma.NAME(TYPE %x, TYPE %y, TYPE %z)
  store TYPE %r, ptr %po, align 4
  %next = add i64 %i, LANES
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 0
}
declare TYPE @llvm.fma.NAME(TYPE, TYPE, TYPE)
"""


def module(lanes: int) -> str:
    """A function that multiplies and adds `lanes` elements at a time."""
    type_, name = (f"<{lanes} x float>", f"v{lanes}f32") if lanes > 1 else ("float", "f32")
    return MODULE.replace("TYPE", type_).replace("NAME", name).replace("LANES", str(lanes))


def operands(count: int) -> list[np.ndarray]:
    """Any bits, and sums that nearly cancel: where a second rounding shows."""
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(0, 2**32, (3, count), dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        nearly = -a.astype(np.float64) * b * (1 + rng.integers(-3, 4, count) * 2.0**-30)
        c[::2] = nearly[::2].astype(np.float32)
    return [a, b, c]


def run(text: str, target: str, folder: Path, arrays: list[np.ndarray]) -> np.ndarray:
    """The result of the function compiled for `target`."""
    optimised = codegen.optimise(text, TARGETS[target], ["kina_f"])
    folder.mkdir()
    codegen.to_object(optimised, TARGETS[target], folder / "f.o")
    codegen.link([folder / "f.o"], folder / "f.so", TARGETS[target])
    out = np.empty_like(arrays[0])
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, out)]
    ctypes.CDLL(str(folder / "f.so")).kina_f(*pointers, ctypes.c_int64(out.size))
    return out


@pytest.mark.parametrize("lanes", [1, 4, 64])
def test_emulation_has_the_bits_of_the_instruction(lanes: int, tmp_path: Path) -> None:
    if "fma" not in host_cpu().split():
        pytest.skip("this CPU has no fused multiply-add to compare with")
    arrays = operands(STEP * 4000)
    expected = run(module(lanes), "native", tmp_path / "native", arrays)
    result = run(module(lanes), "x86-64-v2", tmp_path / "emulated", arrays)
    same = result.view(np.uint32) == expected.view(np.uint32)
    assert (same | (np.isnan(result) & np.isnan(expected))).all()


def test_one_function_for_each_shape_and_no_intrinsic() -> None:
    text = fma.emulate(module(64) + module(1).replace("@kina_f", "@kina_g"))
    assert "llvm.fma" not in text
    assert text.count("define internal <64 x float> @kina.fma.64(") == 1
    assert text.count("define internal float @kina.fma.1(") == 1


def test_a_module_without_it_is_left_alone() -> None:
    assert fma.emulate("define void @f() {\n  ret void\n}\n").count("define") == 1
