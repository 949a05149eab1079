"""`expand-fma`: fused multiply-adds as functions, for machines that have no such instruction.

LLVM would call libm's `fmaf` for each element. Here every type of `math.fma` that a module uses
becomes one private function. That for vectors is kept out of line: 64 lanes would otherwise repeat
its two dozen instructions at every step.

The product of two F32 is exact in F64. The sum is rounded to odd there (if inexact, the
neighbour with the odd last bit), which makes the second rounding, to F32, the only one that
counts: the same bits as the instruction (Boldo and Melquiond, 2008). A NaN has no error, so
nothing is added to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from kina.passes.kernels.ops import Ops, element_type, is_vector, lanes_of

PREFIX = "kina$fma"
"""No program has a `$` in a name."""
PIECE = 16
"""Lanes of one call: a few registers."""


class ExpandFma(ModulePass):
    """Replace each `math.fma` by a call."""

    name = "expand-fma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the module in place; the functions go to its end."""
        kinds: dict[Attribute, str] = {}
        for fused in [found for found in op.walk() if isinstance(found, math.FmaOp)]:
            _replace(fused, kinds)
        for kind, name in kinds.items():
            Rewriter.insert_op(_function(name, kind), InsertPoint.at_end(op.body.block))


def _replace(fused: math.FmaOp, kinds: dict[Attribute, str]) -> None:
    """Call the function; long vectors in pieces, so that no frame holds a whole one."""
    ops = Ops(Block(), fused.location)
    lanes = lanes_of(fused.result)
    if lanes > PIECE and lanes % PIECE == 0:
        pieces = [
            _call(ops, [ops.lanes_of(v, range(i, i + PIECE)) for v in fused.operands], kinds)
            for i in range(0, lanes, PIECE)
        ]
        result = ops.joined(pieces)
    else:
        result = _call(ops, fused.operands, kinds)
    new = list(ops.block.ops)
    for op in new:
        op.detach()
    Rewriter.replace_op(fused, new, [result])


def _call(ops: Ops, operands: Sequence[SSAValue], kinds: dict[Attribute, str]) -> SSAValue:
    kind = operands[0].type
    kinds.setdefault(kind, f"{PREFIX}${lanes_of(operands[0]) or 1}")
    return ops.value(func.CallOp(kinds[kind], operands, [kind]))


def _function(name: str, kind: Attribute) -> func.FuncOp:
    block = Block(arg_types=[kind] * 3)
    ops = Ops(block, block.args[0].location)
    ops.append(func.ReturnOp(_fused(ops, *block.args)))
    signature = FunctionType.from_lists([kind] * 3, [kind])
    function = func.FuncOp(name, signature, Region(block), StringAttr("private"))
    # A scalar's loop may become vectors yet.
    how = "noinline" if is_vector(block.args[0]) else "alwaysinline"
    function.attributes["passthrough"] = ArrayAttr([StringAttr(how)])
    return function


def _fused(ops: Ops, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
    lanes = lanes_of(a)
    x, y, z = (ops.cast(arith.ExtFOp, value, f64) for value in (a, b, c))

    def number(value: int) -> SSAValue:
        return ops.spread(ops.value(arith.ConstantOp(IntegerAttr(value, i64))), lanes)

    zero = ops.spread(ops.value(arith.ConstantOp(FloatAttr(0.0, f64))), lanes)

    def subtract(left: SSAValue, right: SSAValue) -> SSAValue:
        return ops.value(arith.SubfOp(left, right))

    product = ops.value(arith.MulfOp(x, y))
    total = ops.value(arith.AddfOp(product, z))
    # The error of the sum is Knuth's two-sum; where it has the other sign, the sum is too large.
    z_part = subtract(total, product)
    product_error = subtract(product, subtract(total, z_part))
    error = ops.value(arith.AddfOp(product_error, subtract(z, z_part)))
    bits, error_bits = (ops.cast(arith.BitcastOp, value, i64) for value in (total, error))
    even = ops.compare("eq", ops.value(arith.AndIOp(bits, number(1))), number(0))
    tweak = ops.value(arith.AndIOp(even, ops.compare("one", error, zero)))
    too_large = ops.compare("slt", ops.value(arith.XOrIOp(bits, error_bits)), number(0))
    toward = ops.select(too_large, number(-1), number(1))
    odd = ops.value(arith.AddiOp(bits, ops.select(tweak, toward, number(0))))
    return ops.cast(arith.TruncFOp, ops.cast(arith.BitcastOp, odd, f64), element_type(a))
