"""What reverse mode refuses: a differentiated result that went through a contest (seed 17)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from kina.dialects.elementwise import StopGradientOp
from kina.dialects.reduce import ReductionOp
from kina.errors import Diagnostic, KinaTypeError
from kina.gradients import refusal
from kina.ops import CONTESTS
from kina.passes.lowering.places import span_of
from kina.passes.vjp.builder import type_of


def check_no_contest(function: FuncOp, wrt: Sequence[int]) -> None:
    """A KinaTypeError, at the contest, if a differentiated result depends on `wrt` through one.

    Differentiated are the floating results; where there are none, all of them.
    """
    arguments = function.body.block.args
    reached: set[SSAValue] = {arguments[position] for position in wrt}
    through: dict[SSAValue, ReductionOp] = {}
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            _check_results(op.operands, through)
            return
        if isinstance(op, StopGradientOp) or not any(o in reached for o in op.operands):
            continue
        reached.update(op.results)
        found = [through[operand] for operand in op.operands if operand in through]
        if isinstance(op, ReductionOp) and op.kind.data.value in CONTESTS:
            found.append(op)
        if found:
            through.update(dict.fromkeys(op.results, found[0]))


def _check_results(results: Sequence[SSAValue], through: dict[SSAValue, ReductionOp]) -> None:
    differentiated = [result for result in results if type_of(result).dtype.is_float] or results
    for result in differentiated:
        if result in through:
            contest = through[result]
            message = refusal(contest.kind.data.value)
            raise KinaTypeError(Diagnostic(message, span_of(contest.location)))
