"""broadcast and reshape."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dims import element_count, is_derived
from kina.passes.builder import Builder
from kina.passes.derived_sizes import SIZES
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, generic, tensor_of, whole
from kina.passes.lowering.storage import tensor_type
from kina.types import Dim

Groups = list[tuple[list[int], list[int]]]
"""Runs of source axes and of target axes with equal element counts."""


def lower_broadcast(state: Lowering, op: BroadcastOp) -> None:
    """Lower to a copy whose source axes of size 1 are indexed by the constant 0 (seed 18)."""
    (source,), target = op.kina_operand_types(), op.kina_type
    if source.dims == target.dims:
        state.alias(op.result, op.operand)
        return
    loops = broadcast_loops(source.dims, target.dims)
    output = whole(state.empty_like(target))
    inputs = [Access(state.value(op.operand), loops)]
    (result,) = generic(state.builder, target.rank, inputs, [output], _copy)
    state.bind(op.result, result)


def broadcast_loops(source: Sequence[Dim], target: Sequence[Dim]) -> tuple[int | None, ...]:
    """Which target axis indexes each source axis; None where one element is repeated."""
    pad = len(target) - len(source)
    return tuple(
        None if dim == 1 and target[axis + pad] != 1 else axis + pad
        for axis, dim in enumerate(source)
    )


def _copy(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
    return [elements[0]]


def lower_reshape(state: Lowering, op: ReshapeOp) -> None:
    """Lower to collapse_shape and expand_shape, each over as few axes as possible."""
    (source,), target = op.kina_operand_types(), op.kina_type
    state.bind(op.result, reshape(state, state.value(op.operand), source.dims, target.dims))


def reshape(
    state: Lowering, value: SSAValue, source: tuple[Dim, ...], target: tuple[Dim, ...]
) -> SSAValue:
    """`value` with shape `source` as shape `target`; both have the same count of elements."""
    if source == target:
        return value
    if not source:
        return _spread(state, value, target)
    groups = match_axes(source, target) if target else []
    if any(len(axes) > 1 for axes, _ in groups) or not target:
        state.dynamic(target)  # a collapsed axis may have one of these sizes
        value = _collapse(state, value, source, [axes for axes, _ in groups], target)
    if all(len(axes) == 1 for _, axes in groups):
        return value
    return _split(state, value, target, [axes for _, axes in groups])


def _spread(state: Lowering, value: SSAValue, target: tuple[Dim, ...]) -> SSAValue:
    """A scalar as a tensor of 1s: xDSL's verifier has no expand_shape from rank 0."""
    output = whole(state.empty(tensor_of(value).element_type, target))
    return generic(state.builder, len(target), [Access(value, ())], [output], _copy)[0]


def match_axes(source: Sequence[Dim], target: Sequence[Dim]) -> Groups:
    """Cut both shapes wherever the counts of elements so far agree; neither is empty."""
    groups: Groups = [([], [])]
    position = 0
    for axis in range(len(source)):
        groups[-1][0].append(axis)
        end = _matching_end(source[: axis + 1], target, position)
        if end is None:
            continue
        groups[-1][1].extend(range(position, end))
        position = end
        groups.append(([], []))
    left, right = groups.pop()
    groups[-1][0].extend(left)
    groups[-1][1].extend([*right, *range(position, len(target))])
    return groups


def _matching_end(done: Sequence[Dim], target: Sequence[Dim], position: int) -> int | None:
    """The least end past `position` where the target has as many elements as `done`."""
    wanted = element_count(done)
    ends = range(position + 1, len(target) + 1)
    return next((end for end in ends if element_count(target[:end]) == wanted), None)


def _reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr(ArrayAttr(IntegerAttr(axis, i64) for axis in group) for group in groups)


def _collapse(
    state: Lowering,
    value: SSAValue,
    source: Sequence[Dim],
    groups: Sequence[Sequence[int]],
    target: Sequence[Dim],
) -> SSAValue:
    dims = tuple(element_count([source[axis] for axis in group]) for group in groups)
    type_ = tensor_type(tensor_of(value).element_type, dims)
    op = tensor.CollapseShapeOp.create(
        operands=[value],
        result_types=[type_],
        properties={"reassociation": _reassociation(groups)},
    )
    if any(is_derived(dim) and dim in target for dim in dims):
        op.attributes[SIZES] = ArrayAttr(StringAttr(str(dim)) for dim in dims)
    return state.builder.value(op)


def _split(
    state: Lowering, value: SSAValue, target: tuple[Dim, ...], groups: Sequence[Sequence[int]]
) -> SSAValue:
    """Each axis of `value` becomes the group of axes at its place."""
    symbols = ([axis for axis in group if isinstance(target[axis], str)] for group in groups)
    if any(len(group) > 1 for group in symbols):
        return _read_linear(state, value, target, groups)
    type_ = tensor_type(tensor_of(value).element_type, target)
    static = [dim if isinstance(dim, int) else DYNAMIC_INDEX for dim in target]
    return state.builder.value(
        tensor.ExpandShapeOp(value, state.dynamic(target), _reassociation(groups), static, type_)
    )


def _read_linear(
    state: Lowering, value: SSAValue, target: tuple[Dim, ...], groups: Sequence[Sequence[int]]
) -> SSAValue:
    """`_split` by computing positions: mlir-opt's expand_shape takes one symbol to a group."""
    element = tensor_of(value).element_type
    sizes = [state.size(dim) for dim in target]

    def position(inner: Builder, group: Sequence[int]) -> SSAValue:
        total = inner.value(IndexOp(group[0]))
        for axis in group[1:]:
            total = inner.value(arith.MuliOp(total, sizes[axis]))
            total = inner.value(arith.AddiOp(total, inner.value(IndexOp(axis))))
        return total

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        places = [position(inner, group) for group in groups]
        return [inner.value(tensor.ExtractOp(value, places, element))]

    output = whole(state.empty(element, target))
    return generic(state.builder, len(target), [], [output], body)[0]
