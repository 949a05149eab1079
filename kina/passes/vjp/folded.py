"""The gradient of a fold: a fold the other way round, of the pullback of its function.

The forward fold keeps what each layer took; a layer's pullback computes the inside again. The
cotangents of the carried values go from the last layer to the first, and so do the gradients of
what every layer reads whole: they add up in that order. Those of `over` are stacked. Which elements
count goes the same way, beside each of these.
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
from kina.dtypes import BOOL
from kina.passes.inline_calls import callee_name, copied_body
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Share
from kina.passes.vjp.cotangents import Cotangents
from kina.passes.vjp.cotangents import masked as masked_share
from kina.passes.vjp.counting import flags
from kina.passes.vjp.ports import (
    Ask,
    Library,
    Port,
    Pullback,
    Work,
    at,
    cotangent,
    mask,
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
    carried, masked = back.carried_at_first, back.masked_at_first
    while True:
        ask = back.ask(carried, masked)
        yield ask
        pullback = library.pullbacks[ask]
        # What a layer's pullback gives, the pullback of the layer before it is given.
        before = carried, masked
        carried = carried.union(i for i in pullback.gives if i < back.count)
        masked = masked.union(i for i in pullback.masks if i < back.count)
        if before == (carried, masked):
            break
    if pullback.gives or back.kept:
        back.emit(pullback, sorted(carried), sorted(masked))


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
        masks = [(i, state.mask(share)) for i, share in given.items() if i in self._given]
        self._masks = {i: mask for i, mask in masks if mask is not None}
        """Which elements count of the cotangents of which not all do."""
        kept = enumerate(op.kept_values, len(self._outputs))
        self.kept = {position: settled[i] for i, position in kept if i in settled}
        """The cotangents of what is kept of each carried value."""

    @property
    def carried_at_first(self) -> frozenset[int]:
        """The carried values that have a cotangent from outside."""
        return frozenset(self.kept).union(i for i in self._given if i < self.count)

    @property
    def masked_at_first(self) -> frozenset[int]:
        """The carried values of whose cotangent from outside not all elements count."""
        return frozenset(i for i in self._masks if i < self.count)

    @cached_property
    def _wrt(self) -> tuple[int, ...]:
        """The parameters that depend on what is differentiated by, in some layer."""
        active = self._state.active
        later = {i for i in range(self.count) if self._op.results[i] in active}
        return tuple(i for i, v in enumerate(self._operands) if v in active or i in later)

    def ask(self, carried: frozenset[int], masked: frozenset[int]) -> Ask:
        """The pullback of a layer, if so many carried results have a cotangent, and a mask."""
        stacked = sorted(i for i in self._given if i >= self.count)
        sums = tuple(i for i in self._wrt if i in self._whole or i in self.kept)
        ports = [cotangent(i) for i in sorted(masked.union(self._masks))]
        ports += [total(i) for i in self._total_masks]
        return Ask(
            callee_name(self._op),
            tuple(range(len(self._operands))),
            (),
            self._wrt,
            (*sorted(carried), *stacked),
            sums,
            masked=tuple(ports),
        )

    def emit(self, pullback: Pullback, carried: Sequence[int], masked: Sequence[int]) -> None:
        """The fold of the pullback; what it gives becomes cotangents of the operands."""
        totals = [i for i in self._whole if i in pullback.gives]
        on = [*map(cotangent, carried), *map(total, totals)]
        on += [mask(cotangent(i)) for i in masked]
        on += [mask(total(i)) for i in totals if i in self._total_masks and i in pullback.masks]
        stacked = [i for i in range(self.count, self._whole.start) if i in pullback.gives]
        flagged = [i for i in stacked if i in pullback.masks]
        over = self._over(pullback, carried)
        whole = [port for port in pullback.ports if port not in on and port not in over]
        body = self._body(pullback, [*on, *over, *whole], on, (stacked, flagged))
        reverse = self._op.reverse is None
        kept = self._keep([port for port in over if port.kind == "parameter"])
        start = [self._value(port, kept) for port in on]
        stacks = [type_of(self._operands[i]) for i in stacked]
        stacks += [type_of(self._operands[i]).with_dtype(BOOL) for i in flagged]
        fold = FoldOp(
            body.sym_name.data,
            start,
            [self._value(port, kept) for port in over],
            [self._value(port, kept) for port in whole],
            [to_ir(type_) for type_ in (*map(type_of, start), *stacks)],
            reverse=reverse,
        )
        self._state.builder.emit(fold)
        layers = [*map(parameter, stacked), *(mask(parameter(i)) for i in flagged)]
        found = dict(zip((*on, *layers), fold.results, strict=True))
        ports = [*map(total, totals), *map(parameter, stacked), *map(cotangent, carried)]
        for port in ports:
            self._take(port, masked_share(found[port], found.get(mask(port))))

    def _over(self, pullback: Pullback, carried: Sequence[int]) -> list[Port]:
        """What a layer is given a layer of: at least one, which says how many layers there are."""
        found = [port for port in pullback.ports if self._is_layered(port)]
        kept = (total(i) for i in self.kept if i in carried and i not in pullback.gives)
        return list(dict.fromkeys((*found, *kept))) or [parameter(self.count)]

    def _is_layered(self, port: Port) -> bool:
        if port.of.kind == "cotangent":
            return port.position >= self.count
        return port.position < (self._whole.start if port.kind == "parameter" else self.count)

    def _body(
        self,
        pullback: Pullback,
        ports: Sequence[Port],
        on: Sequence[Port],
        layers: tuple[Sequence[int], Sequence[int]],
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
        gives, masks = (
            {i: at(source, values, results) for i, source in part.items()}
            for part in (pullback.gives, pullback.masks)
        )
        builder = GradientBuilder(block, self._callee.location)

        def next_value(port: Port) -> SSAValue:
            found = masks if port.is_mask else gives
            if port.position in found:
                return found[port.position]
            is_kept = port.position in self.kept
            if port.is_mask:
                counts = is_kept or port.position in gives
                return flags(builder, self._type(port).dims, value=counts)
            # The function's result may not depend on it: then only the last layer counts.
            kept = values[total(port.position)] if is_kept else None
            return kept or builder.number(0.0, self._type(port))

        stacked, flagged = layers
        ends = [*map(next_value, on), *(gives[i] for i in stacked), *(masks[i] for i in flagged)]
        block.add_op(ReturnOp(*ends))
        return self._library.add(self._callee, block)

    def _type(self, port: Port) -> TensorType:
        types = self._outputs if port.of.kind == "cotangent" else self._inputs
        type_ = types[port.position]
        return type_.with_dtype(BOOL) if port.is_mask else type_

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
        position = port.position
        if port.kind == "parameter":
            return kept[position] if position < self.count else self._operands[position]
        is_total = port.of == total(position)
        if not port.is_mask:
            known = self._totals if is_total else self._given
        else:
            known = self._total_masks if is_total else self._masks
        if (value := known.get(position)) is not None:
            return value
        builder, type_ = self._state.builder, type_of(self._operands[position])
        if port.is_mask:
            # Of a sum nothing counts so far; of a cotangent all does.
            return flags(builder, type_.dims, value=not is_total)
        return builder.number(-0.0, type_)

    @cached_property
    def _totals(self) -> Mapping[int, SSAValue]:
        """What gradients are added to; that of a value that is read twice only once."""
        known: dict[int, SSAValue] = dict(self.kept)
        for value, position in self._firsts.items():
            if value in self._state.known:
                known[position] = self._state.settled(self._state.known[value])
        return known

    @cached_property
    def _total_masks(self) -> Mapping[int, SSAValue | None]:
        """Which elements count of the sums of which not all do; None: nothing counts so far."""
        masks: dict[int, SSAValue | None] = {}
        for i in self._wrt:
            if i not in self._whole:
                continue
            first = self._firsts[self._operands[i]] == i
            share = self._state.known.get(self._operands[i]) if first else None
            if share is None:
                masks[i] = None
            elif (counts := self._state.mask(share)) is not None:
                masks[i] = counts
        return masks

    @cached_property
    def _firsts(self) -> Mapping[SSAValue, int]:
        """Where each value that every layer reads whole stands first."""
        return {self._operands[i]: i for i in reversed(self._whole)}

    def _take(self, port: Port, share: Share) -> None:
        """A gradient of an operand becomes its cotangent, or is added to it."""
        state, operand = self._state, self._operands[port.position]
        if port.kind == "sum" and port.position in self._totals:
            state.known[operand] = share
        elif operand in state.active:
            state.add(operand, share)
