"""Calls between functions on their way to C: `func.call` on tensors becomes `kina.invoke`.

Nothing is cast any more: where a symbol of the callee meets a known size, the memory is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, TensorType, i64
from xdsl.dialects.tensor import CastOp, EmptyOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from kina.dialects.invoke import InvokeOp
from kina.dialects.types import IRTensor
from kina.dims import substitute
from kina.frozen import frozen
from kina.passes.builder import Builder
from kina.passes.lowering.calls import SIZES
from kina.passes.lowering.storage import tensor_type
from kina.types import Dim


@frozen
class Callee:
    """What a caller needs to know of a function that lower-kina made."""

    symbol: str
    """Its name in C."""
    symbols: Sequence[str]
    result_dims: Sequence[Sequence[Dim]]


class Exported:
    """One call: `sizes` are those of the caller's symbols, as an index each.

    What it needs is computed before `at`, the call itself or the loop around it.
    """

    def __init__(
        self, call: func.CallOp, callee: Callee, sizes: Mapping[str, SSAValue], at: Operation
    ) -> None:
        self._call, self._callee, self._sizes = call, callee, sizes
        self.at = Builder(at, call.location)
        self._binding = dict(zip(callee.symbols, _bound(call), strict=True))

    def passed_sizes(self) -> list[SSAValue]:
        """The callee's symbols."""
        return [self._as_i64(self._binding[symbol]) for symbol in self._callee.symbols]

    def _as_i64(self, dim: Dim) -> SSAValue:
        if isinstance(dim, str):
            return self.at.value(IndexCastOp(self._sizes[dim], i64))
        return self.at.integer(dim, i64)

    def empty_results(self, count: int) -> list[SSAValue]:
        """A tensor to be written for each of the first results."""
        outs: list[SSAValue] = []
        dims_of = self._callee.result_dims[:count]
        for result, dims in zip(self._call.results[:count], dims_of, strict=True):
            mine = tuple(substitute(dim, self._binding) for dim in dims)
            kind = tensor_type(cast(IRTensor, result.type).element_type, mine)
            dynamic = [self._sizes[dim] for dim in mine if isinstance(dim, str)]
            outs.append(self.at.value(EmptyOp(dynamic, kind)))
        return outs


def invoke(call: func.CallOp, callee: Callee, sizes: Mapping[str, SSAValue]) -> None:
    """Replace a call."""
    exported = Exported(call, callee, sizes, call)
    passed = exported.passed_sizes()
    # Behind the tensors stand sizes, which are among `passed`.
    tensors = [operand for operand in call.operands if isinstance(operand.type, TensorType)]
    inputs = [uncast(operand) for operand in tensors]
    op = InvokeOp(callee.symbol, passed, inputs, exported.empty_results(len(call.results)))
    exported.at.append(op)
    for old, new in zip(call.results, op.made, strict=True):
        _replace(old, new)
    Rewriter.erase_op(call)


def _bound(call: func.CallOp) -> list[Dim]:
    """The caller's dimensions for the callee's symbols, as lower-kina wrote them down."""
    found = cast(ArrayAttr[StringAttr | IntegerAttr], call.attributes.get(SIZES, ArrayAttr([])))
    return [dim.data if isinstance(dim, StringAttr) else dim.value.data for dim in found]


def uncast(value: SSAValue) -> SSAValue:
    """The tensor before its sizes were forgotten, or learnt."""
    return value.owner.source if isinstance(value.owner, CastOp) else value


def _replace(old: SSAValue, new: SSAValue) -> None:
    """Let the uses of a call's result read `new`; its casts go where they change nothing."""
    for use in list(old.uses):
        if isinstance(use.operation, CastOp) and use.operation.dest.type == new.type:
            Rewriter.replace_op(use.operation, [], [new])
    if old.uses:
        old.replace_all_uses_with(new)
