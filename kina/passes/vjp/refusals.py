"""What reverse mode refuses: a differentiated result that went through a contest (seed 17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from kina.dialects.elementwise import StopGradientOp
from kina.dialects.reduce import ReductionOp
from kina.errors import Diagnostic, KinaTypeError
from kina.frozen import frozen
from kina.ops import CONTESTS
from kina.passes.lowering.places import span_of
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.flow import Flow
from kina.rules.gradients import refusal


@frozen
class _Origin:
    """The parameters that a value depends on, and those on which it does through an contest."""

    parameters: frozenset[int] = frozenset()
    contest: Mapping[int, ReductionOp] = field(default_factory=dict[int, ReductionOp])


class ContestFlow(Flow[_Origin]):
    """For each value, what it depends on by any way, integers and indices included."""

    def start(self, position: int, parameter: SSAValue) -> _Origin:
        """A parameter depends on itself."""
        return _Origin(frozenset({position}))

    def step(self, op: Operation, operands: Sequence[_Origin]) -> Sequence[_Origin]:
        """A result depends on all operands; those of an contest stand behind it from here on."""
        if isinstance(op, StopGradientOp):
            return [_Origin()]
        found = self.join(operands)
        if isinstance(op, ReductionOp) and op.kind.data.value in CONTESTS:
            new = dict.fromkeys(found.parameters, op)
            found = _Origin(found.parameters, {**new, **found.contest})
        return [found] * len(op.results)

    def join(self, parts: Sequence[_Origin]) -> _Origin:
        """The union; of two ways through an contest, the one of the first operand."""
        places = {key: op for part in reversed(parts) for key, op in part.contest.items()}
        return _Origin(frozenset[int]().union(*(part.parameters for part in parts)), places)

    def through(self, fact: _Origin, operands: Sequence[_Origin]) -> _Origin:
        """What the operands depend on, and those of an contest inside."""
        read = self.join([operands[position] for position in sorted(fact.parameters)])
        inside = {
            parameter: op
            for position, op in fact.contest.items()
            for parameter in operands[position].parameters
        }
        return _Origin(read.parameters, {**inside, **read.contest})

    def check(self, function: FuncOp, wrt: Sequence[int]) -> None:
        """A KinaTypeError, at the contest, if a differentiated result depends on `wrt` through one.

        Differentiated are the floating results; where there are none, all of them.
        """
        returned = function.get_return_op()
        assert returned is not None
        floating = [type_of(result).dtype.is_float for result in returned.operands]
        for is_float, origin in zip(floating, self.of(function.sym_name.data), strict=True):
            for position in wrt:
                if position in origin.contest and (is_float or not any(floating)):
                    op = origin.contest[position]
                    raise KinaTypeError(
                        Diagnostic(refusal(op.kind.data.value), span_of(op.location))
                    )
