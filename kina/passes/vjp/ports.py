"""What reverse mode knows of the functions that a gradient calls."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from kina.dialects.callee import SIZE_PARAMETERS, sizes_attribute
from kina.frozen import frozen
from kina.passes.inline_calls import USES, callee_name
from kina.passes.vjp.flow import FloatFlow
from kina.passes.vjp.prune import prune
from kina.types import Dim, TensorType

T = TypeVar("T")


class Ask(NamedTuple):
    """What a pullback is wanted for."""

    callee: str
    same: tuple[int, ...]
    """For each parameter, the first one that is the same value."""
    types: tuple[TensorType, ...]
    """The arguments' types, if two of them are the same value; else the parameters' are meant."""
    wrt: tuple[int, ...]
    """The parameters that may get a gradient."""
    given: tuple[int, ...]
    """The results that have a cotangent."""
    sums: tuple[int, ...]
    """The parameters whose gradient is added to one."""
    sizes: tuple[Dim, ...] = ()
    """For the callee's `size` parameters, if `types` is not empty."""
    masked: tuple[Port, ...] = ()
    """The cotangents and sums of which not all elements count."""


class Port(NamedTuple):
    """What an argument of a pullback is: of which parameter or result."""

    kind: str
    position: int

    @property
    def is_mask(self) -> bool:
        """Whether it says which elements count of what is at another port."""
        return self.kind.endswith(_MASK)

    @property
    def of(self) -> Port:
        """The port that a mask is about, or this one."""
        return Port(self.kind.removesuffix(_MASK), self.position)


_MASK = " mask"


def parameter(position: int) -> Port:
    """What the function itself takes."""
    return Port("parameter", position)


def cotangent(position: int) -> Port:
    """The cotangent of a result."""
    return Port("cotangent", position)


def total(position: int) -> Port:
    """What a parameter's gradient is added to."""
    return Port("sum", position)


def mask(port: Port) -> Port:
    """Which elements count of what is at a port."""
    return Port(f"{port.kind}{_MASK}", port.position)


Source = Port | int
"""What a pullback is given, or the number of one of its results."""


@frozen
class Pullback:
    """A function from the values at its ports to gradients of some parameters."""

    function: FuncOp
    ports: tuple[Port, ...]
    sizes: tuple[str, ...]
    """Its `size` parameters."""
    gives: Mapping[int, Source]
    """The gradient of each parameter that gets one."""
    masks: Mapping[int, Source]
    """Of which gradients not all elements count, and which do."""

    @property
    def results(self) -> int:
        """How many results it has."""
        return len(self.function.function_type.outputs.data)


def at(source: Source, values: Mapping[Port, SSAValue], results: Sequence[SSAValue]) -> SSAValue:
    """The value at a source, given those at the ports and what a call gave."""
    return values[source] if isinstance(source, Port) else results[source]


Work = Generator[Ask, None, T]
"""A computation that yields each pullback that it is going to look up."""


@dataclass
class Library:
    """The functions of a module, and those that gradients have added."""

    functions: dict[str, FuncOp]
    made: list[FuncOp] = field(default_factory=list[FuncOp])
    """What was added, each function after those that it calls."""
    pullbacks: dict[Ask, Pullback] = field(default_factory=dict[Ask, Pullback])
    _names: set[str] = field(default_factory=set[str])
    _counts: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self.flow = FloatFlow(self.functions)

    def add(self, callee: FuncOp, block: Block, sizes: Sequence[str] = ()) -> FuncOp:
        """A new private function with this body, for gradients of `callee`."""
        end = block.last_op
        assert isinstance(end, ReturnOp)
        type_ = FunctionType.from_lists(
            [argument.type for argument in block.args], [value.type for value in end.operands]
        )
        function = FuncOp(self._new_name(callee), type_, Region(block), StringAttr("private"))
        if (attribute := sizes_attribute(sizes)) is not None:
            function.attributes[SIZE_PARAMETERS] = attribute
        for op in (function, end):
            op.location = callee.location
        self.functions[function.sym_name.data] = function
        self.made.append(function)
        self._names.add(function.sym_name.data)
        return function

    def _new_name(self, callee: FuncOp) -> str:
        base = f"{callee.sym_name.data}$vjp"
        while (name := f"{base}{self._counts.setdefault(base, 0)}") in self.functions:
            self._counts[base] += 1
        return name

    def take_made(self) -> list[FuncOp]:
        """What was added since the last time."""
        made, self.made = self.made, []
        return made

    def erase_unused(self, block: Block) -> None:
        """Leave no use of an added function of which nothing is read."""
        if any(self._is_added(op) for op in block.ops):
            for op in reversed(list(block.ops)):
                unused = bool(op.results) and not any(result.uses for result in op.results)
                if unused and (self._is_added(op) or is_side_effect_free(op)):
                    block.erase_op(op)

    def erase_unreferenced(self) -> None:
        """Leave no added function, and no result of one, that nothing uses."""
        pending = [f for name, f in self.functions.items() if name not in self._names]
        used: set[str] = set()
        while pending:
            for op in pending.pop().walk():
                if isinstance(op, USES) and (name := callee_name(op)) not in used:
                    used.add(name)
                    pending.append(self.functions[name])
        for name in self._names - used:
            Rewriter.erase_op(self.functions.pop(name))
        prune(self.functions, [name for name in self.functions if name in used & self._names])

    def _is_added(self, op: Operation) -> bool:
        return isinstance(op, USES) and callee_name(op) in self._names
