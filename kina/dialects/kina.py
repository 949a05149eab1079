"""The `kina` dialect: its operations, its attributes, and how to build one by its table name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import cast

from xdsl.ir import Dialect, Operation, SSAValue

from kina.dialects import (
    call,
    choice,
    contraction,
    elementwise,
    fibers,
    fold,
    indexing,
    integers,
    internal,
    invoke,
    layout,
    normalize,
    random,
    reduce,
    scan,
    selection,
    shaping,
    vjp,
)
from kina.dialects.base import KinaOp
from kina.dialects.reduce import ReductionKindAttr
from kina.dialects.types import LayoutAttr
from kina.ops import OPS
from kina.rules.parts import Attributes

_MODULES = (
    *(elementwise, choice, integers, shaping, layout, reduce, normalize, fibers, indexing),
    *(contraction, scan, random, selection),
    *(call, internal, vjp, fold, invoke),
)
"""The modules whose operations make the dialect."""


def _defined(module: ModuleType) -> Iterator[type[Operation]]:
    """The operations that a module defines: its classes with a name, not their bases."""
    classes = (item for item in vars(module).values() if isinstance(item, type))
    # The cheap questions first: whether a class is an operation is asked of all operations.
    own = (item for item in classes if item.__module__ == module.__name__ and "name" in vars(item))
    yield from (item for item in own if issubclass(item, Operation))


_OPERATIONS = [op for module in _MODULES for op in _defined(module)]

OP_CLASSES: dict[str, type[KinaOp]] = {
    name: op
    for op in _OPERATIONS
    if (name := op.name.removeprefix("kina.")) in OPS and issubclass(op, KinaOp)
}
"""The operation class of every row of the op table."""


def build(name: str, operands: Sequence[SSAValue], attributes: Attributes) -> KinaOp:
    """Operation `name` of the op table; a `RuleError` where its type rule is broken."""
    arguments = [attributes[key] for key in OPS[name].attributes]
    make = cast("Callable[..., KinaOp]", OP_CLASSES[name])
    given = [operands] if OPS[name].variadic else operands
    return make(*given, *arguments)


Kina = Dialect("kina", _OPERATIONS, [LayoutAttr, ReductionKindAttr])
