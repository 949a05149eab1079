"""The emulated fused multiply-add: the bits of the instruction, in every shape it is called in."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from kina.backend import codegen, linking
from kina.backend.ir_text import show
from kina.backend.targets import TARGETS, host_cpu
from kina.passes.expand_fma import PIECE, PREFIX, ExpandFma

COUNT = 64 * 4000
MODULE = """
func.func @kina_f(%a: {memory}, %b: {memory}, %c: {memory}, %out: {memory}) -> i32 {{
  %first = arith.constant 0 : index
  %count = arith.constant {count} : index
  %step = arith.constant {lanes} : index
  scf.for %i = %first to %count step %step {{
    %x = {load} %a[%i] : {memory}{kind}
    %y = {load} %b[%i] : {memory}{kind}
    %z = {load} %c[%i] : {memory}{kind}
    %r = math.fma %x, %y, %z : {element}
    {store} %r, %out[%i] : {memory}{kind}
  }}
  %done = arith.constant 0 : i32
  func.return %done : i32
}}
"""


def module(lanes: int) -> ModuleOp:
    """A function that multiplies and adds `lanes` elements at a time."""
    element = f"vector<{lanes}xf32>" if lanes > 1 else "f32"
    text = MODULE.format(
        memory=f"memref<{COUNT}xf32>",
        element=element,
        kind=f", {element}" if lanes > 1 else "",
        load="vector.load" if lanes > 1 else "memref.load",
        store="vector.store" if lanes > 1 else "memref.store",
        count=COUNT,
        lanes=lanes,
    )
    context = Context()
    for dialect in (
        *(arith.Arith, builtin.Builtin, func.Func, math.Math),
        *(memref.MemRef, scf.Scf, vector.Vector),
    ):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def emulated(lanes: int) -> ModuleOp:
    """The same without the instruction."""
    expanded = module(lanes)
    ExpandFma().apply(Context(), expanded)
    expanded.verify()
    return expanded


def operands() -> list[np.ndarray]:
    """Any bits, and sums that nearly cancel: where a second rounding shows."""
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(0, 2**32, (3, COUNT), dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        nearly = -a.astype(np.float64) * b * (1 + rng.integers(-3, 4, COUNT) * 2.0**-30)
        c[::2] = nearly[::2].astype(np.float32)
    return [a, b, c]


def run(made: ModuleOp, target: str, folder: Path, arrays: list[np.ndarray]) -> np.ndarray:
    """The result of the function compiled for `target`."""
    llvm_ir = codegen.to_llvm_ir(show(made))
    optimised = codegen.optimise(llvm_ir, TARGETS[target], ["kina_f"])
    folder.mkdir()
    codegen.to_object(optimised, TARGETS[target], folder / "f.o")
    linking.link([folder / "f.o"], folder / "f.so", TARGETS[target])
    out = np.empty_like(arrays[0])
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, out)]
    assert ctypes.CDLL(str(folder / "f.so")).kina_f(*pointers) == 0
    return out


@pytest.mark.parametrize("lanes", [1, 4, 64])
def test_emulation_has_the_bits_of_the_instruction(lanes: int, tmp_path: Path) -> None:
    if "fma" not in host_cpu().split():
        pytest.skip("this CPU has no fused multiply-add to compare with")
    arrays = operands()
    expected = run(module(lanes), "native", tmp_path / "native", arrays)
    result = run(emulated(lanes), "x86-64-v2", tmp_path / "emulated", arrays)
    same = result.view(np.uint32) == expected.view(np.uint32)
    assert (same | (np.isnan(result) & np.isnan(expected))).all()
    assert np.count_nonzero(np.isfinite(expected)) > COUNT // 3


@pytest.mark.parametrize(
    ("lanes", "of_function", "calls"), [(1, 1, 1), (4, 4, 1), (PIECE, PIECE, 1), (64, PIECE, 4)]
)
def test_one_function_for_each_shape(lanes: int, of_function: int, calls: int) -> None:
    """Long vectors go through that for pieces."""
    made = emulated(lanes)
    names = [op.sym_name.data for op in made.ops if isinstance(op, func.FuncOp)]
    assert names == ["kina_f", f"{PREFIX}${of_function}"]
    called = [op.callee.string_value() for op in made.walk() if isinstance(op, func.CallOp)]
    assert called == [names[1]] * calls
    assert not any(isinstance(op, math.FmaOp) for op in made.walk())


def test_vectors_stay_out_of_line_and_scalars_do_not() -> None:
    assert 'passthrough = ["noinline"]' in str(emulated(4))
    assert 'passthrough = ["alwaysinline"]' in str(emulated(1))


def test_a_module_without_it_is_left_alone() -> None:
    made = emulated(4)
    before = str(made)
    ExpandFma().apply(Context(), made)
    assert str(made) == before
