"""Says in words what a kernel is: its loops, its walks, what it moves, what is no vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xdsl.ir import SSAValue

from kina.passes.derived_sizes import derived
from kina.passes.kernels.function import KernelFunction
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import canonical_dim
from kina.passes.scheduling.join import combination
from kina.passes.scheduling.moved import bytes_of, touched
from kina.passes.scheduling.selections import selected
from kina.passes.scheduling.space import Size


def describe(function: KernelFunction) -> list[str]:
    """A heading and the lines below it."""
    moved = " + ".join(f"{size} x {count}" for size, count in _moved(function))
    lines = [
        f"{function.name}: {function.strategy}, {function.lanes or 'no'} lanes",
        f"  loops: {', '.join(_loops(function)) or 'none'}",
        *(f"  {_stage(function, stage)}" for stage in function.kernel.stages),
        *(f"  left out: {what}" for what in function.left_out),
        f"  bytes moved: {moved or 0}",
    ]
    scalar = sorted(function.scalar_parts.items())
    return lines + [f"  not vectorised: {what}, {count} times" for what, count in scalar]


def shown(size: Size) -> str:
    """A size as its factors, symbols by their names."""
    names = [_name(factor) for factor in size.factors]
    known = [str(size.known)] if size.known != 1 or not names else []
    return " * ".join([*known, *names])


def _name(value: SSAValue) -> str:
    found = canonical_dim(value)
    if isinstance(found, SSAValue) and (dim := derived(found)) is not None:
        return dim
    hint = found.name_hint if isinstance(found, SSAValue) else str(found)
    return hint or "?"


def _loops(function: KernelFunction) -> Iterator[str]:
    space = function.space
    for loop, size in enumerate(space.sizes):
        what = "axis" if loop == space.axis else "rows"
        if loop == space.last and space.block is not None:
            what = f"bands of {space.block}"
        threads = ", a range of them per call" if loop in space.ranged else ""
        yield f"{shown(size)} ({what}{threads})"


def _stage(function: KernelFunction, stage: Stage) -> str:
    kernel = function.kernel
    stored = ", stored" if stage.value in kernel.outputs else ""
    cost = f"{stage.operations} operations"
    if stage.node.is_scan:
        return f"scan, element after element: {cost} per element{stored}"
    if stage.node.is_selection:
        return f"selection of {selected(stage)} by keys: {cost} per element{stored}"
    if stage.node.axis is not None:
        order = "in order" if stage.node.is_ordered else "in any order"
        return f"reduction by {combination(stage)[-1].name} {order}: {cost} per element{stored}"
    per = "element" if kernel.frame.is_full(stage) else "row"
    return f"value of each {per}: {cost}{stored}"


def _moved(function: KernelFunction) -> Iterator[tuple[str, int]]:
    """What is read and written, in bytes, with how often."""
    counts = Counter(shown(bytes_of(value)) for value in touched(function.kernel))
    yield from counts.items()
