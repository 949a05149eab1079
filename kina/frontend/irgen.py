"""From the typed program to kina IR: one operation per instruction, with its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FileLineColLoc,
    FunctionType,
    IntAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from kina.dialects.call import CallOp
from kina.dialects.callee import SIZE_PARAMETERS
from kina.dialects.elementwise import ConstantOp
from kina.dialects.fold import FoldOp
from kina.dialects.layout import SizeOp
from kina.dialects.requires import set_requirements
from kina.dialects.selection import TakePlacesOp
from kina.dialects.table import build
from kina.dialects.types import SYMBOL_NAME, to_ir
from kina.dialects.vjp import VjpOp
from kina.frontend.requirements import requirements
from kina.frontend.source import Extent, Source
from kina.frontend.typed import (
    Apply,
    CallFunction,
    Constant,
    Differentiate,
    FoldFunction,
    Instruction,
    Take,
    TakeSize,
    TypedFunction,
    TypedProgram,
    Value,
)
from kina.types import Placement

PARAMETER_NAME = "kina.name"
"""The argument attribute that holds a parameter's name."""


def generate(program: TypedProgram) -> ModuleOp:
    """A module with one `func.func` per function; a tuple becomes several results.

    Those that the program does not export are private.
    """
    module = ModuleOp([_function(function, program.source) for function in program.functions])
    needed = requirements(program)
    symbols = program.symbols
    for op in module.body.block.ops:
        if not isinstance(op, FuncOp):
            continue
        name = op.sym_name.data
        set_requirements(op, needed[name])
        if name not in symbols:
            op.properties["sym_visibility"] = StringAttr("private")
        elif symbols[name] != name:
            op.attributes[SYMBOL_NAME] = StringAttr(symbols[name])
    start = program.source.parts[-1][0]
    module.location = _location(program.source, Extent(start, start))
    return module


def _location(source: Source, extent: Extent) -> FileLineColLoc:
    line, column = source.position(extent.start)
    file = source.file_at(extent.start)
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def _function(function: TypedFunction, source: Source) -> FuncOp:
    block = _body(function, source)
    signature = function.signature
    type_ = FunctionType.from_lists(
        [to_ir(parameter.type) for parameter in signature.parameters],
        [to_ir(result) for result in signature.results],
    )
    names: Iterable[Attribute] = (
        DictionaryAttr({PARAMETER_NAME: StringAttr(parameter.name)})
        for parameter in signature.parameters
    )
    op = FuncOp(signature.name, type_, Region(block), arg_attrs=ArrayAttr(names))
    op.location = _location(source, function.extent)
    if signature.sizes:
        sizes = (StringAttr(size.name) for size in signature.sizes)
        op.attributes[SIZE_PARAMETERS] = ArrayAttr(sizes)
    return op


def _body(function: TypedFunction, source: Source) -> Block:
    block = Block(arg_types=[to_ir(value.type) for value in function.parameters])
    values: dict[Value, SSAValue] = {}
    for value, argument, extent in zip(
        function.parameters, block.args, function.parameter_extents, strict=True
    ):
        argument.location = _location(source, extent)
        values[value] = argument
    for instruction in function.body:
        op = _operation(instruction, values)
        op.location = _location(source, instruction.extent)
        block.add_op(op)
    returned = ReturnOp(*(values[value] for value in function.results))
    returned.location = _location(source, function.result_extent)
    block.add_op(returned)
    return block


def _operation(instruction: Instruction, values: dict[Value, SSAValue]) -> Operation:
    """The operation of an instruction; its results are entered into `values`."""
    match instruction:
        case Apply():
            operands = [values[operand] for operand in instruction.operands]
            op = build(instruction.op, operands, instruction.attributes)
            values[instruction.result] = op.result
        case Take():
            found = values[instruction.values], values[instruction.places]
            op = TakePlacesOp(*found, instruction.axis)
            values[instruction.result] = op.result
        case Constant():
            op = _constant(instruction)
            values[instruction.result] = op.result
        case TakeSize():
            op = SizeOp(instruction.size, instruction.result.type.placement)
            values[instruction.result] = op.result
        case CallFunction() | Differentiate():
            op = _call(instruction, values)
        case FoldFunction():
            over, whole = ([values[v] for v in vs] for vs in (instruction.over, instruction.whole))
            types = [to_ir(result.type) for result in instruction.results]
            op = FoldOp(instruction.callee, [values[instruction.x]], over, whole, types)
            values.update(zip(instruction.results, op.results, strict=True))
    return op


def _constant(instruction: Constant) -> ConstantOp:
    type_ = instruction.result.type
    plain = to_ir(type(type_)(type_.dtype, type_.dims, Placement.HOST))
    if type_.dtype.is_float:
        floats = cast("TensorType[AnyFloat]", plain)
        payload = DenseIntOrFPElementsAttr.from_list(floats, [*map(float, instruction.values)])
    else:
        ints = cast("TensorType[IntegerType]", plain)
        payload = DenseIntOrFPElementsAttr.from_list(ints, [*map(int, instruction.values)])
    return ConstantOp(payload, type_.placement)


def _call(
    instruction: CallFunction | Differentiate, values: dict[Value, SSAValue]
) -> CallOp | VjpOp:
    operands = [values[operand] for operand in instruction.operands]
    types = [to_ir(result.type) for result in instruction.results]
    if isinstance(instruction, Differentiate):
        op = VjpOp(instruction.callee, operands, instruction.wrt, types, instruction.sizes)
    else:
        op = CallOp(instruction.callee, operands, types, instruction.sizes)
    values.update(zip(instruction.results, op.results, strict=True))
    return op
