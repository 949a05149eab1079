"""`expand-math`: exp, log, expm1, log1p, tanh and erf become plain scalar arithmetic.

What comes out has no branch, no call and no reassociation, so it vectorises, needs no libm and
gives the same bits on every target. Every mul and add rounds on its own; where one rounding is
meant, `math.fma` says so. Each function is within 1 ulp over all float32 values, which
`tools/ulp_sweep.py` checks exhaustively. Polynomials come from `tools/minimax.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import builtin, math
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from kina.passes.emit import Constants, Emitter
from kina.passes.expansions.erf import expand_erf
from kina.passes.expansions.exp import expand_exp, expand_summed_exp
from kina.passes.expansions.expm1 import expand_expm1
from kina.passes.expansions.log import expand_log
from kina.passes.expansions.log1p import expand_log1p
from kina.passes.expansions.tanh import expand_tanh

# A discardable attribute of `math.exp`: the operand is never above 64 (x - max(x), say).
NONPOSITIVE = "nonpositive"
# Another one: besides, results are only added to a sum that an exp(0) is part of.
SUMMED = "summed"


def _expand_noted_exp(emit: Emitter, op: Operation) -> SSAValue:
    x = op.operands[0]
    if SUMMED in op.attributes:
        return expand_summed_exp(emit, x)
    return expand_exp(emit, x, NONPOSITIVE in op.attributes)


Expansion = Callable[[Emitter, Operation], SSAValue]


def _of_operand(expand: Callable[[Emitter, SSAValue], SSAValue]) -> Expansion:
    return lambda emit, op: expand(emit, op.operands[0])


EXPANSIONS: dict[type[Operation], Expansion] = {
    math.ExpOp: _expand_noted_exp,
    math.LogOp: _of_operand(expand_log),
    math.ExpM1Op: _of_operand(expand_expm1),
    math.Log1pOp: _of_operand(expand_log1p),
    math.TanhOp: _of_operand(expand_tanh),
    math.ErfOp: _of_operand(expand_erf),
}


def _expand_all(module: builtin.ModuleOp, table: dict[type[Operation], Expansion]) -> None:
    """Replaces every float32 op that the table knows."""
    found = [op for op in module.walk() if type(op) in table and op.results[0].type == f32]
    constants: defaultdict[Block | None, Constants] = defaultdict(dict)
    for op in found:
        emit = Emitter(op, constants[op.parent_block()])
        emit.finish(table[type(op)](emit, op))


class ExpandMath(ModulePass):
    """Expands the scalar float32 functions of `EXPANSIONS`.

    A `math.exp` that carries the unit attribute `nonpositive` (see `NONPOSITIVE`) gets a shorter
    form with the same bits; with `summed`, one whose tiniest results are larger. Ops on other
    types are left alone: small floats are widened before.
    Seed 9 (log_softmax).
    """

    name = "expand-math"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        """Rewrites the module in place."""
        _expand_all(op, EXPANSIONS)
