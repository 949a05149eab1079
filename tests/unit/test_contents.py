"""What may stand after each pass is checked, and a wrong operation is named with its stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from xdsl.dialects import arith, cf, math, memref
from xdsl.dialects.builtin import ModuleOp, f32, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region

from helpers.same_bits_programs import CORE, source
from kina.backend import contents, pipeline
from kina.backend.contents import AFTER, KERNEL, check_contents
from kina.backend.lowering import lower
from kina.backend.options import Options
from kina.backend.stages import checked
from kina.errors import KinaError
from kina.frontend.source import Source
from kina.machine import MACHINES
from kina.passes import expand_math
from kina.universe import KINA_UNIVERSE


def module_with(*ops: Operation, name: str = "f") -> ModuleOp:
    return ModuleOp([FuncOp(name, ([], []), Region(Block(ops)))])


def exponential() -> tuple[Operation, ...]:
    one = arith.ConstantOp.from_int_and_width(1, 32)
    number = arith.BitcastOp(one, f32)
    return one, number, math.ExpOp(number)


def test_every_pass_of_both_pipelines_has_its_row() -> None:
    passes = {
        name
        for machine in MACHINES.values()
        for fast in (True, False)
        for name in (*pipeline.INLINE, *pipeline.to_code(fast=fast, machine=machine))
    }
    assert passes == AFTER.keys() == KINA_UNIVERSE.all_passes.keys()


def test_a_wrong_operation_is_named_with_its_stage() -> None:
    check_contents(module_with(*exponential()), "assert-to-status")
    with pytest.raises(KinaError, match=r"^math\.exp is left after expand-math, which may not"):
        check_contents(module_with(*exponential()), "expand-math")


def test_checks_end_in_statuses() -> None:
    true = arith.ConstantOp.from_int_and_width(-1, i1)
    module = module_with(true, cf.AssertOp(true, "no"))
    check_contents(module, "check-sizes")
    with pytest.raises(KinaError, match=r"cf\.assert is left after assert-to-status"):
        check_contents(module, "assert-to-status")


def test_kernels_do_not_allocate() -> None:
    check_contents(module_with(memref.AllocOp.get(f32, 64, [8])), "schedule-cpu")
    with pytest.raises(KinaError, match=r"memref\.alloc is left after schedule-cpu"):
        check_contents(module_with(memref.AllocOp.get(f32, 64, [8]), name="f$0"), "schedule-cpu")
    assert KERNEL.holds("vector.load")
    assert not KERNEL.holds("linalg.generic")


def test_a_pass_that_forgets_an_operation_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the pipeline, with the place in the program."""
    kept = {op: made for op, made in expand_math.EXPANSIONS.items() if op is not math.LogOp}
    monkeypatch.setattr(expand_math, "EXPANSIONS", kept)
    program = Source("t.kina", "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x.log() }")
    with pytest.raises(KinaError, match=r"t\.kina:1:57: error: math\.log is left after expand-m"):
        lower(checked(program, Options()), Options())
    monkeypatch.setenv(contents.VARIABLE, "0")
    assert "math.log" in lower(checked(program, Options()), Options()).code


FEW = {"nll": (65,), "dnll": (), "scans_inner": (), "stats_F16": (), "matmul_BF16": (), "draws": ()}


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v4"])
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    "chosen", [FEW, pytest.param(CORE, marks=pytest.mark.sweep)], ids=["few", "core"]
)
def test_programs_pass(chosen: Mapping[str, Sequence[int]], target: str, fast: bool) -> None:
    assert contents.is_on()
    options = Options(target, fast=fast)
    assert lower(checked(Source("t.kina", source(chosen)), options), options).functions
