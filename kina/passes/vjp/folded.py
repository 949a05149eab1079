"""The gradient of a fold: a fold the other way round, of the pullback of its function.

The forward fold keeps what each layer took; a layer's pullback computes the inside again. The
cotangents of the carried values go from the last layer to the first, and so do the gradients of
what every layer reads whole: they add up in that order. Those of `over` are stacked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from kina.dialects.callee import kina_types
from kina.dialects.fold import FoldOp
from kina.dialects.types import to_ir
from kina.passes.inline_calls import callee_name, copied_body
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Share
from kina.passes.vjp.cotangents import Cotangents
from kina.passes.vjp.ports import (
    Ask,
    Library,
    Port,
    Pullback,
    Work,
    at,
    cotangent,
    parameter,
    total,
)
from kina.rules.folds import stack_of
from kina.types import TensorType


def reverse_fold(
    library: Library, state: Cotangents, op: FoldOp, given: Mapping[int, Share]
) -> Work[None]:
    """Emit the fold that goes back; `given` are the cotangents of the results that have one."""
    back = _Back(library, state, op, given)
    carried = back.carried_at_first
    while True:
        ask = back.ask(carried)
        yield ask
        # What a layer's pullback gives, the pullback of the layer before it is given.
        more = carried.union(i for i in library.pullbacks[ask].gives if i < back.count)
        if more == carried:
            break
        carried = more
    if library.pullbacks[ask].gives or back.kept:
        back.emit(library.pullbacks[ask], sorted(carried))


class _Back:
    """One fold and its way back.

    Positions are those of its function's parameters, and of the results: both begin with what is
    carried.
    """

    def __init__(
        self, library: Library, state: Cotangents, op: FoldOp, given: Mapping[int, Share]
    ) -> None:
        self._library, self._state, self._op = library, state, op
        self._operands = list(op.operands)
        self._callee = library.functions[callee_name(op)]
        self._inputs = kina_types(self._callee.function_type.inputs.data)
        self._outputs = kina_types(self._callee.function_type.outputs.data)
        self.count = len(op.carried)
        """How many values are carried."""
        self._whole = range(self.count + len(op.over), len(self._operands))
        settled = {i: state.settled(share) for i, share in given.items()}
        self._given = {i: value for i, value in settled.items() if i < len(self._outputs)}
        kept = enumerate(op.kept_values, len(self._outputs))
        self.kept = {position: settled[i] for i, position in kept if i in settled}
        """The cotangents of what is kept of each carried value."""

    @property
    def carried_at_first(self) -> frozenset[int]:
        """The carried values that have a cotangent from outside."""
        return frozenset(self.kept).union(i for i in self._given if i < self.count)

    @cached_property
    def _wrt(self) -> tuple[int, ...]:
        """The parameters that depend on what is differentiated by, in some layer."""
        active = self._state.active
        later = {i for i in range(self.count) if self._op.results[i] in active}
        return tuple(i for i, v in enumerate(self._operands) if v in active or i in later)

    def ask(self, carried: frozenset[int]) -> Ask:
        """The pullback of a layer, if so many carried results have a cotangent."""
        stacked = (i for i in self._given if i >= self.count)
        sums = (i for i in self._wrt if i in self._whole or i in self.kept)
        same = tuple(range(len(self._operands)))
        given = (*sorted(carried), *sorted(stacked))
        return Ask(callee_name(self._op), same, (), self._wrt, given, tuple(sums))

    def emit(self, pullback: Pullback, carried: Sequence[int]) -> None:
        """The fold of the pullback; what it gives becomes cotangents of the operands."""
        totals = [i for i in self._whole if i in pullback.gives]
        stacked = [i for i in range(self.count, self._whole.start) if i in pullback.gives]
        on = [*map(cotangent, carried), *map(total, totals)]
        over = self._over(pullback, carried)
        whole = [port for port in pullback.ports if port not in on and port not in over]
        body = self._body(pullback, [*on, *over, *whole], carried, [*totals, *stacked])
        reverse = self._op.reverse is None
        kept = self._keep([port for port in over if port.kind == "parameter"])
        start = [self._value(port, kept) for port in on]
        given = [*start, *(self._operands[i] for i in stacked)]
        fold = FoldOp(
            body.sym_name.data,
            start,
            [self._value(port, kept) for port in over],
            [self._value(port, kept) for port in whole],
            [to_ir(type_of(value)) for value in given],
            reverse=reverse,
        )
        self._state.builder.emit(fold)
        order = (*carried, *totals, *stacked)
        found = dict(zip(order, fold.results, strict=True))
        self._take({position: found[position] for position in (*totals, *stacked, *carried)})

    def _over(self, pullback: Pullback, carried: Sequence[int]) -> list[Port]:
        """What a layer is given a layer of: at least one, which says how many layers there are."""
        found = [port for port in pullback.ports if self._is_layered(port)]
        kept = (total(i) for i in self.kept if i in carried and i not in pullback.gives)
        return list(dict.fromkeys((*found, *kept))) or [parameter(self.count)]

    def _is_layered(self, port: Port) -> bool:
        if port.kind == "cotangent":
            return port.position >= self.count
        return port.position < (self._whole.start if port.kind == "parameter" else self.count)

    def _body(
        self,
        pullback: Pullback,
        ports: Sequence[Port],
        carried: Sequence[int],
        gradients: Sequence[int],
    ) -> FuncOp:
        """The pullback with its arguments and results in the order of a fold."""
        block = Block(arg_types=[to_ir(self._type(port)) for port in ports])
        for argument in block.args:
            argument.location = self._callee.location
        values: dict[Port, SSAValue] = dict(zip(ports, block.args, strict=True))
        symbols = {symbol for port in ports for symbol in self._type(port).symbols}
        operations, results = copied_body(
            pullback.function,
            [values[port] for port in pullback.ports],
            {symbol: symbol for symbol in symbols},
        )
        block.add_ops(operations)
        found = {i: at(source, values, results) for i, source in pullback.gives.items()}
        builder = GradientBuilder(block, self._callee.location)
        for position in carried:
            if position not in found and position in self.kept:
                found[position] = values[total(position)]
            elif position not in found:
                # The function's result does not depend on it: only the last layer counts.
                found[position] = builder.number(0.0, self._inputs[position])
        block.add_op(ReturnOp(*(found[position] for position in (*carried, *gradients))))
        return self._library.add(self._callee, block)

    def _type(self, port: Port) -> TensorType:
        types = self._outputs if port.kind == "cotangent" else self._inputs
        return types[port.position]

    def _keep(self, ports: Sequence[Port]) -> Mapping[int, SSAValue]:
        """What each layer took of the carried values that are read again, stacked."""
        op = self._op
        wanted = [port.position for port in ports if port.position < self.count]
        kept = list(dict.fromkeys((*op.kept_values, *wanted)))
        if len(kept) > len(op.kept_values):
            types = [type_of(self._operands[i]) for i in kept[len(op.kept_values) :]]
            stacks = [to_ir(stack_of(op.layers, type_)) for type_ in types]
            new = FoldOp(
                op.callee,
                op.carried,
                op.over,
                op.whole,
                [*(to_ir(type_of(output)) for output in op.outputs), *stacks],
                reverse=op.reverse is not None,
                kept=kept,
            )
            new.location = op.location
            Rewriter.insert_op(new, InsertPoint.before(op))
            same = new.results[: len(op.results)]
            self._state.replaced.update(zip(op.results, same, strict=True))
            Rewriter.replace_op(op, [], same)
            op = new
        return dict(zip(kept, op.results[len(self._outputs) :], strict=True))

    def _value(self, port: Port, kept: Mapping[int, SSAValue]) -> SSAValue:
        """What the fold takes at a port; sums and cotangents that are unknown begin with -0."""
        kind, position = port
        if kind == "parameter":
            return kept[position] if position < self.count else self._operands[position]
        known = self._given if kind == "cotangent" else self._totals
        if position in known:
            return known[position]
        return self._state.builder.number(-0.0, type_of(self._operands[position]))

    @cached_property
    def _totals(self) -> Mapping[int, SSAValue]:
        """What gradients are added to; that of a value that is read twice only once."""
        known: dict[int, SSAValue] = dict(self.kept)
        firsts = {self._operands[i]: i for i in reversed(self._whole)}
        for value, position in firsts.items():
            if value in self._state.known:
                known[position] = self._state.settled(self._state.known[value])
        return known

    def _take(self, results: Mapping[int, SSAValue]) -> None:
        """The gradients of the operands become cotangents, those of what is carried last."""
        state = self._state
        for position, result in results.items():
            operand = self._operands[position]
            if position in self._totals and position in self._whole:
                state.known[operand] = Share(result)
            elif operand in state.active:
                state.add(operand, Share(result))
