"""`check-sizes`: a call whose temporaries no memory can hold returns "out of memory".

Run-time sizes multiply: `x.broadcast([A, A, A, A])` has a byte count past 2^64 for a modest A, and
an allocation of the wrapped count would be far too small. So every tensor whose size no argument
bounds is checked once, at entry, in f64, which cannot wrap; and so is every size that is computed
from symbols. Static sizes are the front end's to check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f64,
    i32,
    i64,
)
from xdsl.dialects.cf import AssertOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import ReinterpretCastOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from kina.dims import terms_of
from kina.frozen import frozen
from kina.passes.builder import Builder
from kina.passes.derived_sizes import derived
from kina.status import OUT_OF_MEMORY, STATUS

MAX_ELEMENTS = 2.0**56
"""No element takes more than 8 bytes, so the byte count stays far below 2^63."""
MAX_SIZE = 2.0**60
"""A computed size below this is what it says: no term of it has wrapped in 64 bits."""
ROOM = 2**9
"""An argument exists, so it has less than 2^47 elements; this many times more are fine still."""


@frozen
class _Size:
    """The number of elements of a tensor: a known factor times run-time sizes."""

    known: int
    factors: tuple[SSAValue, ...]

    @classmethod
    def of(cls, shape: Sequence[int], dynamic: Sequence[SSAValue]) -> _Size:
        """The size of a tensor of this shape, whose run-time sizes are `dynamic`."""
        return cls(prod(size for size in shape if size != DYNAMIC_INDEX), tuple(dynamic))

    def bounded_by(self, other: _Size) -> bool:
        """Whether `other` existing in memory bounds this size: each run-time size is 1 or more."""
        return Counter(self.factors) <= Counter(other.factors) and self.known <= ROOM * other.known


def _arguments(function: FuncOp) -> list[_Size]:
    """The sizes of the arguments of run-time size."""
    return [
        _Size.of(op.result.type.get_shape(), op.sizes)
        for op in function.body.block.ops
        if isinstance(op, ReinterpretCastOp)
    ]


def _unbounded(function: FuncOp) -> Iterator[tuple[EmptyOp, _Size]]:
    """A tensor of each size that no argument bounds."""
    arguments = _arguments(function)
    seen: set[tuple[int, frozenset[tuple[SSAValue, int]]]] = set()
    for op in function.body.block.ops:
        if not isinstance(op, EmptyOp) or not op.dynamic_sizes:
            continue
        size = _Size.of(op.tensor.type.get_shape(), op.dynamic_sizes)
        key = (size.known, frozenset(Counter(size.factors).items()))
        if key in seen or any(size.bounded_by(argument) for argument in arguments):
            continue
        seen.add(key)
        yield op, size


def _product(at: Builder, known: int, factors: Sequence[SSAValue]) -> SSAValue:
    """A product of sizes in f64, which cannot wrap."""
    product = at.real(float(known), f64)
    for factor in factors:
        is_index = isinstance(factor.type, IndexType)
        whole = at.value(arith.IndexCastOp(factor, i64)) if is_index else factor
        product = at.value(arith.MulfOp(product, at.value(arith.SIToFPOp(whole, f64))))
    return product


def _check_below(at: Builder, value: SSAValue, limit: float) -> None:
    """Where `value` is not below `limit`, the function returns "out of memory"."""
    fits = at.compare("olt", value, at.real(limit, f64))
    check = at.append(AssertOp(fits, "out of memory"))
    check.attributes[STATUS] = IntegerAttr(OUT_OF_MEMORY, i32)


def _insert_check(op: EmptyOp, size: _Size) -> None:
    """Before `op`: its number of elements is below `MAX_ELEMENTS`."""
    at = Builder(op, op.location)
    _check_below(at, _product(at, size.known, size.factors), MAX_ELEMENTS)


def _derived(function: FuncOp) -> list[tuple[Operation, str]]:
    """The operations that compute sizes from symbols, and what these are."""
    ops = [op for op in function.body.block.ops if len(op.results) == 1]
    return [(op, dim) for op in ops if (dim := derived(op.results[0])) is not None]


def _check_derived(function: FuncOp, op: Operation, dim: str) -> None:
    """After `op`: the terms of the size that it computes, added up, are below `MAX_SIZE`."""
    symbols = cast(ArrayAttr[StringAttr], function.attributes["symbols"])
    values = {name.data: arg for name, arg in zip(symbols, function.args, strict=False)}
    assert op.next_op is not None, "a function ends in its return"
    at = Builder(op.next_op, op.location)
    total: SSAValue | None = None
    for monomial, coefficient in terms_of(dim).items():
        term = _product(at, abs(coefficient), [values[symbol] for symbol in monomial])
        total = term if total is None else at.value(arith.AddfOp(total, term))
    assert total is not None, "a size has terms"
    _check_below(at, total, MAX_SIZE)


class CheckSizes(ModulePass):
    """Runs after export-c and before assert-to-status."""

    name = "check-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Insert the checks of every function."""
        for function in [item for item in op.ops if isinstance(item, FuncOp)]:
            for empty, size in list(_unbounded(function)):
                _insert_check(empty, size)
            for computed, dim in _derived(function):
                _check_derived(function, computed, dim)
