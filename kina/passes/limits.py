"""How large a program may grow before it is refused, and which calls become bodies."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.func import FuncOp

from kina.errors import Diagnostic, KinaTypeError, Note
from kina.passes.lowering.places import span_of

SMALL = 16
"""A body of so many operations always takes the place of a call."""
COPIED = 128
"""A larger one does if all its copies together have so many operations; else calls stay calls."""
GRADIENT = 4
"""Operations of a function and its gradients for each of its own, as an estimate."""
MAX_OPERATIONS = 10_000
"""Operations of a function once its calls are bodies and its gradients there."""

MAX_PROGRAM = 100_000
"""Operations of all functions of a program together."""


def is_copied(operations: int, calls: int) -> bool:
    """Whether a function of so many operations, called so often, takes the place of its calls."""
    return operations <= SMALL or operations * calls <= COPIED


def too_large(function: FuncOp, what: str) -> KinaTypeError:
    """The error of a function that grew past `MAX_OPERATIONS`."""
    message = f"{what} more than {MAX_OPERATIONS} operations, which is the limit of a function"
    help_ = "make functions of its parts and call them: calls of large functions stay calls"
    return KinaTypeError(Diagnostic(message, span_of(function.location), notes=(Note(help_),)))


def check_size(function: FuncOp) -> None:
    """Refuse a function of more than `MAX_OPERATIONS`."""
    if function.is_declaration or len(function.body.block.ops) <= MAX_OPERATIONS:
        return
    raise too_large(function, f"function {function.sym_name.data} has")


def check_program(functions: Iterable[FuncOp]) -> None:
    """Refuse a program of more than `MAX_PROGRAM` operations, at the function that is too much."""
    total = 0
    for function in functions:
        total += 0 if function.is_declaration else len(function.body.block.ops)
        if total > MAX_PROGRAM:
            message = f"the program has more than {MAX_PROGRAM} operations, which is its limit"
            help_ = "make several programs of it: each is compiled, and cached, on its own"
            place = span_of(function.location)
            raise KinaTypeError(Diagnostic(message, place, notes=(Note(help_),)))
