"""The kernels of every example and benchmark: where they allocate, what is not vectorised."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from kina.backend import ir_text, lowering
from kina.backend.options import Options
from kina.backend.stages import checked
from kina.frontend.source import Source

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    path
    for path in [*ROOT.glob("examples/**/*.kina"), *ROOT.glob("benchmarks/programs/**/*.kina")]
    if not path.name.startswith("invalid_") and "import " not in path.read_text()
]
"""What imports is made of functions of these."""


@cache
def modules(*, fast: bool, each: int) -> tuple[list[ModuleOp], dict[str, list[str]]]:
    """What goes to mlir-opt, and the words about the kernels of some or all programs."""
    shown: list[ModuleOp] = []
    lines: dict[str, list[str]] = {}

    def kept(module: ModuleOp, **_: object) -> str:
        module.verify()
        shown.append(module)
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ir_text, "show", kept)
        for path in PROGRAMS[::each]:
            options = Options("x86-64-v3", fast=fast)
            program = checked(Source.read(path), options)
            name = path.relative_to(ROOT).as_posix()
            lines[name] = [*lowering.lower(program, options).kernels]
    return shown, lines


def in_loop(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.ForOp):
        parent = parent.parent_op()
    return parent is not None


def is_freed(op: memref.AllocaOp | memref.AllocOp) -> bool:
    """Whether memory is given back where it was taken."""
    frees = [use.operation for use in op.results[0].uses]
    return any(isinstance(f, memref.DeallocOp) and f.parent == op.parent for f in frees)


def is_compared(op: memref.AllocOp) -> bool:
    """Whether the address becomes an integer that is compared."""
    addresses = [use.operation for use in op.memref.uses]
    return any(
        isinstance(use.operation, arith.CmpiOp)
        for address in addresses
        if isinstance(address, memref.ExtractAlignedPointerAsIndexOp)
        for use in address.results[0].uses
    )


@pytest.mark.parametrize(
    ("fast", "each"), [(True, 1), (False, 4), pytest.param(False, 1, marks=pytest.mark.sweep)]
)
def test_allocations(fast: bool, each: int) -> None:
    found, _ = modules(fast=fast, each=each)
    ops = [op for module in found for op in module.walk()]
    stack = [op for op in ops if isinstance(op, memref.AllocaOp)]
    heap = [op for op in ops if isinstance(op, memref.AllocOp)]
    assert stack
    assert heap
    grows = [op for op in [*stack, *heap] if in_loop(op) and not is_freed(op)]
    assert not grows, "the frame or the heap grows at every turn"
    assert all(map(is_compared, heap)), "an allocation that nobody checks"


APART_BY_NATURE = {
    "examples/blocks/attention.kina",
    "examples/losses/ppo.kina",
    "benchmarks/programs/symbolic/top_k_f32.kina",
    "examples/cluster/score.kina",
    "benchmarks/programs/top_k_1x128x151936.kina",
    "examples/sampling/draw.kina",
    "examples/storylm0/layers.kina",
    "examples/smollm2/layers.kina",
}
APART = """let f = fn(x: tensor<F32, [N, M]>) -> tensor<F32, [M, N]> {
  let y = x.transpose([1, 0]) in
  y * y
}"""


def test_what_goes_element_by_element() -> None:
    """Picked elements that are computed with, and heads apart; a transposed read is counted."""
    _, lines = modules(fast=True, each=1)
    assert len(PROGRAMS) > 25
    apart = {name for name, words in lines.items() if any("not vectorised" in w for w in words)}
    assert apart == APART_BY_NATURE
    options = Options("x86-64-v3")
    kernels = lowering.lower(checked(Source("t.kina", APART), options), options).kernels
    assert any("not vectorised: reads apart" in line for line in kernels), kernels
