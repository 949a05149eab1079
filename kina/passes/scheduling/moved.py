"""What the kernels of each function move between memory and processor, in bytes.

A polynomial of the function's symbols: each tensor that a kernel reads or writes counts as a whole,
as often as it is walked. What a pipeline holds for a block of rows counts nothing; of a table that
is read at some indices alone, nothing either. A call counts what its function moves.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FixedBitwidthType, ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.traits import SymbolTable

from kina.dialects.invoke import Invocation, InvokeLayersOp
from kina.dims import Monomial, Terms, terms_of
from kina.frozen import frozen
from kina.passes.derived_sizes import derived
from kina.passes.scheduling.graph import Dim, canonical_dim, element_of, shape_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.space import Size

MOVED = "kina.moved"
"""The module's attribute that says what each of its functions moves."""

UNKNOWN = "?"
"""The symbol of a size that is no polynomial of symbols."""


def touched(kernel: Kernel) -> list[SSAValue]:
    """The tensors that a kernel reads or writes, one as often as it is walked."""
    made = {value for stage in kernel.stages for value in stage.node.op.results}
    reads = [value for stage in kernel.stages for value, _ in stage.leaves if value not in made]
    return [*reads, *kernel.outputs]


def bytes_of(value: SSAValue) -> Size:
    """How many bytes a tensor has."""
    element = element_of(value)
    assert isinstance(element, FixedBitwidthType)
    size = Size.product(shape_of(value))
    return Size(size.known * element.size, size.factors)


@frozen
class _Call:
    """So many calls of a function, with the sizes that it is given."""

    callee: str
    times: Terms
    sizes: Mapping[str, Terms]


@dataclass
class _Function:
    """What a function moves by itself, and what it calls."""

    own: Counter[Monomial] = field(default_factory=Counter[Monomial])
    calls: list[_Call] = field(default_factory=list[_Call])


@dataclass
class Traffic:
    """What the functions of a module move."""

    _functions: dict[str, _Function] = field(default_factory=dict[str, _Function])

    def add_calls(self, function: func.FuncOp, module: ModuleOp) -> None:
        """Count what a function calls, while its calls are on tensors."""
        found = self._functions.setdefault(function.sym_name.data, _Function())
        found.calls += _calls(function, module)

    def add(self, name: str, kernels: Iterable[Kernel]) -> None:
        """Count kernels of the function `name`."""
        own = self._functions.setdefault(name, _Function()).own
        for kernel in kernels:
            for value in touched(kernel):
                if kernel.private_row(value) is None:
                    own.update(_terms(bytes_of(value)))

    def attribute(self) -> DictionaryAttr:
        """What each function moves, what it calls included."""
        totals: dict[str, Terms] = {}
        return DictionaryAttr(
            {name: StringAttr(_written(self._total(name, totals))) for name in self._functions}
        )

    def _total(self, name: str, known: dict[str, Terms]) -> Terms:
        if name not in known:
            function = self._functions[name]
            total = Counter(function.own)
            for call in function.calls:
                each = _substituted(self._total(call.callee, known), call.sizes)
                total.update(_product(call.times, each))
            known[name] = total
        return known[name]


def moved_of(attribute: DictionaryAttr) -> dict[str, Terms]:
    """What the attribute of a module says."""
    return {
        name: {tuple(symbols): count for count, symbols in json.loads(text.data)}
        for name, text in attribute.data.items()
        if isinstance(text, StringAttr)
    }


def _written(terms: Terms) -> str:
    return json.dumps([[count, symbols] for symbols, count in terms.items()])


def _calls(function: func.FuncOp, module: ModuleOp) -> Iterator[_Call]:
    for op in function.walk():
        if isinstance(op, Invocation):
            callee = SymbolTable.lookup_symbol(module, op.callee)
            assert isinstance(callee, func.FuncOp)
            sizes = zip(_symbols(callee), op.sizes, strict=True)
            times = _layers(op) if isinstance(op, InvokeLayersOp) else Size()
            bound = {name: _dim_terms(canonical_dim(size)) for name, size in sizes}
            yield _Call(callee.sym_name.data, _terms(times), bound)


def _symbols(function: func.FuncOp) -> list[str]:
    """The symbols of a C function, whose sizes it takes first."""
    names = cast(ArrayAttr[StringAttr], function.attributes["symbols"])
    return [name.data for name in names]


def _layers(op: InvokeLayersOp) -> Size:
    return Size.product(shape_of(op.layered[0])[:1])


def _substituted(terms: Terms, sizes: Mapping[str, Terms]) -> Terms:
    total: Counter[Monomial] = Counter()
    for symbols, count in terms.items():
        term: Terms = {(): count}
        for symbol in symbols:
            term = _product(term, sizes.get(symbol, {(symbol,): 1}))
        total.update(term)
    return total


def _product(left: Terms, right: Terms) -> Terms:
    product: Counter[Monomial] = Counter()
    for (some, first), (others, second) in itertools.product(left.items(), right.items()):
        product[tuple(sorted((*some, *others)))] += first * second
    return product


def _terms(size: Size) -> Terms:
    terms: Terms = {(): size.known}
    for factor in size.factors:
        terms = _product(terms, _dim_terms(canonical_dim(factor)))
    return terms


def _dim_terms(dim: Dim) -> Terms:
    if isinstance(dim, int):
        return {(): dim}
    text = derived(dim)
    return terms_of(text) if text is not None else {(dim.name_hint or UNKNOWN,): 1}
