"""Reverse accumulation: from the cotangents of results to those of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from kina.dialects.base import KinaOp
from kina.dialects.fold import FoldOp
from kina.errors import Diagnostic, KinaTypeError
from kina.passes.inline_calls import CALLS, USES
from kina.passes.lowering.places import span_of
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Share
from kina.passes.vjp.called import reverse_call
from kina.passes.vjp.chosen import before, behind, drop, guarded
from kina.passes.vjp.cotangents import Cotangents
from kina.passes.vjp.flow import is_floating
from kina.passes.vjp.folded import reverse_fold
from kina.passes.vjp.ports import Library, Work
from kina.passes.vjp.table import RULES

Seed = tuple[SSAValue, Share | None]
"""A result and its cotangent; None: 1."""


@dataclass
class Reverse:
    """Walks `forward` backwards; the gradients go behind it, in `block`."""

    library: Library
    block: Block
    forward: Sequence[Operation]
    location: LocationAttr
    """Of the function: where seeds and zeros stand."""

    def run(
        self,
        seeds: Sequence[Seed],
        sources: Sequence[SSAValue],
        known: Mapping[SSAValue, Share],
    ) -> Work[Cotangents]:
        """The cotangents of all values that the sources, and the seeds, depend on.

        `known` are cotangents of sources from elsewhere.
        """
        builder = GradientBuilder(self.block, self.location)
        state = Cotangents(builder, self._active(sources), dict(known))
        for result, seed in seeds:
            if result in state.active:
                state.add(result, seed or Share(builder.number(1.0, type_of(result))))
        for op in reversed(self.forward):
            yield from self._step(state, op)
        return state

    def _active(self, sources: Sequence[SSAValue]) -> set[SSAValue]:
        """The floating values that depend on `sources` by way of floating values only."""
        active = set(sources)
        for op in self.forward:
            if any(operand in active for operand in op.operands):
                active.update(self._active_results(op, active))
        return active

    def _active_results(self, op: Operation, active: set[SSAValue]) -> Sequence[SSAValue]:
        if isinstance(op, USES):
            flow = zip(op.results, self.library.flow.operands_of(op), strict=True)
            return [r for r, read in flow if any(op.operands[i] in active for i in read)]
        floating = [result for result in op.results if is_floating(result)]
        if floating and op.name not in RULES:
            message = f"transform-ad: {op.name} has no VJP"
            raise KinaTypeError(Diagnostic(message, span_of(op.location)))
        return floating

    def _step(self, state: Cotangents, op: Operation) -> Work[None]:
        """Add the shares of the operands of `op`, if a result has a cotangent."""
        given = {i: state.known[r] for i, r in enumerate(op.results) if r in state.known}
        if not given:
            return
        state.builder.location = op.location
        if isinstance(op, FoldOp):
            yield from reverse_fold(self.library, state, op, given)
        elif isinstance(op, CALLS):
            yield from reverse_call(self.library, state, op, given)
        else:
            assert isinstance(op, KinaOp)
            _apply_rule(state, op, given[0])


def _apply_rule(state: Cotangents, op: KinaOp, given: Share) -> None:
    """Add what the operation's rule gives to each operand."""
    builder = state.builder
    taken = before(builder, op, given)
    clean = guarded(builder, op, taken)
    partials = RULES[op.name](builder, clean, taken.value)
    for position, (operand, partial) in enumerate(zip(op.operands, partials, strict=True)):
        if partial is not None and operand in state.active:
            made = partial()
            share = made if isinstance(made, Share) else Share(made)
            state.add(operand, behind(builder, op, clean, position, taken, share))
    drop(clean, op)
