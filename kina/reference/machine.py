"""Runs a function of kina IR on NumPy arrays, on demand.

A check of indices always runs, in program order; anything else is computed only when a result or a
check needs it. So `first_failure` of a loss reads the targets and never touches the logits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from kina.arrays import Array
from kina.dialects.base import KinaOp
from kina.dialects.call import CallOp
from kina.dialects.callee import given_sizes
from kina.dialects.elementwise import ConstantOp
from kina.dialects.fold import FoldOp
from kina.dialects.indexing import CheckIndicesOp, GatherOp, TakeAlongAxisOp
from kina.dialects.internal import InternalOp
from kina.dialects.layout import CheckWindowOp, SizeOp, SliceOp, UpdateOp
from kina.dialects.types import from_ir
from kina.dims import evaluate, is_derived, is_symbol
from kina.errors import KinaIndexError
from kina.ops import OPS
from kina.reference import ordered as in_order
from kina.reference.checks import Bound, Lines, Window, in_layer, index_failure, window_failure
from kina.reference.internal import INTERNAL
from kina.reference.meaning import apply, payload
from kina.reference.site import Site
from kina.types import Dim, TensorType

_INDEXED = (GatherOp, TakeAlongAxisOp, CheckIndicesOp)
_WINDOWED = (SliceOp, UpdateOp, CheckWindowOp)
_CHECKED = (*_INDEXED, *_WINDOWED)
_CALLS = (CallOp, func.CallOp)
_Use = CallOp | func.CallOp | FoldOp

_MOST = 2**60 - 1
"""Of a size that is computed, and of the elements of a tensor."""

Shape = tuple[int, ...]
Demand = frozenset[SSAValue]


def callee(call: _Use) -> func.FuncOp:
    """The function that a call names."""
    found = SymbolTable.lookup_symbol(call, call.callee)
    assert isinstance(found, func.FuncOp), (
        f"{call.callee.string_value()} is not a function of the module"
    )
    return found


@dataclass
class Demands:
    """What the checks and results of functions need; each function is looked at once."""

    _known: dict[tuple[func.FuncOp, bool], Demand] = field(
        default_factory=dict[tuple[func.FuncOp, bool], Demand]
    )
    _checked: dict[func.FuncOp, bool] = field(default_factory=dict[func.FuncOp, bool])

    def of(self, function: func.FuncOp, results: bool) -> Demand:
        """The values that the checks of `function` need, and its results too if `results`."""
        key = function, results
        if key not in self._known:
            needed: set[SSAValue] = set()
            for op in reversed(list(function.body.block.ops)):
                needed.update(self._operands_needed(op, needed, results))
            self._known[key] = frozenset(needed)
        return self._known[key]

    def checks(self, function: func.FuncOp) -> bool:
        """Whether `function` checks an index, itself or in a call."""
        if function not in self._checked:
            self._checked[function] = any(
                self.checks(callee(op)) if isinstance(op, _Use) else isinstance(op, _CHECKED)
                for op in function.body.block.ops
            )
        return self._checked[function]

    def _operands_needed(
        self, op: Operation, needed: set[SSAValue], results: bool
    ) -> Iterator[SSAValue]:
        wanted = any(result in needed for result in op.results)
        if isinstance(op, _CALLS):
            target = callee(op)
            inner = self.of(target, wanted)
            pairs = zip(op.operands, target.body.block.args, strict=True)
            yield from (operand for operand, argument in pairs if argument in inner)
        elif isinstance(op, FoldOp):
            inner, count = self.of(callee(op), wanted), len(op.carried)
            arguments = callee(op).body.block.args
            # What is carried depends on everything.
            whole = wanted or any(argument in inner for argument in arguments[:count])
            pairs = zip(op.operands, arguments, strict=True)
            yield from (operand for operand, argument in pairs if whole or argument in inner)
        elif wanted or (results and isinstance(op, func.ReturnOp)):
            yield from op.operands
        elif isinstance(op, _CHECKED):
            yield checked_operand(op)


def checked_operand(op: Operation) -> SSAValue:
    """What an operation checks: indices, or where a window starts."""
    assert isinstance(op, _CHECKED)
    if isinstance(op, _INDEXED):
        return op.indices
    return op.start if isinstance(op, CheckWindowOp) else op.position


def bind_symbols(types: Sequence[TensorType], shapes: Sequence[Shape]) -> dict[str, int]:
    """The size of every symbolic dimension of the parameters."""
    return {
        dim: size
        for type_, shape in zip(types, shapes, strict=True)
        for dim, size in zip(type_.dims, shape, strict=True)
        if isinstance(dim, str) and is_symbol(dim)
    }


@dataclass
class Frame:
    """One call: its sizes and the values computed so far.

    With `ordered`, floats are computed as compiled code does it.
    """

    function: func.FuncOp
    results: bool
    lines: Lines | None
    symbols: dict[str, int]
    demands: Demands
    ordered: bool = False
    values: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    needed: Demand = frozenset()

    def shape(self, value: SSAValue) -> Shape:
        """The shape of a value in this call, computed or not."""
        shape = tuple(map(self._size, from_ir(value.type).dims))
        if prod(size or 1 for size in shape) > _MOST:
            raise MemoryError(f"no memory holds a tensor of shape {list(shape)}")
        return shape

    def run(self) -> tuple[Array, ...]:
        """Execute; a `KinaIndexError` at the first failed check."""
        for op in self.function.body.block.ops:
            if isinstance(op, func.ReturnOp):
                return tuple(self.values[value] for value in op.operands) if self.results else ()
            self._step(op)
        raise ValueError(f"function {self.function.sym_name.data} has no func.return")

    def _step(self, op: Operation) -> None:
        if isinstance(op, _CALLS):
            self._call(op)
            return
        if isinstance(op, FoldOp):
            self._fold(op)
            return
        if isinstance(op, _CHECKED):
            self._check(op)
        if not any(result in self.needed for result in op.results):
            return
        if isinstance(op, ConstantOp):
            type_ = from_ir(op.result.type)
            raw = op.value.data.data
            self.values[op.result] = payload(raw, type_.dtype, self.shape(op.result))
        elif isinstance(op, SizeOp):
            self.values[op.result] = np.asarray(self._size(op.size), np.int64)
        elif isinstance(op, KinaOp):
            self.values[op.result] = self._apply(op)
        else:
            raise ValueError(f"{op.name} has no meaning in the reference: it reads kina IR")

    def _apply(self, op: KinaOp) -> Array:
        operands = [self.values[operand] for operand in op.operands]
        if isinstance(op, InternalOp):
            internal = {**INTERNAL, **in_order.INTERNAL} if self.ordered else INTERNAL
            return np.asarray(internal[type(op)](op, operands, self.shape(op.result)))
        first = op.operands[0] if op.operands else op.result
        dtype = from_ir(first.type).dtype
        site = Site(OPS[op.rule_name], dtype, op.rule_attributes(), self.shape(op.result))
        if self.ordered and (meaning := in_order.MEANINGS.get(op.rule_name)):
            return np.asarray(meaning(site, operands))
        return apply(site, operands)

    def _check(self, op: Operation) -> None:
        assert isinstance(op, _CHECKED)
        checked = self.values[checked_operand(op)]
        if isinstance(op, _INDEXED):
            failure = index_failure(op, checked, self._bound(op), self.lines)
        else:
            failure = window_failure(op, int(checked), self._window(op), self.lines)
        if failure is not None:
            raise failure

    def _window(self, op: SliceOp | UpdateOp | CheckWindowOp) -> Window:
        if isinstance(op, CheckWindowOp):
            size, within = map(self._size, (op.size_value, op.within_value))
            return Window(op.what.data, op.axis_value, size, within)
        shape = self.shape(op.operands[0])
        within = shape[op.axis_value]
        return Window(op.rule_name, op.axis_value, self._size(op.size), within, shape)

    def _size(self, dim: Dim) -> int:
        """A size; one past 2^60 is refused, as a call refuses it."""
        size = evaluate(dim, self.symbols)
        if is_derived(dim) and abs(size) > _MOST:
            raise MemoryError(f"the size {dim} is {size}, at most 2^60 - 1")
        return size

    def _bound(self, op: GatherOp | TakeAlongAxisOp | CheckIndicesOp) -> Bound:
        axis = 0 if isinstance(op, GatherOp) else op.axis_value
        if isinstance(op, CheckIndicesOp):
            return Bound(axis, self._size(op.size_value))
        shape = self.shape(op.values)
        return Bound(axis, shape[axis], shape)

    def _call(self, op: CallOp | func.CallOp) -> None:
        target = callee(op)
        results = any(result in self.needed for result in op.results)
        if not results and not self.demands.checks(target):
            return
        arguments = [self.values.get(operand) for operand in op.operands]
        shapes = [self.shape(operand) for operand in op.operands]
        sizes = {name: self._size(size) for name, size in given_sizes(op, target).items()}
        inner = enter(
            target, arguments, shapes, results, self.lines, self.demands, sizes, self.ordered
        )
        self.values.update(zip(op.results, inner.run(), strict=False))

    def _fold(self, op: FoldOp) -> None:
        """A call per layer; computes no more than the checks inside need if nothing else does."""
        target, count = callee(op), len(op.carried)
        results = any(result in self.needed for result in op.results)
        if not results and not self.demands.checks(target):
            return
        inner = self.demands.of(target, results)
        results = results or any(a in inner for a in target.body.block.args[:count])
        carried = [self.values.get(value) for value in op.carried]
        shapes = [self.shape(value) for value in op.operands]
        first = count + len(op.over)
        shapes[count:first] = [shape[1:] for shape in shapes[count:first]]
        whole = [self.values.get(value) for value in op.whole]
        layers = range(self.shape(op.over[0])[0])
        found: dict[int, list[Array]] = {}
        for layer in reversed(layers) if op.reverse is not None else layers:
            over = [None if (v := self.values.get(s)) is None else v[layer] for s in op.over]
            arguments = [*carried, *over, *whole]
            frame = enter(
                target, arguments, shapes, results, self.lines, self.demands, {}, self.ordered
            )
            kept = [carried[position] for position in op.kept_values]
            try:
                given = frame.run()
            except KinaIndexError as failure:
                raise in_layer(failure, op, layer, self.lines) from None
            if results:
                carried = list(given[:count])
                found[layer] = [*given[count:], *(value for value in kept if value is not None)]
        if results:
            stacks = zip(*(found[layer] for layer in layers), strict=True)
            last = [value for value in carried if value is not None]
            made: list[Array] = [*last, *map(np.stack, stacks)]
            self.values.update(zip(op.results, made, strict=True))


def enter(
    function: func.FuncOp,
    arguments: Sequence[Array | None],
    shapes: Sequence[Shape],
    results: bool,
    lines: Lines | None,
    demands: Demands,
    sizes: Mapping[str, int],
    ordered: bool,
) -> Frame:
    """A frame for a call with these arguments; one that nothing needs may be missing.

    `sizes` are those of the function's `size` parameters.
    """
    parameters = function.body.block.args
    types = [from_ir(parameter.type) for parameter in parameters]
    symbols = {**bind_symbols(types, shapes), **sizes}
    frame = Frame(function, results, lines, symbols, demands, ordered)
    frame.needed = demands.of(function, results)
    for parameter, argument in zip(parameters, arguments, strict=True):
        if argument is not None:
            frame.values[parameter] = argument
    return frame


def as_argument(array: Array, type_: TensorType) -> Array:
    """An argument as the reference holds it: every non-zero byte of a Bool is true."""
    return array.view(np.uint8) != 0 if type_.dtype.bits == 1 else array
