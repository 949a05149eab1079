"""Results of the functions of gradients that nothing reads: they are not computed.

A pullback gives all that it might be asked for. What of it is read is known once all is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from kina.dialects.call import CallOp
from kina.dialects.fold import FoldOp
from kina.dialects.types import to_ir
from kina.passes.inline_calls import USES, callee_name
from kina.passes.tensor_builder import type_of


def prune(functions: Mapping[str, FuncOp], added: Sequence[str]) -> None:
    """Leave out what nothing reads of the `added` functions; later ones use earlier ones."""
    uses: dict[str, list[CallOp | FoldOp]] = {name: [] for name in added}
    for function in functions.values():
        for op in function.walk():
            if isinstance(op, CallOp | FoldOp) and callee_name(op) in uses:
                uses[callee_name(op)].append(op)
    for name in reversed(added):
        left = [op for op in uses[name] if op.parent is not None]
        _prune(functions[name], left)


def _prune(function: FuncOp, uses: Sequence[CallOp | FoldOp]) -> None:
    returned = function.get_return_op()
    assert returned is not None
    count = len(returned.operands)
    read = {i for op in uses for i in range(count) if _is_read(op, i)}
    if len(read) == count or not uses:
        return
    for op in uses:
        _rebuild(op, read, count)
    kept = [value for i, value in enumerate(returned.operands) if i in read]
    returned.operands = kept
    inputs = function.function_type.inputs.data
    function.function_type = FunctionType.from_lists(inputs, [value.type for value in kept])
    _erase_unused(function.body.block.ops)


def _is_read(op: CallOp | FoldOp, position: int) -> bool:
    """Whether anything reads a result, the next layer of a fold included."""
    carried = len(op.carried) if isinstance(op, FoldOp) else 0
    return position < carried or bool(op.results[position].uses)


def _rebuild(op: CallOp | FoldOp, read: set[int], count: int) -> None:
    """The same use, without the results that are not read; a fold also has what it keeps."""
    kept = [r for i, r in enumerate(op.results) if i in read or i >= count]
    types = [to_ir(type_of(result)) for result in kept]
    if isinstance(op, FoldOp):
        new: CallOp | FoldOp = FoldOp(
            op.callee,
            op.carried,
            op.over,
            op.whole,
            types,
            reverse=op.reverse is not None,
            kept=op.kept_values,
        )
    else:
        new = CallOp(op.callee, op.arguments, types, op.size_values)
    new.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))
    results = iter(new.results)
    places: list[SSAValue | None] = [next(results) if r in kept else None for r in op.results]
    Rewriter.replace_op(op, [], places)


def _erase_unused(ops: Iterable[Operation]) -> None:
    for op in reversed(list(ops)):
        unused = bool(op.results) and not any(result.uses for result in op.results)
        if unused and (isinstance(op, USES) or is_side_effect_free(op)):
            Rewriter.erase_op(op)
