"""argmax: the lowest index of the maximum of each fiber (seed 17); argmin: of the minimum.

All forms agree in every case: with s the start value and m the maximum of s and all lanes that
are not NaN, the index is 0 if m == s, else the lowest i with x[i] == m. A minimum is the maximum of
what is mirrored: `-x` of floats, `-1 - x` of integers, which never wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i32, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, Operation, SSAValue

from kina.dialects.reduce import ReductionOp
from kina.dtypes import DType
from kina.passes.builder import Builder
from kina.passes.lowering.casts import resize
from kina.passes.lowering.combiners import identity, reduce_fibers
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import generic, whole
from kina.passes.lowering.ordered import from_images, image_of, image_with_nan
from kina.passes.lowering.shaping import reshape
from kina.passes.lowering.storage import compute_element, load, storage_element, store
from kina.rules.parts import without_axis
from kina.types import Dim, TensorType

Form: TypeAlias = Callable[[Lowering, ReductionOp, DType, tuple[Dim, ...]], SSAValue]
LOW = (1 << 32) - 1
"""The lower half of a key."""

_BETTER = {"argmax": {True: "ogt", False: "sgt"}, "argmin": {True: "olt", False: "slt"}}
_START = {"argmax": "lowest", "argmin": "highest"}
_EQUAL = {True: "oeq", False: "eq"}


def lower_contest(state: Lowering, op: ReductionOp) -> None:
    """Lower an argmax or argmin to an I64 tensor without the axis, or with size 1 there."""
    (operand,) = op.kina_operand_types()
    dims = without_axis(operand.dims, op.axis_value)
    index = _form(state, op, operand)(state, op, operand.dtype, dims)
    state.bind(op.result, reshape(state, index, dims, op.kina_type.dims))


def _form(state: Lowering, op: ReductionOp, operand: TensorType) -> Form:
    """Along the last axis one walk will do; elsewhere value and index go together if computed."""
    if not state.fast:
        return _running
    size = operand.dims[op.axis_value]
    last = op.axis_value == len(operand.dims) - 1
    if last and size != 1:
        return _contest
    fits = isinstance(size, int) and size < 1 << 31
    fits &= operand.dtype.is_float or operand.dtype.storage_bits <= 32
    return _one_reduction if fits and isinstance(op.operand.owner, Operation) else _two_reductions


def _running(state: Lowering, op: ReductionOp, dtype: DType, dims: tuple[Dim, ...]) -> SSAValue:
    """Seed 17's form: a running extreme and a running index, strictly better wins.

    A NaN never compares better, so the index is always in `0 .. size-1`.
    """

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value, best = (load(inner, dtype, element) for element in elements[:2])
        better = inner.compare(_better(op, dtype), value, best)
        extreme = store(inner, dtype, inner.select(better, value, best))
        position = inner.value(arith.IndexCastOp(inner.value(IndexOp(op.axis_value)), i64))
        return [extreme, inner.select(better, position, elements[2])]

    starts = [
        state.filled(_start(op, dtype), storage_element(dtype), dims),
        state.filled(0, i64, dims),
    ]
    return reduce_fibers(state, [state.value(op.operand)], starts, op.axis_value, body)[1]


def _contest(state: Lowering, op: ReductionOp, dtype: DType, dims: tuple[Dim, ...]) -> SSAValue:
    """The same in the compute dtype, the form that schedule-cpu does in lanes, in one walk."""
    size = op.kina_operand_types()[0].dims[op.axis_value]
    width = i32 if isinstance(size, int) and size < 1 << 31 else i64

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value, best, index = _wide(inner, dtype, elements[0]), *elements[1:]
        better = inner.compare(_better(op, dtype), value, best)
        position = inner.value(arith.IndexCastOp(inner.value(IndexOp(op.axis_value)), width))
        return [inner.select(better, value, best), inner.select(better, position, index)]

    starts = [
        state.filled(_start(op, dtype), _wide_element(dtype), dims),
        state.filled(0, width, dims),
    ]
    index = reduce_fibers(state, [state.value(op.operand)], starts, op.axis_value, body)[1]
    return index if width == i64 else _widened(state, index, dims)


def _better(op: ReductionOp, dtype: DType) -> str:
    """The comparison that a new best value has to win."""
    return _BETTER[op.kind.data.value][dtype.is_float]


def _start(op: ReductionOp, dtype: DType) -> int | float:
    """What every value is compared with first."""
    return identity(dtype, _START[op.kind.data.value])


def _widened(state: Lowering, index: SSAValue, dims: tuple[Dim, ...]) -> SSAValue:
    """Indices as they are stored."""

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        return [inner.value(arith.ExtSIOp(elements[0], i64))]

    output = whole(state.empty(i64, dims))
    return generic(state.builder, len(dims), [whole(index)], [output], body)[0]


def _two_reductions(
    state: Lowering, op: ReductionOp, dtype: DType, dims: tuple[Dim, ...]
) -> SSAValue:
    """The maximum, then the lowest index that equals it: both vectorise."""
    start = identity(dtype, "lowest")
    maximum = _maximum(state, op, dtype, dims)
    size = op.kina_operand_types()[0].dims[op.axis_value]
    width = i32 if isinstance(size, int) and size < 1 << 31 else i64
    index = _lowest_equal(state, op, dtype, maximum, width)

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        none = inner.constant(start, _wide_element(dtype))
        unmoved = inner.compare(_EQUAL[dtype.is_float], elements[0], none)
        wide = resize(inner, elements[1], 64)
        return [inner.select(unmoved, inner.integer(0, i64), wide)]

    output = whole(state.empty(i64, dims))
    inputs = [whole(maximum), whole(index)]
    return generic(state.builder, len(dims), inputs, [output], body)[0]


def _one_reduction(
    state: Lowering, op: ReductionOp, dtype: DType, dims: tuple[Dim, ...]
) -> SSAValue:
    """The maximum of 64-bit keys: the element in order, below it the index from the end.

    The start value's key has index 0, so what does not exceed it never counts.
    """
    start = identity(dtype, "lowest")
    least = image_of(float(start)) if dtype.is_float else int(start)

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value = _upright(inner, op, dtype, elements[0])
        if dtype.is_float:  # -0.0 + 0.0 is +0.0: both zeros are equal
            zero = inner.real(0.0, f32)
            value = image_with_nan(inner, inner.value(arith.AddfOp(value, zero)), least)
        high = inner.value(arith.ShLIOp(resize(inner, value, 64), inner.integer(32, i64)))
        position = inner.value(arith.IndexCastOp(inner.value(IndexOp(op.axis_value)), i32))
        reverse = inner.value(arith.XOrIOp(position, inner.integer(-1, i32)))
        key = inner.value(arith.OrIOp(high, inner.value(arith.ExtUIOp(reverse, i64))))
        return [inner.value(arith.MaxSIOp(key, elements[1]))]

    starts = [state.filled((least << 32) | LOW, i64, dims)]
    (keys,) = reduce_fibers(state, [state.value(op.operand)], starts, op.axis_value, body)

    def index_of(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        index = inner.value(arith.XOrIOp(elements[0], inner.integer(-1, i64)))
        return [inner.value(arith.AndIOp(index, inner.integer(LOW, i64)))]

    output = whole(state.empty(i64, dims))
    return generic(state.builder, len(dims), [whole(keys)], [output], index_of)[0]


def _wide_element(dtype: DType) -> Attribute:
    """What maxima are kept as between the reductions: f32, or an integer as it is at rest."""
    return compute_element(dtype) if dtype.is_float else storage_element(dtype)


def _wide(body: Builder, dtype: DType, element: SSAValue) -> SSAValue:
    value = load(body, dtype, element)
    return value if dtype.is_float else resize(body, value, dtype.storage_bits)


def _upright(body: Builder, op: ReductionOp, dtype: DType, element: SSAValue) -> SSAValue:
    """An element in the compute dtype, mirrored where the least is best."""
    value = _wide(body, dtype, element)
    if op.kind.data.value == "argmax":
        return value
    if dtype.is_float:
        return body.value(arith.NegfOp(value))
    assert isinstance(value.type, IntegerType)
    return body.value(arith.XOrIOp(value, body.integer(-1, cast(IntegerType, value.type))))


def _maximum(state: Lowering, op: ReductionOp, dtype: DType, dims: tuple[Dim, ...]) -> SSAValue:
    """The maximum in the compute dtype; a NaN counts as the start value."""
    start = identity(dtype, "lowest")
    least = image_of(start) if dtype.is_float else int(start)
    width = i32 if dtype.is_float else _wide_element(dtype)

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value = _upright(inner, op, dtype, elements[0])
        ordered = image_with_nan(inner, value, least) if dtype.is_float else value
        return [inner.value(arith.MaxSIOp(ordered, elements[1]))]

    starts = [state.filled(least, width, dims)]
    (result,) = reduce_fibers(state, [state.value(op.operand)], starts, op.axis_value, body)
    return from_images(state, result, dims) if dtype.is_float else result


def _lowest_equal(
    state: Lowering, op: ReductionOp, dtype: DType, maximum: SSAValue, width: IntegerType
) -> SSAValue:
    """The lowest index whose element equals the maximum; -0.0 equals +0.0."""
    absent = (1 << (width.width.data - 1)) - 1
    dims = without_axis(op.kina_operand_types()[0].dims, op.axis_value)

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value = _upright(inner, op, dtype, elements[0])
        equal = inner.compare(_EQUAL[dtype.is_float], value, elements[1])
        position = inner.value(arith.IndexCastOp(inner.value(IndexOp(op.axis_value)), width))
        found = inner.select(equal, position, inner.integer(absent, width))
        return [inner.value(arith.MinSIOp(found, elements[2]))]

    starts = [state.filled(absent, width, dims)]
    operands = [state.value(op.operand), maximum]
    return reduce_fibers(state, operands, starts, op.axis_value, body)[0]
