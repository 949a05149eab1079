"""Kernels that are equal but for the values they are called with: one function serves them all.

An outline says all that a kernel's function is built from, with a number for each value from
outside, in the order in which they are met. Equal outlines give equal functions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from copy import copy

from xdsl.dialects import arith, linalg
from xdsl.ir import Operation, SSAValue

from kina.passes.kernels.function import KernelFunction
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import Access, Dim, element_of, memory_of, shape_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.space import Size, Space


class Outline:
    """What a kernel is: its `key`, and the `values` that it names by their numbers."""

    def __init__(self, kernel: Kernel, space: Space) -> None:
        self._numbers: dict[SSAValue, int] = {}
        self._kernel = kernel
        frame = kernel.frame
        self.key: Hashable = (
            self._dims(frame.dims),
            (frame.axis, frame.deep, space.merged, space.axis, space.ranged, space.block),
            (kernel.rows, space.carries, kernel.member.within if kernel.member else None),
            tuple(sorted(space.grains.items())),
            tuple((size.known, self._dims(size.factors)) for size in space.sizes),
            tuple(map(self._stage, kernel.stages)),
            self._dims(kernel.outputs),
        )

    @property
    def values(self) -> list[SSAValue]:
        """The values, by their numbers."""
        return list(self._numbers)

    def _number(self, value: SSAValue) -> tuple[str, int]:
        return "value", self._numbers.setdefault(value, len(self._numbers))

    def _dims(self, dims: Iterable[Dim]) -> Hashable:
        return tuple(dim if isinstance(dim, int) else self._number(dim) for dim in dims)

    def _tensor(self, value: SSAValue) -> Hashable:
        row = self._kernel.private_row(value)
        held = None if row is None else (self._dims(row), self._is_masked(value))
        return self._number(value), element_of(value), self._dims(shape_of(value)), held

    def _is_masked(self, value: SSAValue) -> bool:
        member = self._kernel.member
        return member is not None and memory_of(value) in member.masked

    def _access(self, access: Access) -> Hashable:
        shifts = (None if shift is None else self._dims(shift) for shift in access.shifts)
        return access.dims, tuple(shifts)

    def _stage(self, stage: Stage) -> Hashable:
        node = stage.node
        return (
            (self._dims(node.dims), node.axis, tuple(map(self._access, node.accesses))),
            tuple((self._tensor(value), self._access(access)) for value, access in stage.leaves),
            tuple(map(self._tensor, (*stage.captured, *node.op.results, stage.home))),
            tuple((self._number(scalar), scalar.type) for scalar in stage.scalars),
            self._access(stage.written),
            tuple(map(_start, node.op.outputs)),
            self._body(stage),
        )

    def _body(self, stage: Stage) -> Hashable:
        inside: dict[SSAValue, int] = {}
        for argument in stage.block.args:
            inside[argument] = len(inside)
        made: list[Hashable] = [tuple(argument.type for argument in stage.block.args)]
        for op in stage.block.ops:
            operands = [inside[v] if v in inside else self._number(v) for v in op.operands]
            made.append((_kind(op), tuple(operands), tuple(op.result_types)))
            for result in op.results:
                inside[result] = len(inside)
        return tuple(made)


def _kind(op: Operation) -> Hashable:
    return op.name, tuple(op.properties.items()), tuple(op.attributes.items())


def _start(output: SSAValue) -> Hashable:
    """What a reduction starts from."""
    fill = output.owner
    if not isinstance(fill, linalg.ops.FillOp):
        return None
    constant = fill.inputs[0].owner
    return constant.value if isinstance(constant, arith.ConstantOp) else id(constant)


class Shared:
    """The functions of the large kernels of a module, by what they are."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[KernelFunction, Outline]] = {}

    def find(self, kernel: Kernel, space: Space) -> KernelFunction | None:
        """The function of an equal kernel, as one of this kernel's."""
        outline = Outline(kernel, space)
        if outline.key not in self._known:
            return None
        function, known = self._known[outline.key]
        now = dict(zip(known.values, outline.values, strict=True))
        same = copy(function)
        same.kernel, same.space = kernel, space
        same.pointers = {now[value]: argument for value, argument in function.pointers.items()}
        same.scalars = {now[value]: argument for value, argument in function.scalars.items()}
        same.sizes = {
            Size(size.known, tuple(now[factor] for factor in size.factors)): argument
            for size, argument in function.sizes.items()
        }
        return same

    def add(self, function: KernelFunction) -> None:
        """A function that was built."""
        outline = Outline(function.kernel, function.space)
        self._known[outline.key] = function, outline
