"""`inline-calls`: calls of small functions, and of those called seldom, become the callee's body.

Where the copies would be many or large, a call stays a call (`limits.py`): a program of nested
calls grows no faster than its text. A body that comes in takes the caller's dimensions for the
callee's symbols and keeps the callee's locations, so a failed check still names the line that holds
it. Checks stay in program order, also those of calls whose results nobody uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FlatSymbolRefAttr, ModuleOp
from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from kina.dialects.call import CallOp, call_binding, substitute_ir
from kina.dialects.callee import CalleeOp, sizes_attribute
from kina.dialects.fold import FoldOp
from kina.dialects.indexing import CheckIndicesOp, GatherOp, TakeAlongAxisOp
from kina.dialects.layout import CheckWindowOp, SizeOp, SliceOp, UpdateOp
from kina.dialects.types import IRTensor, from_ir
from kina.dialects.vjp import VjpOp
from kina.dims import substitute
from kina.errors import KinaTypeError
from kina.passes.callees_first import CalleesFirst
from kina.passes.decomposition.weights import weight
from kina.passes.limits import GRADIENT, Size, check_size, check_weight, is_copied
from kina.types import Dim

CALLS = (CallOp, FuncCallOp)
USES = (*CALLS, FoldOp)
"""Operations for which the function that they name has to be compiled."""
_CHECKED = (GatherOp, TakeAlongAxisOp, CheckIndicesOp, SliceOp, UpdateOp, CheckWindowOp)


class _Inliner(CalleesFirst):
    """Inlines into the functions of one module."""

    pass_name = "inline-calls"
    users = USES

    def __init__(self, functions: dict[str, FuncOp]) -> None:
        super().__init__(functions)
        bodies = [op for function in functions.values() for op in function.walk()]
        self._calls = Counter(callee_name(op) for op in bodies if isinstance(op, CALLS))
        self._sizes: dict[str, Size] = {}
        self._copied = Counter[str]()
        """What the bodies that came into a function weigh."""
        self._checked: set[str] = set()
        """Functions in which an index may be out of range."""

    def callee_name(self, op: Operation) -> str:
        """The function that is called."""
        return callee_name(op)

    def replace(self, op: Operation, callee: FuncOp) -> None:
        """Put a copy of the callee's body in place of the call, if it is to be copied."""
        name = callee.sym_name.data
        if not isinstance(op, FoldOp) and is_copied(self._sizes[name], self._calls[name]):
            self._check_growth(self._sizes[name])
            inline(op, callee)
            return
        _bind(op, callee)
        if name not in self._checked and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)

    def finish(self, function: FuncOp) -> None:
        """Also count what the function has now."""
        name = function.sym_name.data
        if name in self._sizes:
            return
        super().finish(function)
        check_size(function)
        body = list(function.walk())
        self.active.append(name)
        sizes = list(map(self._size, body))
        self.active.pop()
        # Without the function itself and its return.
        self._sizes[name] = Size(
            sum(size.operations for size in sizes) - 2, sum(size.weight for size in sizes) - 2
        )
        if any(map(self._may_fail, body)):
            self._checked.add(name)

    def _check_growth(self, body: Size) -> None:
        """Refuse a caller before what is too much comes into it."""
        caller = self.active[-1]
        self._copied[caller] += body.weight
        check_weight(self.functions[caller], self._copied[caller])

    def _size(self, op: Operation) -> Size:
        if not isinstance(op, VjpOp):
            return Size(1, weight(op))
        differentiated = self.body_of(op)
        self.finish(differentiated)
        return self._sizes[differentiated.sym_name.data] * GRADIENT

    def _may_fail(self, op: Operation) -> bool:
        if isinstance(op, CalleeOp | FoldOp | FuncCallOp):
            return callee_name(op) in self._checked
        return isinstance(op, _CHECKED)


def callee_name(op: Operation) -> str:
    """The function that a call or a gradient names."""
    return cast(FlatSymbolRefAttr, op.properties["callee"]).string_value()


def inline(op: Operation, callee: FuncOp) -> list[Operation]:
    """Put a copy of the callee's body in place of a call; the calls in it."""
    before = op.prev_op
    results = insert_body(callee, op.operands, _bind(op, callee), op)
    block = op.parent_block()
    assert block is not None
    new = block.first_op if before is None else before.next_op
    calls: list[Operation] = []
    while new is not None and new is not op:
        if isinstance(new, CALLS):
            calls.append(new)
        new = new.next_op
    Rewriter.replace_op(op, [], results)
    return calls


def insert_body(
    callee: FuncOp, arguments: Sequence[SSAValue], binding: dict[str, Dim], before: Operation
) -> list[SSAValue]:
    """A copy of the callee's body on these arguments, in front of `before`; what it returns."""
    operations, returned = copied_body(callee, arguments, binding)
    Rewriter.insert_op(operations, InsertPoint.before(before))
    return returned


def copied_body(
    callee: FuncOp, arguments: Sequence[SSAValue], binding: Mapping[str, Dim]
) -> tuple[list[Operation], list[SSAValue]]:
    """A copy of the callee's body on these arguments, and what it returns."""
    values: dict[SSAValue, SSAValue] = dict(zip(callee.args, arguments, strict=True))
    operations: list[Operation] = []
    for op in callee.body.block.ops:
        if isinstance(op, ReturnOp):
            return operations, [values[operand] for operand in op.operands]
        operations.append(_copy(op, values, binding))
    return operations, []


def _bind(call: Operation, callee: FuncOp) -> dict[str, Dim]:
    """The call's binding, which must cover every symbol of the body."""
    binding = call.binding(callee) if isinstance(call, FoldOp) else call_binding(call, callee)
    symbols = {
        symbol
        for op in callee.body.block.ops
        for type_ in op.result_types
        for symbol in from_ir(type_).symbols
    }
    if unbound := sorted(symbols - binding.keys()):
        raise KinaTypeError(
            f"inline-calls: @{callee.sym_name.data} has the symbol {unbound[0]} in its body, "
            "expected only symbols of its parameters"
        )
    return binding


def _copy(op: Operation, values: dict[SSAValue, SSAValue], binding: Mapping[str, Dim]) -> Operation:
    """`op` on the caller's values. Symbols stand in result types, and in a check's size."""
    operands = [values[operand] for operand in op.operands]
    if isinstance(op, CheckIndicesOp):
        check = CheckIndicesOp(operands[0], op.axis_value, substitute(op.size_value, binding))
        check.location = op.location
        return check
    if isinstance(op, CheckWindowOp):
        size, within = (substitute(dim, binding) for dim in (op.size_value, op.within_value))
        window = CheckWindowOp(operands[0], op.what.data, op.axis_value, size, within)
        window.location = op.location
        return window
    if isinstance(op, SizeOp):
        size = SizeOp(substitute(op.size, binding), from_ir(op.result.type).placement)
        size.location = op.location
        values[op.result] = size.result
        return size
    properties = dict(op.properties)
    if isinstance(op, CalleeOp) and op.sizes is not None:
        sizes = sizes_attribute([substitute(size, binding) for size in op.size_values])
        properties |= {"sizes": sizes} if sizes is not None else {}
    types = [substitute_ir(cast(IRTensor, type_), binding) for type_ in op.result_types]
    copy = type(op).create(
        operands=operands,
        result_types=types,
        attributes=dict(op.attributes),
        properties=properties,
        location=op.location,
    )
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
        values[old] = new
    return copy


class InlineCalls(ModulePass):
    """Inlines `kina.call` and `func.call` on kina IR; nested calls and several results included.

    What stays is called as a C function: no body of it is in the caller.

    Raises KinaTypeError for a recursive call, for a callee without a body, and for a function that
    grows past its limit.
    """

    name = "inline-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        _Inliner.run(op)
