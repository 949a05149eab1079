"""The type rules of elementwise operations: operands of one type, nothing broadcasts by itself."""

from __future__ import annotations

from collections.abc import Sequence

from kina.dtypes import BOOL, BOOLS, DType
from kina.ops import Op
from kina.rules.parts import Attributes, RuleError, broadcastable
from kina.types import Dim, TensorType, format_dims


def same_type(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """The type that all operands have."""
    first, *others = op.alike
    for position in others:
        check_dtypes(op, operands, first, position)
        _check_shapes(op, operands, first, position)
    return operands[first]


def comparison(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """Bool, of the operands' shape."""
    return same_type(op, operands, attributes).with_dtype(BOOL)


def choice(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """The type of both alternatives, which have the condition's shape."""
    result = same_type(op, operands, attributes)
    _check_shapes(op, operands, 0, op.alike[0])
    return result


def check_dtypes(op: Op, operands: Sequence[TensorType], first: int, second: int) -> None:
    """Refuse two operands of different dtypes."""
    left, right = operands[first].dtype, operands[second].dtype
    if left is right:
        return
    names = op.operands
    raise RuleError(
        f"{op.name}: {names[first]} has dtype {left} and {names[second]} has dtype {right}, "
        "expected equal dtypes",
        blame=second,
        help=_cast_help(op, left, right),
    )


def _cast_help(op: Op, left: DType, right: DType) -> str:
    numbers = [dtype for dtype in (left, right) if dtype is not BOOL]
    if len(numbers) == 1 and op.dtypes != BOOLS:
        return f"write .cast({numbers[0]}) for 0 and 1, or choose: condition.select(a, b)"
    return f"there are no implicit conversions: write .cast({left}) or .cast({right})"


def _check_shapes(op: Op, operands: Sequence[TensorType], first: int, second: int) -> None:
    left, right = operands[first].dims, operands[second].dims
    if left == right:
        return
    names = op.operands
    raise RuleError(
        f"{op.name}: {names[first]} has shape {format_dims(left)} and {names[second]} has shape "
        f"{format_dims(right)}, expected equal shapes",
        blame=second,
        help=_broadcast_help(left, right),
    )


def _broadcast_help(left: Sequence[Dim], right: Sequence[Dim]) -> str | None:
    for source, target in ((left, right), (right, left)):
        if broadcastable(source, target):
            return f"there is no implicit broadcasting: write .broadcast({format_dims(target)})"
    for source, target in ((left, right), (right, left)):
        aligned = _aligned(source, target)
        if aligned is not None:
            return (
                "axes are matched from the right: write "
                f".reshape({format_dims(aligned)}).broadcast({format_dims(target)})"
            )
    return None


def _aligned(source: Sequence[Dim], target: Sequence[Dim]) -> list[Dim] | None:
    """`source` with a 1 for each axis of `target` that it lacks; None if it has other axes."""
    rest = list(source)
    aligned: list[Dim] = [rest.pop(0) if rest and rest[0] == dim else 1 for dim in target]
    return None if rest else aligned
