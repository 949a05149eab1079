"""What Kina needs of LLVM's dialect: the address of a function, and structs of values in memory.

xDSL's definition of the dialect is seven times as long and takes 30 ms to load. Names, properties
and types are the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, SymbolOpInterface


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """An address."""

    name = "llvm.ptr"


@irdl_attr_definition
class StructType(ParametrizedAttribute, TypeAttribute):
    """Values side by side."""

    name = "llvm.struct"

    types: ArrayAttr[Attribute]

    def print_parameters(self, printer: Printer) -> None:
        """Print the types of the fields."""
        with printer.in_angle_brackets(), printer.in_parens():
            printer.print_list(self.types, printer.print_attribute)


@irdl_attr_definition
class RoutineType(ParametrizedAttribute, TypeAttribute):
    """The type of a function without a result."""

    name = "llvm.func"

    inputs: ArrayAttr[Attribute]

    def print_parameters(self, printer: Printer) -> None:
        """Print the types of the arguments."""
        with printer.in_angle_brackets():
            printer.print_string("void ")
            with printer.in_parens():
                printer.print_list(self.inputs, printer.print_attribute)


@irdl_attr_definition
class LinkageAttr(ParametrizedAttribute):
    """Who sees a function."""

    name = "llvm.linkage"

    linkage: StringAttr


@irdl_attr_definition
class ConventionAttr(ParametrizedAttribute):
    """How a function is called."""

    name = "llvm.cconv"

    def print_parameters(self, printer: Printer) -> None:
        """Print that it is C's."""
        printer.print_string("<ccc>")


POINTER = PointerType()
_PLAIN = IntegerAttr(0, i64)
_AT_OFFSET = -(1 << 31)
"""Stands for an index that is an operand."""


def struct_of(types: Sequence[Attribute]) -> StructType:
    """The struct of values of these types."""
    return StructType(ArrayAttr(types))


@irdl_op_definition
class RoutineOp(IRDLOperation):
    """A function without a result that can be called through its address."""

    name = "llvm.func"

    body = region_def()
    sym_name = prop_def(StringAttr)
    function_type = prop_def(RoutineType)
    CConv = prop_def(ConventionAttr)
    linkage = prop_def(LinkageAttr)
    visibility_ = prop_def(IntegerAttr)
    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, body: Block) -> None:
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": RoutineType(ArrayAttr(body.arg_types)),
            "CConv": ConventionAttr(),
            "linkage": LinkageAttr(StringAttr("internal")),
            "visibility_": _PLAIN,
        }
        super().__init__(regions=[Region(body)], properties=properties)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The end of such a function."""

    name = "llvm.return"

    arg = opt_operand_def(Attribute)
    traits = traits_def(IsTerminator())

    def __init__(self) -> None:
        super().__init__(operands=[None])


@irdl_op_definition
class AddressOfOp(IRDLOperation):
    """The address of such a function."""

    name = "llvm.mlir.addressof"

    global_name = prop_def(SymbolRefAttr)
    result = result_def(PointerType)

    def __init__(self, name: str) -> None:
        properties: dict[str, Attribute] = {"global_name": SymbolRefAttr(name)}
        super().__init__(properties=properties, result_types=[POINTER])


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A number of 64 bits."""

    name = "llvm.mlir.constant"

    value = prop_def(IntegerAttr)
    result = result_def(i64)

    def __init__(self, value: int) -> None:
        super().__init__(properties={"value": IntegerAttr(value, i64)}, result_types=[i64])


@irdl_op_definition
class UndefOp(IRDLOperation):
    """A struct whose fields are yet to be written."""

    name = "llvm.mlir.undef"

    res = result_def(StructType)

    def __init__(self, kind: StructType) -> None:
        super().__init__(result_types=[kind])


@irdl_op_definition
class InsertValueOp(IRDLOperation):
    """A struct with one field written."""

    name = "llvm.insertvalue"

    position = prop_def(DenseArrayBase)
    container = operand_def(StructType)
    value = operand_def(Attribute)
    res = result_def(StructType)

    def __init__(self, struct: SSAValue, number: int, value: SSAValue) -> None:
        position = DenseArrayBase.from_list(i64, [number])
        super().__init__(
            operands=[struct, value],
            properties={"position": position},
            result_types=[struct.type],
        )


@irdl_op_definition
class ExtractValueOp(IRDLOperation):
    """One field of a struct."""

    name = "llvm.extractvalue"

    position = prop_def(DenseArrayBase)
    container = operand_def(StructType)
    res = result_def(Attribute)

    def __init__(self, struct: SSAValue, number: int, kind: Attribute) -> None:
        position = DenseArrayBase.from_list(i64, [number])
        super().__init__(operands=[struct], properties={"position": position}, result_types=[kind])


@irdl_op_definition
class AllocaOp(IRDLOperation):
    """Memory for a struct, in the frame of the function."""

    name = "llvm.alloca"

    size = operand_def(i64)
    alignment = prop_def(IntegerAttr)
    elem_type = prop_def(StructType)
    res = result_def(PointerType)

    def __init__(self, one: SSAValue, kind: StructType, alignment: int) -> None:
        properties: dict[str, Attribute] = {
            "alignment": IntegerAttr(alignment, i64),
            "elem_type": kind,
        }
        super().__init__(operands=[one], properties=properties, result_types=[POINTER])


@irdl_op_definition
class LoadOp(IRDLOperation):
    """What lies at an address."""

    name = "llvm.load"

    ptr = operand_def(PointerType)
    ordering = prop_def(IntegerAttr)
    dereferenced_value = result_def(Attribute)

    def __init__(self, pointer: SSAValue, kind: Attribute) -> None:
        super().__init__(operands=[pointer], properties={"ordering": _PLAIN}, result_types=[kind])


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Puts a value to an address."""

    name = "llvm.store"

    value = operand_def(Attribute)
    ptr = operand_def(PointerType)
    ordering = prop_def(IntegerAttr)

    def __init__(self, value: SSAValue, pointer: SSAValue) -> None:
        super().__init__(operands=[value, pointer], properties={"ordering": _PLAIN})


@irdl_op_definition
class MoveOp(IRDLOperation):
    """An address so many bytes on."""

    name = "llvm.getelementptr"

    ptr = operand_def(PointerType)
    offset = operand_def(i64)
    elem_type = prop_def(Attribute)
    rawConstantIndices = prop_def(DenseArrayBase)
    noWrapFlags = prop_def(IntegerAttr)
    result = result_def(PointerType)

    def __init__(self, pointer: SSAValue, offset: SSAValue) -> None:
        properties: dict[str, Attribute] = {
            "elem_type": i8,
            "rawConstantIndices": DenseArrayBase.from_list(i32, [_AT_OFFSET]),
            "noWrapFlags": IntegerAttr(0, i32),
        }
        super().__init__(operands=[pointer, offset], properties=properties, result_types=[POINTER])
