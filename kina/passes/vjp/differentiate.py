"""From a function to the function of its results and gradients: reverse accumulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FunctionType, LocationAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from kina.dialects.types import to_ir
from kina.errors import Diagnostic, KinaTypeError
from kina.gradients import takes_cotangent, vjp_operands, vjp_results
from kina.passes.inline_calls import CALLS
from kina.passes.lowering.places import span_of
from kina.passes.vjp.builder import GradientBuilder, Share, type_of
from kina.passes.vjp.chosen import before, behind, both, settled
from kina.passes.vjp.refusals import check_no_contest
from kina.passes.vjp.table import RULES


def differentiate(function: FuncOp, wrt: Sequence[int]) -> FuncOp:
    """A function that takes what `function` takes and the cotangents, and returns its results
    and the gradients of the parameters at `wrt`.

    Raises KinaTypeError for a result that depends on one of them through an argmax or argmin
    (seed 17), and for a call, which inline-calls has to take away first.
    """
    check_no_contest(function, wrt)
    inputs = [type_of(argument) for argument in function.body.block.args]
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    outputs = [type_of(result) for result in last.operands]
    operands = [to_ir(type_) for type_ in vjp_operands(inputs, outputs)]
    block = Block(arg_types=operands)
    results = _copy_body(function, block)
    gradients = _Reverse(block, list(block.ops), function.location).run(results, wrt, len(inputs))
    block.add_op(ReturnOp(*results, *gradients))
    types = [to_ir(type_) for type_ in vjp_results(inputs, outputs, wrt)]
    name = f"vjp of {function.sym_name.data}"
    return FuncOp(name, FunctionType.from_lists(operands, types), Region(block))


def _copy_body(function: FuncOp, block: Block) -> list[SSAValue]:
    """Append the operations of `function` to `block`, on its arguments; the returned values."""
    values: dict[SSAValue, SSAValue] = dict(zip(function.body.block.args, block.args, strict=False))
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            break
        copy = op.clone(values)
        copy.location = op.location
        block.add_op(copy)
    last = function.body.block.last_op
    assert last is not None
    return [values[operand] for operand in last.operands]


@dataclass
class _Reverse:
    """Walks `forward` backwards; the gradients go behind it, in `block`."""

    block: Block
    forward: Sequence[Operation]
    location: LocationAttr
    """Of the function: where seeds and zeros stand."""
    cotangents: dict[SSAValue, Share] = field(default_factory=dict[SSAValue, Share])

    def run(self, results: Sequence[SSAValue], wrt: Sequence[int], count: int) -> list[SSAValue]:
        """The gradients of the arguments at `wrt`; the cotangents follow the first `count`."""
        builder = GradientBuilder(self.block, self.location)
        given = iter(self.block.args[count:])
        active = self._active([self.block.args[position] for position in wrt])
        for result in results:
            type_ = type_of(result)
            seed = next(given) if takes_cotangent(type_) else None
            if result in active:
                share = builder.number(1.0, type_) if seed is None else seed
                self._accumulate(builder, result, Share(share))
        for op in reversed(self.forward):
            self._step(builder, active, op)
        return [self._gradient(builder, self.block.args[position]) for position in wrt]

    def _active(self, sources: Sequence[SSAValue]) -> set[SSAValue]:
        """The floating values that depend on `sources` by way of floating values only."""
        active = set(sources)
        for op in self.forward:
            if not any(operand in active for operand in op.operands):
                continue
            floating = [result for result in op.results if type_of(result).dtype.is_float]
            if floating and type(op) not in RULES:
                raise _no_rule(op)
            active.update(floating)
        return active

    def _step(self, builder: GradientBuilder, active: set[SSAValue], op: Operation) -> None:
        """Add the shares of the operands of `op`, if its result has a cotangent."""
        cotangent = self.cotangents.get(op.results[0]) if op.results else None
        if cotangent is None:
            return
        builder.location = op.location
        taken = before(builder, op, cotangent)
        partials = RULES[type(op)](builder, op, taken.value)
        for operand, partial in zip(op.operands, partials, strict=True):
            if partial is not None and operand in active:
                made = partial()
                share = made if isinstance(made, Share) else Share(made)
                self._accumulate(builder, operand, behind(builder, op, taken, share))

    def _accumulate(self, builder: GradientBuilder, value: SSAValue, share: Share) -> None:
        """Add `share` to the cotangent of `value`: the uses count in reverse program order."""
        known = self.cotangents.get(value)
        self.cotangents[value] = share if known is None else both(builder, known, share)

    def _gradient(self, builder: GradientBuilder, argument: SSAValue) -> SSAValue:
        known = self.cotangents.get(argument)
        if known is None:
            return builder.number(0.0, type_of(argument))
        return settled(builder, known)


def _no_rule(op: Operation) -> KinaTypeError:
    span = span_of(op.location)
    if isinstance(op, CALLS):
        message = "a call cannot be differentiated: run inline-calls first"
    else:
        message = f"{op.name} has no VJP"
    return KinaTypeError(Diagnostic(f"transform-ad: {message}", span))
