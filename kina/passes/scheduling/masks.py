"""What a pipeline's tensors hold that nobody needs: elements that a mask keeps out.

Attention computes scores and chooses: those that a position may see, or -inf. What is not chosen is
not computed, where the choice is a comparison of places (`iota(axis=1) <= iota(axis=0)`): whole
tiles of a product are left out. What follows from such a choice is zero in long runs, which a
product passes over when it runs (`kernels/zeros.py`); here is only said where that may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import inf
from typing import TypeAlias

from xdsl.dialects import arith, linalg
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, i1, i64
from xdsl.ir import Operation, SSAValue

from kina.frozen import frozen
from kina.passes.scheduling.bounds import NOTHING, Bound, Bounds, along
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import UNIT, Access, made_of, memory_of, owner
from kina.passes.scheduling.kernels import Kernel

LARGE = 1 << 40
"""Numbers beside which sums of places might leave 64 bits."""
TRAPS = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)
"""What ends a process that is given anything: a division by zero."""


Makers: TypeAlias = Mapping[SSAValue, Stage]
"""The stages that compute tensors, element by element."""


def say_what_is_masked(
    members: Sequence[Kernel], kernels: Iterable[Kernel], private: AbstractSet[SSAValue]
) -> None:
    """Tells the matrix products among the members of a pipeline what they may leave out.

    `kernels` are all that there are: one that is no member may have computed a mask.
    """
    zeros = masked(members, private)
    stages = (stage for kernel in kernels for stage in kernel.stages)
    makers = {s.value: s for s in stages if s.node.axis is None and s.home is s.value}
    for kernel in members:
        if kernel.member is None or not any(stage.node.is_chain for stage in kernel.stages):
            continue
        kernel.member.masked = zeros
        if len(kernel.outputs) == 1 and kernel.outputs[0] in private:
            kernel.member.within = read_within(kernel.outputs[0], members, makers)


# What is read.


def read_within(base: SSAValue, kernels: Sequence[Kernel], makers: Makers) -> Bounds:
    """Conditions on the places of a tensor that nobody reads elsewhere; none: all may be read."""
    found: Bounds | None = None
    for kernel in kernels:
        made = {stage.value for stage in kernel.stages}
        for stage in kernel.stages:
            if any(memory_of(value) is base for value in stage.captured):
                return NOTHING
            for (value, access), argument in stage.leaves.items():
                if memory_of(value) is base and value not in made:
                    here = _Body(stage, makers).reads(value, access, argument, base)
                    found = here if found is None else found & here
    return found or NOTHING


def _may_take_anything(op: Operation) -> bool:
    """Whether an operation on numbers that nobody wrote does no harm."""
    kind = op.dialect_name()
    return kind in ("arith", "math") and not isinstance(op, TRAPS) and bool(op.results)


@frozen
class _Body:
    """What a stage computes of an element, and what is known of where that lies."""

    stage: Stage
    makers: Makers

    def reads(self, value: SSAValue, access: Access, argument: SSAValue, base: SSAValue) -> Bounds:
        """Conditions on the places of a tensor that are read as an argument."""
        if value is not base or access.is_window:
            return NOTHING
        dims = {dim: place for place, dim in enumerate(access) if dim != UNIT}
        return along(self._chosen(argument), dims)

    def _chosen(self, argument: SSAValue) -> Bounds:
        """Where the body chooses what it computes of an argument."""
        rests: set[SSAValue] = {argument}
        found: Bounds | None = None
        for op in self.stage.block.ops:
            if not rests.intersection(op.operands):
                continue
            if isinstance(op, arith.SelectOp) and (bounds := self._of_choice(op, rests)):
                found = bounds if found is None else found & bounds
                continue
            if not _may_take_anything(op):
                return NOTHING
            rests.update(op.results)
        return found or NOTHING

    def _of_choice(self, op: arith.SelectOp, rests: AbstractSet[SSAValue]) -> Bounds:
        """Where a choice takes what rests on an argument."""
        yes, no = op.lhs in rests, op.rhs in rests
        return NOTHING if op.cond in rests or yes == no else self.holds(op.cond, is_true=yes)

    # What a condition says.

    def holds(self, value: SSAValue, *, is_true: bool) -> Bounds:
        """What is known of the place where a condition is true, or where it is not."""
        if (made := self._made(value)) is not None:
            body, result, dims = made
            return along(body.holds(result, is_true=is_true), dims)
        op = owner(value)
        match op:
            case arith.ExtUIOp(input=inner):
                return self.holds(inner, is_true=is_true)
            case arith.AndIOp(lhs=left, rhs=right) if is_true:
                return self.holds(left, is_true=True) | self.holds(right, is_true=True)
            case arith.OrIOp(lhs=left, rhs=right) if not is_true:
                return self.holds(left, is_true=False) | self.holds(right, is_true=False)
            case arith.XOrIOp(lhs=left, rhs=right) if _number(right) in (1, -1):
                return self.holds(left, is_true=not is_true)
            case arith.CmpiOp(lhs=left, rhs=right):
                predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
                return self._compared(predicate, left, right, is_true=is_true)
            case _:
                return NOTHING

    def _made(self, value: SSAValue) -> tuple[_Body, SSAValue, dict[int, int]] | None:
        """What computed an argument of the body, and the dimensions here of those there."""
        for (leaf, access), argument in self.stage.leaves.items():
            maker = self.makers.get(leaf)
            if argument is value and maker is not None and not access.is_window:
                dims = zip(maker.written, access, strict=True)
                last = maker.block.last_op
                assert last is not None
                known = {there: here for there, here in dims if UNIT not in (there, here)}
                return _Body(maker, self.makers), last.operands[0], known
        return None

    def _compared(
        self, predicate: str, left: SSAValue, right: SSAValue, *, is_true: bool
    ) -> Bounds:
        if predicate in ("eq", "ne") and _number(right) == 0 and self.is_truth(left):
            return self.holds(left, is_true=is_true == (predicate == "ne"))
        if predicate not in ("slt", "sle", "sgt", "sge"):
            return NOTHING
        if predicate in ("sgt", "sge"):
            left, right = right, left
        first, second = self.sum(left), self.sum(right)
        if first is None or second is None:
            return NOTHING
        least = int(predicate in ("slt", "sgt"))
        if not is_true:  # not a <= b: b < a
            first, second, least = second, first, 1 - least
        return Bounds([second.plus(first, -1).plus(Bound((), least), -1)])

    def is_truth(self, value: SSAValue) -> bool:
        """Whether an integer is 0 or 1: truths, joined or not."""
        if (made := self._made(value)) is not None:
            body, result, _ = made
            return body.is_truth(result)
        op = owner(value)
        if isinstance(op, arith.AndIOp | arith.OrIOp | arith.XOrIOp):
            return self.is_truth(op.lhs) and self.is_truth(op.rhs)
        known = _number(value)
        return known in (0, 1) or (isinstance(op, arith.ExtUIOp) and op.input.type == i1)

    def sum(self, value: SSAValue) -> Bound | None:
        """A number that is a sum of places, in 64 bits."""
        if value.type != i64 and not isinstance(value.type, IndexType):
            return None
        if (made := self._made(value)) is not None:
            body, result, dims = made
            found = body.sum(result)
            return None if found is None else found.along(dims)
        match owner(value):
            case linalg.ops.IndexOp(dim=dim):
                return Bound(((dim.value.data, 1),))
            case arith.IndexCastOp(input=inner):
                return self.sum(inner)
            case arith.AddiOp(lhs=left, rhs=right):
                return self._joined(left, right, 1)
            case arith.SubiOp(lhs=left, rhs=right):
                return self._joined(left, right, -1)
            case _:
                known = _number(value)
                return None if known is None or abs(known) > LARGE else Bound((), known)

    def _joined(self, left: SSAValue, right: SSAValue, times: int) -> Bound | None:
        first, second = self.sum(left), self.sum(right)
        return None if first is None or second is None else first.plus(second, times)


def _number(value: SSAValue) -> int | None:
    match owner(value):
        case arith.ConstantOp(value=IntegerAttr() as number):
            return number.value.data
        case _:
            return None


# What is zero.


def masked(kernels: Sequence[Kernel], private: AbstractSet[SSAValue]) -> frozenset[SSAValue]:
    """The private tensors that follow, element by element, from a choice that is no comparison of
    floats: a mask's zeros lie together, those of a relu anywhere."""
    found: set[SSAValue] = set()
    for kernel in kernels:
        if any(stage.node.is_chain for stage in kernel.stages):
            continue
        reads = {memory_of(value) for stage in kernel.stages for value, _ in stage.leaves}
        if found & reads or any(_masks(stage) for stage in kernel.stages):
            found.update(base for base in _written(kernel) if base in private)
    return frozenset(found)


def _written(kernel: Kernel) -> Iterator[SSAValue]:
    for stage in kernel.stages:
        if stage.value in kernel.outputs and kernel.frame.is_full(stage):
            yield made_of(stage.home)


def _masks(stage: Stage) -> bool:
    return any(
        isinstance(op, arith.SelectOp)
        and _is_left_out(op.lhs) != _is_left_out(op.rhs)
        and not _compares_floats(op.cond)
        for op in stage.block.ops
    )


def _is_left_out(value: SSAValue) -> bool:
    """Whether a value is what stands for an element that a mask keeps out."""
    match owner(value):
        case arith.ConstantOp(value=FloatAttr() as number):
            return number.value.data in (0, -inf)
        case _:
            return False


def _compares_floats(value: SSAValue) -> bool:
    op = owner(value)
    if op is None:
        return False
    floats = any(isinstance(kind, AnyFloat) for kind in op.operand_types)
    return floats or any(map(_compares_floats, op.operands))
