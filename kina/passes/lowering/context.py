"""The state of one function while it is lowered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from xdsl.dialects import tensor
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Attribute, Operation, SSAValue

from kina.passes.builder import Builder
from kina.passes.lowering.generic import Access, whole
from kina.passes.lowering.sizes import Sizes
from kina.passes.lowering.storage import storage_element, tensor_type
from kina.types import Dim
from kina.types import TensorType as KinaType


@dataclass(slots=True)
class Lowering:
    """What the lowering of each operation reads and writes.

    `callees` are the types of the module's functions before lowering; `sizes` holds the run-time
    size of each symbol and each dimension computed from them, once, at the function's entry.
    """

    builder: Builder
    fast: bool
    callees: Mapping[str, FunctionType]
    size_parameters: Mapping[str, Sequence[str]]
    """Of each function, the symbols that `size` parameters bind."""
    sizes: Sizes = field(default_factory=Sizes)
    taking: AbstractSet[Operation] = frozenset()
    """The updates that write into the memory of what they update."""
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def value(self, old: SSAValue) -> SSAValue:
        """The tensor that stands for a kina value."""
        return self.values[old]

    def access(self, old: SSAValue) -> Access:
        """How loops over the whole of a kina value read it."""
        return whole(self.value(old))

    def bind(self, old: SSAValue, new: SSAValue) -> None:
        """`new` stands for `old` from here on."""
        if new.name_hint is None:
            new.name_hint = old.name_hint
        self.values[old] = new

    def alias(self, old: SSAValue, same: SSAValue) -> None:
        """`old` is the same tensor as another kina value."""
        self.values[old] = self.values[same]

    def size(self, dim: Dim) -> SSAValue:
        """A dimension as an index value."""
        return self.builder.index(dim) if isinstance(dim, int) else self.sizes[dim]

    def dynamic(self, dims: Sequence[Dim]) -> list[SSAValue]:
        """The run-time sizes that a tensor of these dimensions needs."""
        return [self.sizes[dim] for dim in dims if isinstance(dim, str)]

    def empty(self, element: Attribute, dims: tuple[Dim, ...]) -> SSAValue:
        """A tensor to be written."""
        return self.builder.value(tensor.EmptyOp(self.dynamic(dims), tensor_type(element, dims)))

    def empty_like(self, type_: KinaType) -> SSAValue:
        """A tensor to be written, of a Kina type."""
        return self.empty(storage_element(type_.dtype), type_.dims)

    def filled(self, value: float, element: Attribute, dims: tuple[Dim, ...]) -> SSAValue:
        """A tensor with one value everywhere: where a reduction starts."""
        scalar = self.builder.constant(value, element)
        target = self.empty(element, dims)
        return self.builder.value(FillOp([scalar], [target], [target.type]))
