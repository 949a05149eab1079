"""The type rules: from operand types and compile-time arguments to the result type.

Written once; the front end turns a `RuleError` into a diagnostic at the blamed operand or argument,
the dialect's verifiers turn it into a verification error. Seeds 9 (log_softmax, take_along_axis),
17 (argmax) and 18 (the elementwise algebra of sampling) are the sources; `docs/language.md`
states the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kina.contraction import Contraction, matmul_loops, matmul_mismatch, result_dims
from kina.dims import DimError, multiply
from kina.dtypes import BOOLS, DTYPES, I64, INTS, DType
from kina.ops import OPS, REDUCTIONS, Family, Op
from kina.rules import layout
from kina.rules.elementwise import check_dtypes, choice, comparison, same_type
from kina.rules.fibers import logsumexp, norm
from kina.rules.parts import (
    Attributes,
    RuleError,
    axis_of,
    broadcastable,
    check_axis,
    check_host,
    dims_of,
    one_of,
    without_axis,
)
from kina.rules.random import random_uniform
from kina.rules.selection import top_k
from kina.types import Dim, TensorType, format_dims


def infer(name: str, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """The result type of operation `name`, or a `RuleError`.

    `attributes` holds exactly the arguments that the op table names for the operation.
    """
    op = OPS[name]
    if operands:
        _check_dtype(op, operands[0])
        _check_placement(op, operands)
    return (_RULES.get(name) or _FAMILY_RULES[op.family])(op, operands, attributes)


def _check_dtype(op: Op, operand: TensorType) -> None:
    if operand.dtype.name in op.dtypes:
        return
    raise RuleError(
        f"{op.name}: {op.role(0)} has dtype {operand.dtype}, "
        f"expected {one_of(op.dtypes)}",
        blame=0,
        help=_dtype_help(op),
    )  # fmt: skip


def _dtype_help(op: Op) -> str | None:
    if op.dtypes == BOOLS:
        return "a condition is a comparison, for example x > 0, or .cast(Bool)"
    if op.dtypes == INTS:
        return "cast the operand first, for example .cast(I32)"
    if op.family is Family.RANDOM:
        return "write .cast(I64)"
    return "cast the operand first, for example .cast(F32)" if op.is_elementwise else None


def _check_placement(op: Op, operands: Sequence[TensorType]) -> None:
    first = operands[0]
    for position, other in enumerate(operands[1:], start=1):
        if other.placement is first.placement:
            continue
        raise RuleError(
            f"{op.name}: {op.role(position)} is on @{other.placement.value}, expected "
            f"@{first.placement.value} as {op.role(0)}: operands of one op share a placement",
            blame=position,
        )
    if not op.device:
        check_host(op.name, first)


def _matmul(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    left, right = operands
    check_dtypes(op, operands, 0, 1)
    found = matmul_mismatch(left.dims, right.dims)
    if found is not None:
        raise RuleError(f"{op.name}: {found.message}", found.blame, found.help)
    loops = Contraction(left.rank, *matmul_loops(left.rank, right.rank))
    return left.with_dims(result_dims(loops, left.dims, right.dims))


def _normalize(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    check_axis(op.name, axis_of(attributes), operands[0].dims)
    return operands[0]


def _reduce(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    operand, axis = operands[0], axis_of(attributes)
    kind = attributes["op"]
    assert isinstance(kind, str)
    _check_reduction(kind, operand)
    check_axis(f"{op.name} {kind}", axis, operand.dims)
    kept = (1,) if op.name == "reduce_keep" else ()
    dims = (*operand.dims[:axis], *kept, *operand.dims[axis + 1 :])
    result = operand.with_dims(dims)
    gives = REDUCTIONS[kind].gives
    return result.with_dtype(DTYPES[gives]) if gives else result


def _check_reduction(kind: str, operand: TensorType) -> None:
    reduction = REDUCTIONS.get(kind)
    if reduction is None:
        raise RuleError(
            f"reduce: unknown op={kind}, expected {one_of(list(REDUCTIONS))}",
            blame="op",
        )
    if operand.dtype.name not in reduction.dtypes:
        raise RuleError(
            f"reduce {kind}: operand has dtype {operand.dtype}, "
            f"expected {one_of(reduction.dtypes)}",
            blame=0,
        )
    if not reduction.device:
        check_host(f"reduce {kind}", operand)


def _take_along_axis(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    values, indices = operands
    axis = axis_of(attributes)
    if values.rank < 2:
        raise RuleError(
            f"{op.name}: values have shape {format_dims(values.dims)}, expected rank 2 or more",
            blame=0,
        )
    check_axis(op.name, axis, values.dims)
    _check_indices(op, indices)
    expected = without_axis(values.dims, axis)
    if indices.dims != expected:
        raise RuleError(
            f"{op.name}: indices have shape {format_dims(indices.dims)}, expected "
            f"{format_dims(expected)} (values {format_dims(values.dims)} without axis {axis})",
            blame=1,
        )
    return values.with_dims(expected)


def _check_indices(op: Op, indices: TensorType) -> None:
    if indices.dtype is I64:
        return
    raise RuleError(
        f"{op.name}: indices have dtype {indices.dtype}, expected I64",
        blame=1,
        help="write .cast(I64)" if indices.dtype.is_int else None,
    )


def _gather(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    values, indices = operands
    if values.rank != 2:
        raise RuleError(
            f"{op.name}: values have shape {format_dims(values.dims)}, expected rank 2 "
            "(a table [V, D])",
            blame=0,
            help="take_along_axis selects along an axis of a tensor of higher rank"
            if values.rank > 2
            else None,
        )
    _check_indices(op, indices)
    return values.with_dims((*indices.dims, values.dims[1]))


def _broadcast(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    operand, dims = operands[0], dims_of(attributes)
    if broadcastable(operand.dims, dims):
        return operand.with_dims(dims)
    raise RuleError(
        f"broadcast: shape {format_dims(operand.dims)} does not broadcast to {format_dims(dims)}, "
        "expected each dimension, counted from the right, to be equal or 1",
        blame="dims",
    )


def _reshape(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    operand, dims = operands[0], dims_of(attributes)
    source, target = _count(operand.dims), _count(dims)
    if source == target:
        return operand.with_dims(dims)
    raise RuleError(
        f"reshape: shape {format_dims(operand.dims)} has {source} elements and "
        f"{format_dims(dims)} has {target}, expected the same number",
        blame="dims",
    )


def _count(dims: Sequence[Dim]) -> Dim:
    """How many elements a shape has: equal counts have equal normal forms."""
    try:
        return multiply(dims)
    except DimError as error:
        message = f"reshape: the number of elements of {format_dims(dims)} is past a limit: {error}"
        raise RuleError(message, blame="dims") from None


def _cast(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    dtype = attributes["dtype"]
    assert isinstance(dtype, DType)
    return operands[0].with_dtype(dtype)


Rule = Callable[[Op, Sequence[TensorType], Attributes], TensorType]

_FAMILY_RULES: dict[Family, Rule] = {
    Family.UNARY: same_type,
    Family.BINARY: same_type,
    Family.TERNARY: same_type,
    Family.COMPARE: comparison,
    Family.CHOICE: choice,
    Family.REDUCE: _reduce,
    Family.NORMALIZE: _normalize,
    Family.INDEXING: _take_along_axis,
    Family.SHAPING: _broadcast,
    Family.CAST: _cast,
    Family.CONTRACTION: _matmul,
    Family.SCAN: _normalize,
    Family.FIBER: norm,
    Family.RANDOM: random_uniform,
    Family.SELECTION: top_k,
}

_RULES: dict[str, Rule] = {
    "gather": _gather,
    "reshape": _reshape,
    "logsumexp": logsumexp,
    "iota": layout.iota,
    "transpose": layout.transpose,
    "slice": layout.slice_,
    "concat": layout.concat,
    "update": layout.update,
}
