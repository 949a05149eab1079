"""The whole `kina` dialect, for what reads IR; a compilation loads what its program has."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from xdsl.ir import Dialect, Operation

from kina.dialects import (
    activations,
    call,
    choice,
    contraction,
    elementwise,
    fibers,
    fold,
    functions,
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
from kina.dialects.reduce import ReductionKindAttr
from kina.dialects.types import LayoutAttr

_MODULES = (
    *(elementwise, functions, activations, choice, integers, shaping, layout, reduce),
    *(normalize, fibers, indexing, contraction, scan, random, selection),
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

Kina = Dialect("kina", _OPERATIONS, [LayoutAttr, ReductionKindAttr])
