"""`specialise-sizes`: what is static in every call of a private function is static in it.

A library for models of any size has symbols; a program that calls it for one model knows their
sizes, and kernels of static sizes are faster and smaller. A function that is exported keeps its
symbols, and so does what is called with several sizes. Values and bits stay the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from kina.dialects.call import CallOp, call_binding, substitute_ir
from kina.dialects.callee import kina_types, size_parameters
from kina.dialects.fold import FoldOp
from kina.dialects.requires import REQUIRES, requirements_of, set_requirements
from kina.dialects.types import IRTensor
from kina.dialects.vjp import VjpOp, vjp_binding
from kina.dims import substitute
from kina.passes.inline_calls import callee_name, copied_body
from kina.rules.requirements import Requirement
from kina.types import Dim

USES = (CallOp, FuncCallOp, FoldOp, VjpOp)
"""Operations that name a function and bind its symbols."""


class _Specialiser:
    """Goes through the functions of a module, callers first."""

    def __init__(self, module: ModuleOp) -> None:
        functions = [op for op in module.ops if isinstance(op, FuncOp)]
        self._functions = {op.sym_name.data: op for op in functions if not op.is_declaration}
        self._waits = Counter(
            callee_name(use) for f in self._functions.values() for use in _uses(f)
        )
        self._known: defaultdict[str, list[Mapping[str, Dim]]] = defaultdict(list)
        """What the calls so far bind the symbols of a function to."""

    def run(self) -> None:
        """Rewrite what can be; recursive functions are left to who refuses them."""
        ready = [name for name in self._functions if not self._waits[name]]
        while ready:
            name = ready.pop()
            function = self._functions[name]
            if sizes := _common(self._known.pop(name, [])):
                _specialise(function, sizes)
            for use in _uses(function):
                callee = callee_name(use)
                self._note(use, callee)
                self._waits[callee] -= 1
                if not self._waits[callee] and callee in self._functions:
                    ready.append(callee)

    def _note(self, use: Operation, name: str) -> None:
        callee = self._functions.get(name)
        if callee is None or callee.sym_visibility is None or not _symbols(callee):
            return
        passed = size_parameters(callee)
        found = {
            symbol: dim for symbol, dim in _binding(use, callee).items() if symbol not in passed
        }
        self._known[name].append(found)


def _uses(function: FuncOp) -> Iterator[Operation]:
    return (op for op in function.walk() if isinstance(op, USES))


def _binding(use: Operation, callee: FuncOp) -> Mapping[str, Dim]:
    """A function's symbols as the dimensions of who uses it."""
    if isinstance(use, FoldOp):
        return use.binding(callee)
    return vjp_binding(use, callee) if isinstance(use, VjpOp) else call_binding(use, callee)


def _symbols(function: FuncOp) -> dict[str, Dim]:
    """The symbols of a function's parameters, each standing for itself."""
    types = kina_types(function.function_type.inputs.data)
    return {symbol: symbol for type_ in types for symbol in type_.symbols}


def _common(bindings: list[Mapping[str, Dim]]) -> dict[str, Dim]:
    """The symbols that are one static size wherever they are bound."""
    if not bindings:
        return {}
    first, *others = bindings
    return {
        symbol: dim
        for symbol, dim in first.items()
        if isinstance(dim, int) and all(other[symbol] == dim for other in others)
    }


def _specialise(function: FuncOp, sizes: Mapping[str, Dim]) -> None:
    """Put sizes in the place of symbols, in a function's type, its body and its requirements."""
    binding = {**_symbols(function), **dict.fromkeys(size_parameters(function)), **sizes}
    binding = {symbol: symbol if dim is None else dim for symbol, dim in binding.items()}
    old = function.body.block
    block = Block(arg_types=[substitute_ir(cast(IRTensor, a.type), binding) for a in old.args])
    for before, after in zip(old.args, block.args, strict=True):
        after.name_hint, after.location = before.name_hint, before.location
    operations, returned = copied_body(function, block.args, binding)
    end = ReturnOp(*returned)
    end.location = cast(Operation, old.last_op).location
    block.add_ops([*operations, end])
    function.body.detach_block(old)
    function.body.add_block(block)
    old.erase()
    function.properties["function_type"] = FunctionType.from_lists(
        list(block.arg_types), [value.type for value in returned]
    )
    needed = [
        Requirement(dim, each.least, each.text)
        for each in requirements_of(function)
        if isinstance(dim := substitute(each.dim, binding), str)
    ]
    function.attributes.pop(REQUIRES, None)
    set_requirements(function, needed)


class SpecialiseSizes(ModulePass):
    """Gives private functions the static sizes that all their callers have."""

    name = "specialise-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        _Specialiser(op).run()
