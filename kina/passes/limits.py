"""How large a program may grow before it is refused, and which calls become bodies."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.func import FuncOp

from kina.errors import Diagnostic, KinaTypeError, Note
from kina.frozen import frozen
from kina.passes.decomposition.weights import weight_of
from kina.passes.lowering.places import span_of

SMALL = 16
"""A body of so many operations always takes the place of a call."""
COPIED = 128
"""A larger one does if all its copies together have so many operations; else calls stay calls."""
EXPANDED = 4
"""Operations that those of such bodies may become, each, on average."""
GRADIENT = 4
"""Operations of a function and its gradients for each of its own, as an estimate."""
MAX_OPERATIONS = 10_000
"""What a function may become (`weights.py`) once its calls are bodies and its gradients there."""

MAX_PROGRAM = 100_000
"""What all functions of a program together may become."""


@frozen(slots=True)
class Size:
    """How large a body is."""

    operations: int
    weight: int
    """The operations that they become."""

    def __mul__(self, times: int) -> Size:
        return Size(self.operations * times, self.weight * times)

    def fits(self, bound: int) -> bool:
        """Whether it is of so many operations at most, which become few enough."""
        return self.operations <= bound and self.weight <= EXPANDED * bound


def is_copied(body: Size, calls: int) -> bool:
    """Whether a function of this size, called so often, takes the place of its calls."""
    return body.fits(SMALL) or (body * calls).fits(COPIED)


def _too_large(function: FuncOp) -> KinaTypeError:
    """The error of a function that grew past `MAX_OPERATIONS`."""
    message = (
        f"function {function.sym_name.data} has more than {MAX_OPERATIONS} operations, "
        "which is the limit of a function"
    )
    help_ = (
        "make functions of its parts and call them: calls of large functions stay calls; "
        "an operation counts as what it is made of: a softmax as 7, a layer_norm as 35"
    )
    return KinaTypeError(Diagnostic(message, span_of(function.location), notes=(Note(help_),)))


def check_size(function: FuncOp) -> None:
    """Refuse a function of more than `MAX_OPERATIONS`."""
    if not function.is_declaration:
        check_weight(function, weight_of(function.body.block.ops))


def check_weight(function: FuncOp, weight: int) -> None:
    """Refuse a function that is known to be of so many operations."""
    if weight > MAX_OPERATIONS:
        raise _too_large(function)


def check_program(functions: Iterable[FuncOp]) -> None:
    """Refuse a program of more than `MAX_PROGRAM` operations, at the function that is too much."""
    total = 0
    for function in functions:
        total += 0 if function.is_declaration else weight_of(function.body.block.ops)
        if total > MAX_PROGRAM:
            message = f"the program has more than {MAX_PROGRAM} operations, which is its limit"
            help_ = "make several programs of it: each is compiled, and cached, on its own"
            place = span_of(function.location)
            raise KinaTypeError(Diagnostic(message, place, notes=(Note(help_),)))
