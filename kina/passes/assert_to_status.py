"""`assert-to-status`: failed checks become a status code that the function returns.

`cf.assert` would abort the host process. Here checks become `scf.if %ok { the rest } else { n }`,
where n counts the first that failed: everything after them, the writes to the outputs included,
happens only if they hold. What a check does not need moves behind it, so that a call with a bad
index computes no more than it takes to find that out. Checks share one `scf.if`, unless one depends
on an element that another has to admit first: that one nests.

A check of sizes alone, such as where a window of a known place begins, comes before all calls: so
these may write to outputs.

A call of another function is a check as well. Its status becomes the caller's: the callee's
messages follow in the caller's list, each once, however many calls can fail with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, AndIOp, CmpiOp, ConstantOp, SelectOp
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr, i32
from xdsl.dialects.cf import AssertOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from kina.dialects.invoke import Invocation
from kina.errors import KinaError
from kina.passes.located import stamp
from kina.status import OK, STATUS

OperationT = TypeVar("OperationT", bound=Operation)
Check: TypeAlias = AssertOp | Invocation
Codes: TypeAlias = Sequence[tuple[int, int]]
"""A status from the first number on moves by the second; an assert's own number is the second."""
Numbered: TypeAlias = tuple[Codes, Check]

SETTLED = "settled"
"""The attribute of a `kina.invoke` that every other check of indices comes before."""
NESTED = 32
"""Inside so many branches, a call no longer waits for the checks before it."""


def _finds_mistakes(codes: Codes) -> bool:
    """Whether a check is one of the caller's arguments: its status is a message's number."""
    return any(first > 0 or delta > OK for first, delta in codes)


def _needed(values: Iterable[SSAValue], pool: set[Operation]) -> set[Operation]:
    """The operations of `pool` that `values` are computed from."""
    needed: set[Operation] = set()
    work = list(values)
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
    pending: list[tuple[Codes, Check]] = field(default_factory=list[tuple[Codes, Check]])
    """Checks that wait for their common branch, each with its numbers."""
    depth: int = 0
    """How many branches are around `block`."""

    def check(self, codes: Codes, check: Check, *, is_last: bool) -> None:
        """Place what the check needs; it joins the pending ones unless it must come after them.

        A call waits for the checks before it, so that a bad index costs little to find. Where
        all others hold already, it may write to outputs.
        """
        needed = _needed(check.operands, set(self.rest))
        asserts = any(isinstance(earlier, AssertOp) for _, earlier in self.pending)
        waits = isinstance(check, Invocation) and asserts and self.depth < NESTED
        if waits or any(_reads(op) for op in needed):
            self.branch()
        self.block.add_ops(op for op in self.rest if op in needed)
        self.rest = [op for op in self.rest if op not in needed and op is not check]
        if isinstance(check, Invocation):
            self.block.add_op(check)
            if is_last and not any(_finds_mistakes(earlier) for earlier, _ in self.pending):
                check.attributes[SETTLED] = UnitAttr()
        self.pending.append((codes, check))

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
            if isinstance(check, AssertOp):
                check.erase()
        self.block, self.pending, self.depth = inner, [], self.depth + 1

    def _combined(self) -> tuple[SSAValue, SSAValue]:
        """The number of the first pending check that failed, and whether none did."""
        (codes, last), *earlier = reversed(self.pending)
        status, holds = self._failed(codes, last), self._holds(last)
        for codes, check in earlier:
            failed, passed = self._failed(codes, check), self._holds(check)
            status = self._add(SelectOp(passed, status, failed), check)
            holds = self._add(AndIOp(passed, holds), check)
        return status, holds

    def _holds(self, check: Check) -> SSAValue:
        if isinstance(check, AssertOp):
            return check.arg
        return self._add(CmpiOp(check.status, self._code(OK, check), "eq"), check)

    def _failed(self, codes: Codes, check: Check) -> SSAValue:
        """The status where `check` fails; a callee's, moved to where its messages stand here."""
        if isinstance(check, AssertOp):
            return self._code(codes[0][1], check)
        status = check.status
        for first, delta in codes:
            moved = self._add(AddiOp(check.status, self._code(delta, check)), check)
            after = self._add(CmpiOp(check.status, self._code(first, check), "sge"), check)
            status = self._add(SelectOp(after, moved, status), check)
        return status

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


def _checks(function: FuncOp, body: Iterable[Operation]) -> list[Check]:
    """The function's checks in program order; all stand in its own block."""
    checks = [op for op in body if isinstance(op, AssertOp | Invocation)]
    if len(checks) != sum(isinstance(op, AssertOp | Invocation) for op in function.walk()):
        raise KinaError(
            f"assert-to-status: @{function.sym_name.data} has a cf.assert inside another "
            "operation, expected every check at the top level of the function"
        )
    return checks


def _sizes_first(numbered: list[Numbered], body: Iterable[Operation]) -> list[Numbered]:
    """The checks with those of sizes alone before the first call."""
    calls = (at for at, (_, check) in enumerate(numbered) if isinstance(check, Invocation))
    if (start := next(calls, None)) is None:
        return numbered
    pool = set(body)

    def only_reads_sizes(check: Check) -> bool:
        needed = _needed(check.operands, pool) if isinstance(check, AssertOp) else {check}
        return all(op.dialect_name() == "arith" for op in needed)

    later = numbered[start:]
    early = [pair for pair in later if only_reads_sizes(pair[1])]
    return [*numbered[:start], *early, *(pair for pair in later if pair not in early)]


@dataclass
class _Messages:
    """What the statuses of a function say, in order from 1."""

    texts: list[StringAttr] = field(default_factory=list[StringAttr])
    _numbers: dict[StringAttr, int] = field(default_factory=dict[StringAttr, int])

    def codes(self, check: Check, callees: Mapping[str, FuncOp]) -> Codes:
        """The numbers of a check, which is the next one."""
        if isinstance(check, Invocation):
            return self._callee(callees[check.callee.string_value()])
        own = check.attributes.get(STATUS)
        if isinstance(own, IntegerAttr):
            return [(0, own.value.data)]
        return [(0, self._number(check.msg))]

    def _number(self, text: StringAttr) -> int:
        """The number of a message, a new one if it is new."""
        if text not in self._numbers:
            self.texts.append(text)
            self._numbers[text] = len(self.texts)
        return self._numbers[text]

    def _callee(self, callee: FuncOp) -> Codes:
        """How a callee's statuses move: from the first of each run on, by so much."""
        runs: list[tuple[int, int]] = []
        for code, text in enumerate(messages_of(callee), 1):
            delta = self._number(text) - code
            if not runs or runs[-1][1] != delta:
                runs.append((code, delta))
        return runs


def messages_of(function: FuncOp) -> Sequence[StringAttr]:
    """What the statuses of a finished function say."""
    return cast(ArrayAttr[StringAttr], function.attributes["status_messages"]).data


def _rewrite(function: FuncOp, callees: Mapping[str, FuncOp]) -> None:
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
    messages = _Messages()
    numbered = _sizes_first([(messages.codes(check, callees), check) for check in checks], body)
    function.attributes["status_messages"] = ArrayAttr(messages.texts)
    for op in body:
        op.detach()
    builder = _Builder(function, function.body.block, body)
    last = max((i for i, (codes, _) in enumerate(numbered) if _finds_mistakes(codes)), default=0)
    for number, (codes, check) in enumerate(numbered):
        builder.check(codes, check, is_last=number >= last)
    builder.done()
    function.update_function_type()


class AssertToStatus(ModulePass):
    """Runs after export-c. Every function returns i32: 0, or n for its n-th check that failed.

    The messages are the function attribute `status_messages`, in order.
    Raises KinaError for a function that export-c did not make.
    """

    name = "assert-to-status"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        functions = {item.sym_name.data: item for item in op.ops if isinstance(item, FuncOp)}
        for function in callees_first(functions):
            _rewrite(function, functions)


def callees_first(functions: Mapping[str, FuncOp]) -> Iterator[FuncOp]:
    """The functions, each after those that it invokes; without recursion: chains may be long."""
    done: set[str] = set()
    active: set[str] = set()
    for name in functions:
        pending = [name]
        while pending:
            last = pending[-1]
            called = [op for op in functions[last].walk() if isinstance(op, Invocation)]
            names = dict.fromkeys(op.callee.string_value() for op in called)
            if missing := [callee for callee in names if callee not in done]:
                active.add(last)
                if found := active.intersection(missing):
                    raise KinaError(f"assert-to-status: @{found.pop()} calls itself")
                pending += missing
                continue
            pending.pop()
            if last not in done:
                done.add(last)
                active.discard(last)
                yield functions[last]
