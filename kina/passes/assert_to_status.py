"""`assert-to-status`: failed checks become a status code that the function returns.

`cf.assert` would abort the host process. Here checks become `scf.if %ok { the rest } else { n }`,
where n counts the first that failed: everything after them, the writes to the outputs included,
happens only if they hold. What a check does not need moves behind it, so that a call with a bad
index computes no more than it takes to find that out. Checks share one `scf.if`, unless one depends
on an element that another has to admit first: that one nests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.arith import AndIOp, ConstantOp, SelectOp
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i32
from xdsl.dialects.cf import AssertOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from kina.errors import KinaError
from kina.passes.check_sizes import STATUS
from kina.passes.located import stamp
from kina.status import OK

OperationT = TypeVar("OperationT", bound=Operation)


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


def _reads(op: Operation) -> bool:
    """Whether `op` reads elements at computed places, which earlier checks must have admitted."""
    return any(isinstance(inner, ExtractOp) and inner is not op for inner in op.walk())


@dataclass
class _Builder:
    """Fills the emptied function again: `block` is the innermost branch so far."""

    function: FuncOp
    block: Block
    rest: list[Operation]
    """What no check has needed so far, in order."""
    pending: list[tuple[int, AssertOp]] = field(default_factory=list[tuple[int, AssertOp]])
    """Checks that wait for their common branch, each with its number."""

    def check(self, code: int, check: AssertOp) -> None:
        """Place what the check needs; it joins the pending ones unless it must come after them."""
        needed = _needed(check.arg, set(self.rest))
        if any(_reads(op) for op in needed):
            self.branch()
        self.block.add_ops(op for op in self.rest if op in needed)
        self.rest = [op for op in self.rest if op not in needed and op is not check]
        self.pending.append((code, check))

    def branch(self) -> None:
        """Go on where all pending checks hold; elsewhere the status is the first that does not."""
        if not self.pending:
            return
        first = self.pending[0][1]
        status, holds = self._combined()
        inner = Block()
        branch = IfOp(holds, [i32], [inner], [self._at(YieldOp(status), first)])
        self.block.add_op(self._at(branch, first))
        self.finish(branch.output[0])
        for _, check in self.pending:
            check.erase()
        self.block, self.pending = inner, []

    def _combined(self) -> tuple[SSAValue, SSAValue]:
        """The number of the first pending check that failed, and whether none did."""
        (code, last), *earlier = reversed(self.pending)
        status, holds = self._code(code, last), last.arg
        for code, check in earlier:
            failed = self._code(code, check)
            status = self._add(SelectOp(check.arg, status, failed), check)
            holds = self._add(AndIOp(check.arg, holds), check)
        return status, holds

    def finish(self, value: SSAValue) -> None:
        """End the block with `value`: the function returns it, a branch yields it."""
        outermost = self.block.parent_op() is self.function
        self.block.add_op(self._at(ReturnOp(value) if outermost else YieldOp(value), self.function))

    def done(self) -> None:
        """Place all that is left; the status is 0."""
        self.branch()
        self.block.add_ops(self.rest)
        self.finish(self._code(OK, self.function))

    def _code(self, code: int, like: Operation) -> SSAValue:
        return self._add(ConstantOp(IntegerAttr(code, i32)), like)

    def _add(self, op: Operation, like: Operation) -> SSAValue:
        self.block.add_op(self._at(op, like))
        return op.results[0]

    def _at(self, op: OperationT, like: Operation) -> OperationT:
        stamp(op, like)
        return op


def _checks(function: FuncOp, body: Iterable[Operation]) -> list[AssertOp]:
    """The function's checks in program order; all stand in its own block."""
    checks = [op for op in body if isinstance(op, AssertOp)]
    if len(checks) != sum(isinstance(op, AssertOp) for op in function.walk()):
        raise KinaError(
            f"assert-to-status: @{function.sym_name.data} has a cf.assert inside another "
            "operation, expected every check at the top level of the function"
        )
    return checks


def _code(check: AssertOp, numbered: Sequence[AssertOp]) -> int:
    """The status where `check` fails: its own if it names one, else its number from 1."""
    own = check.attributes.get(STATUS)
    return own.value.data if isinstance(own, IntegerAttr) else numbered.index(check) + 1


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
    numbered = [check for check in checks if STATUS not in check.attributes]
    function.attributes["status_messages"] = ArrayAttr(check.msg for check in numbered)
    for op in body:
        op.detach()
    builder = _Builder(function, function.body.block, body)
    for check in checks:
        builder.check(_code(check, numbered), check)
    builder.done()
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
