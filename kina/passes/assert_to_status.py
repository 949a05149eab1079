"""`assert-to-status`: failed checks become a status code that the function returns.

`cf.assert` would abort the host process. Here the n-th check of a function becomes
`scf.if %ok { the rest } else { n }`: everything after it, the writes to the outputs included,
happens only if it holds. What a check does not need moves behind it, so that a call with a bad
index computes no more than it takes to find that out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i32
from xdsl.dialects.cf import AssertOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from kina.errors import KinaError
from kina.passes.located import stamp

OK = 0
"""The status of a call whose checks all held."""


def _needed(value: SSAValue, pool: set[Operation]) -> set[Operation]:
    """The operations of `pool` that `value` is computed from."""
    needed: set[Operation] = set()
    work = [value]
    while work:
        owner = work.pop().owner
        if isinstance(owner, Operation) and owner in pool and owner not in needed:
            needed.add(owner)
            work.extend(operand for op in owner.walk() for operand in op.operands)
    return needed


def _status(code: int, like: Operation) -> list[Operation]:
    """A block's end that yields `code`."""
    constant = ConstantOp(IntegerAttr(code, i32))
    end: list[Operation] = [constant, YieldOp(constant)]
    for op in end:
        stamp(op, like)
    return end


def _finish(block: Block, value: SSAValue, function: FuncOp) -> None:
    """End `block` with `value`: the function's own block returns it, an inner one yields it."""
    end = ReturnOp(value) if block.parent_op() is function else YieldOp(value)
    stamp(end, function)
    block.add_op(end)


def _nest(function: FuncOp, body: Sequence[Operation], checks: Sequence[AssertOp]) -> None:
    """Fill the empty function with `body`, each check around what comes after it."""
    block, rest = function.body.block, list(body)
    for code, check in enumerate(checks, start=1):
        needed = _needed(check.arg, set(rest))
        block.add_ops(op for op in rest if op in needed)
        rest = [op for op in rest if op not in needed and op is not check]
        inner = Block()
        branch = IfOp(check.arg, [i32], [inner], _status(code, check))
        check.erase()
        stamp(branch, check)
        block.add_op(branch)
        _finish(block, branch.output[0], function)
        block = inner
    block.add_ops(rest)
    done = ConstantOp(IntegerAttr(OK, i32))
    stamp(done, function)
    block.add_op(done)
    _finish(block, done.result, function)


def _checks(function: FuncOp, body: Iterable[Operation]) -> list[AssertOp]:
    """The function's checks in program order; all stand in its own block."""
    checks = [op for op in body if isinstance(op, AssertOp)]
    if len(checks) != sum(isinstance(op, AssertOp) for op in function.walk()):
        raise KinaError(
            f"assert-to-status: @{function.sym_name.data} has a cf.assert inside another "
            "operation, expected every check at the top level of the function"
        )
    return checks


def _rewrite(function: FuncOp) -> None:
    end = function.get_return_op()
    if end is None or end.operands or len(function.body.blocks) != 1:
        raise KinaError(
            f"assert-to-status: @{function.sym_name.data} returns tensors or branches, expected "
            "one block that writes outputs and returns nothing: run export-c first"
        )
    end.detach()
    end.erase()
    body = list(function.body.block.ops)
    checks = _checks(function, body)
    function.attributes["status_messages"] = ArrayAttr(check.msg for check in checks)
    for op in body:
        op.detach()
    _nest(function, body, checks)
    function.update_function_type()


@dataclass(frozen=True)
class AssertToStatus(ModulePass):
    """Runs after export-c. Every function returns i32: 0, or n for its n-th check that failed.

    The messages are the function attribute `status_messages`, in order.
    Raises KinaError for a function that export-c did not make.
    """

    name = "assert-to-status"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        for function in [item for item in op.body.block.ops if isinstance(item, FuncOp)]:
            _rewrite(function)
