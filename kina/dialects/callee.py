"""What `kina.call`, `kina.fold` and `kina.vjp` share: the function of the module that they name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    FlatSymbolRefAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, var_operand_def, var_result_def
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from kina.dialects.base import TENSOR
from kina.dialects.types import from_ir
from kina.dims import Dim, is_normal, is_symbol
from kina.errors import counted
from kina.rules.parts import RuleError
from kina.types import TensorType


class FunctionUser(ABC):
    """An operation on a function of the module; a tuple comes back as several results."""

    @abstractmethod
    def expected_results(self, callee: FuncOp) -> Sequence[TensorType]:
        """The results' types, the callee's symbols bound by the operands; or a `RuleError`."""


class CalleeOp(IRDLOperation, FunctionUser, ABC):
    """An operation on a function that takes all of the operands as they are."""

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def(TENSOR)
    sizes = opt_prop_def(ArrayAttr[StringAttr | IntegerAttr[I64]])
    outputs = var_result_def(TENSOR)

    @property
    def size_values(self) -> tuple[Dim, ...]:
        """The caller's dimensions for the callee's `size` parameters."""
        return tuple(map(_size_value, self.sizes or ()))

    def verify_(self) -> None:
        """Refuse sizes that are no dimensions."""
        for size in self.size_values:
            if size < 1 if isinstance(size, int) else not is_normal(size):
                raise VerifyException(f"{self.name}: {size!r} is no size, in normal form")


class CalleeUse(SymbolUserOpInterface):
    """Verifies a `FunctionUser` against its callee."""

    def verify(self, op: Operation) -> None:
        """The callee is there, the operands fit it, and the results follow."""
        assert isinstance(op, FunctionUser)
        reference = op.properties["callee"]
        assert isinstance(reference, SymbolRefAttr)
        what, name = op.name.removeprefix("kina."), reference.string_value()
        callee = SymbolTable.lookup_symbol(op, reference)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"{what}: no function is called {name}")
        try:
            expected = list(op.expected_results(callee))
        except RuleError as error:
            raise VerifyException(f"{what}: {error.message}") from error
        results = kina_types(op.result_types)
        if results != expected:
            raise VerifyException(
                f"{what}: {name} gives ({', '.join(map(str, expected))}) here, "
                f"but the results have types ({', '.join(map(str, results))})"
            )


SIZE_PARAMETERS = "kina.sizes"
"""The attribute of a function with the names of its `size` parameters."""


def size_parameters(function: FuncOp) -> list[str]:
    """The symbols that `size` parameters bind, in order."""
    names = function.attributes.get(SIZE_PARAMETERS)
    if names is None:
        return []
    found = cast(ArrayAttr[Attribute], names) if isinstance(names, ArrayAttr) else [names]
    sizes = [name.data for name in found if isinstance(name, StringAttr) and is_symbol(name.data)]
    if len(sizes) != len(found):
        raise VerifyException(f"{SIZE_PARAMETERS} is {names}, expected names of symbols")
    return sizes


def given_sizes(op: Operation, callee: FuncOp) -> dict[str, Dim]:
    """What a call passes for the callee's `size` parameters; a `RuleError` for a wrong number."""
    names, values = size_parameters(callee), op.size_values if isinstance(op, CalleeOp) else ()
    if len(names) != len(values):
        raise RuleError(f"{counted(len(values), 'size')} given, expected {len(names)}")
    return dict(zip(names, values, strict=True))


def sizes_attribute(sizes: Sequence[Dim]) -> ArrayAttr[StringAttr | IntegerAttr[I64]] | None:
    """Sizes as the dialect stores them; nothing where there are none."""
    shown = (StringAttr(s) if isinstance(s, str) else IntegerAttr(s, i64) for s in sizes)
    return ArrayAttr(shown) if sizes else None


def _size_value(size: StringAttr | IntegerAttr[I64]) -> Dim:
    return size.data if isinstance(size, StringAttr) else size.value.data


def symbol(name: str | FlatSymbolRefAttr) -> FlatSymbolRefAttr:
    """The reference to a function."""
    return SymbolRefAttr(name) if isinstance(name, str) else name


def kina_types(types: Sequence[Attribute]) -> list[TensorType]:
    """IR tensor types as the type rules know them."""
    return [from_ir(type_) for type_ in types]
