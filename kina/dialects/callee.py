"""What `kina.call` and `kina.vjp` share: the function of the module that they name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttr, FlatSymbolRefAttrConstr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, prop_def, var_operand_def, var_result_def
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from kina.dialects.base import TENSOR
from kina.dialects.types import from_ir
from kina.rules import RuleError
from kina.types import TensorType


class CalleeOp(IRDLOperation, ABC):
    """An operation on a function of the module; a tuple comes back as several results."""

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def(TENSOR)
    outputs = var_result_def(TENSOR)

    @abstractmethod
    def expected_results(self, callee: FuncOp) -> Sequence[TensorType]:
        """The results' types, the callee's symbols bound by the operands; or a `RuleError`."""


class CalleeUse(SymbolUserOpInterface):
    """Verifies a `CalleeOp` against its callee."""

    def verify(self, op: Operation) -> None:
        """The callee is there, the operands fit it, and the results follow."""
        assert isinstance(op, CalleeOp)
        what, name = op.name.removeprefix("kina."), op.callee.string_value()
        callee = SymbolTable.lookup_symbol(op, op.callee)
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


def symbol(name: str | FlatSymbolRefAttr) -> FlatSymbolRefAttr:
    """The reference to a function."""
    return SymbolRefAttr(name) if isinstance(name, str) else name


def kina_types(types: Sequence[Attribute]) -> list[TensorType]:
    """IR tensor types as the type rules know them."""
    return [from_ir(type_) for type_ in types]
