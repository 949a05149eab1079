"""`export-c`: gives each lowered function its C form, once and for all.

`int64_t` symbols come first, then one pointer per input, then one per output. Everything is a plain
pointer to contiguous row-major elements, also where sizes are symbolic. Inputs are never written;
each result is materialised into its own output, so a function that returns an input, a constant
or one value twice copies, and no buffer crosses the boundary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp, IndexCastOp, MuliOp
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.memref import ReinterpretCastOp
from xdsl.dialects.scf import ForOp
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import region_dce

from kina.dialects.types import SYMBOL_NAME, IRTensor
from kina.dims import symbols_of
from kina.errors import KinaError
from kina.passes.builder import Builder
from kina.passes.derived_sizes import derive, derived
from kina.passes.exporting_calls import Callee, invoke
from kina.passes.exporting_folds import call_in, invoke_layers
from kina.passes.located import stamp
from kina.passes.lowering.functions import ALIASES, CHECKED, READ_SIZES
from kina.types import Dim

OUTPUT_ATTRIBUTES = DictionaryAttr({"llvm.noalias": UnitAttr()})
"""An output overlaps no other argument."""
SHARED_ATTRIBUTES = DictionaryAttr({})
"""An output may be the memory of an input."""


def read_aliases(function: FuncOp) -> tuple[tuple[int, int], ...]:
    """The parameters and results that may be one memory, in pairs, as lower-kina says."""
    pairs = cast(
        "ArrayAttr[ArrayAttr[IntegerAttr]]", function.attributes.get(ALIASES, ArrayAttr([]))
    )
    return tuple((pair.data[0].value.data, pair.data[1].value.data) for pair in pairs)


def read_checked(function: FuncOp) -> Sequence[int]:
    """The parameters that decide whether a check fails, as lower-kina says."""
    checked = function.attributes.get(CHECKED)
    return cast("DenseArrayBase[I64]", checked).get_values() if checked is not None else ()


def read_dims(function: FuncOp, key: str) -> list[list[Dim]]:
    """The dimensions that lower-kina wrote down under `key`, one list per tensor."""
    attribute = function.attributes.get(key)
    if not isinstance(attribute, ArrayAttr):
        raise KinaError(
            f"export-c: @{function.sym_name.data} has no {key}, expected a function that "
            "lower-kina made: run lower-kina first"
        )
    rows = cast(ArrayAttr[ArrayAttr[StringAttr | IntegerAttr]], attribute)
    return [
        [dim.data if isinstance(dim, StringAttr) else dim.value.data for dim in row] for row in rows
    ]


@dataclass
class _Exporter:
    """Rewrites one function."""

    function: FuncOp
    block: Block
    at: Builder
    """What they all need comes first."""
    sizes: dict[str, SSAValue]
    """The run-time size of each symbol and what is computed from them, as an index each."""

    def pointer(self, tensor: IRTensor, position: int, like: SSAValue | None) -> BlockArgument:
        """A new argument that points to the elements of `tensor`."""
        element = tensor.element_type
        shape = tensor.get_shape() if tensor.has_static_shape() else ()
        location = like.location if isinstance(like, BlockArgument) else self.function.location
        argument = self.block.insert_arg(MemRefType(element, shape), position, location)
        argument.name_hint = like.name_hint if like is not None else None
        return argument

    def view(self, pointer: SSAValue, tensor: IRTensor, dims: Sequence[Dim]) -> SSAValue:
        """The memref that `pointer` stands for: itself, or contiguous elements of run-time size."""
        if tensor.has_static_shape():
            return pointer
        sizes = [self.sizes[dim] if isinstance(dim, str) else dim for dim in dims]
        shape = MemRefType(tensor.element_type, tensor.get_shape())
        strides = self.strides(sizes)
        return self.at.value(ReinterpretCastOp.from_dynamic(pointer, [0], sizes, strides, shape))

    def strides(self, sizes: Sequence[SSAValue | int]) -> list[SSAValue | int]:
        """Row-major strides; known ones stay integers."""
        strides: list[SSAValue | int] = [1] * len(sizes)
        for axis in range(len(sizes) - 1, 0, -1):
            strides[axis - 1] = self.product(strides[axis], sizes[axis])
        return strides

    def product(self, left: SSAValue | int, right: SSAValue | int) -> SSAValue | int:
        """`left * right`, computed now where both are known."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if left == 1:
            return right
        return self.at.value(MuliOp(self.index(left), self.index(right)))

    def index(self, value: SSAValue | int) -> SSAValue:
        """`value` as an SSA index."""
        return value if isinstance(value, SSAValue) else self.at.index(value)


def _symbol(function: FuncOp) -> str:
    """The function's name in a library, without the prefix."""
    own = function.attributes.get(SYMBOL_NAME)
    return own.data if isinstance(own, StringAttr) else function.sym_name.data


def _symbols(function: FuncOp) -> list[str]:
    parameter_dims = read_dims(function, "parameter_dims")
    dims = (dim for dims in parameter_dims for dim in dims)
    symbols = (symbol for dim in dims for symbol in symbols_of(dim))
    return list(dict.fromkeys([*_size_parameters(function), *symbols]))


def _size_parameters(function: FuncOp) -> list[str]:
    """The symbols that are parameters of their own, which follow the tensors."""
    names = cast("ArrayAttr[StringAttr] | None", function.attributes.get(READ_SIZES))
    return [name.data for name in names or ()]


def _export(function: FuncOp, prefix: str, callees: Mapping[str, Callee]) -> None:
    parameter_dims = read_dims(function, "parameter_dims")
    result_dims = read_dims(function, "result_dims")
    symbols = _symbols(function)
    block = function.body.block
    first = block.first_op
    assert first is not None, "a function ends in its return"
    exporter = _Exporter(function, block, Builder(first, function.location), {})
    parameters = list(block.args)[: len(parameter_dims)]
    _add_symbols(exporter, symbols)
    for size, argument in zip(
        _size_parameters(function), block.args[len(symbols) + len(parameters) :], strict=True
    ):
        argument.replace_all_uses_with(block.args[symbols.index(size)])
        block.erase_arg(argument)
    _derive_sizes(exporter, [*parameter_dims, *result_dims])
    for parameter, dims in zip(parameters, parameter_dims, strict=True):
        _export_parameter(exporter, parameter, dims)
    for op in list(block.ops):
        if isinstance(op, CallOp):
            invoke(op, callees[op.callee.string_value()], exporter.sizes)
        elif isinstance(op, ForOp) and (call := call_in(op)) is not None:
            invoke_layers(op, call, callees[call.callee.string_value()], exporter.sizes)
    _export_results(exporter, result_dims)
    function.properties["sym_name"] = StringAttr(prefix + _symbol(function))
    function.attributes.pop(SYMBOL_NAME, None)
    function.attributes["symbols"] = ArrayAttr(StringAttr(symbol) for symbol in symbols)
    function.update_function_type()
    inputs = len(symbols) + len(parameters)
    attributes = [DictionaryAttr({})] * inputs + _output_attributes(function, len(result_dims))
    function.properties["arg_attrs"] = ArrayAttr(attributes)
    region_dce(function.body)  # the sizes that symbols have replaced


def _output_attributes(function: FuncOp, count: int) -> list[DictionaryAttr]:
    shared = {result for _, result in read_aliases(function)}
    return [SHARED_ATTRIBUTES if i in shared else OUTPUT_ATTRIBUTES for i in range(count)]


def _add_symbols(exporter: _Exporter, symbols: Sequence[str]) -> None:
    """One leading i64 argument per symbol, and its value as an index."""
    for position, symbol in enumerate(symbols):
        argument = exporter.block.insert_arg(i64, position, exporter.function.location)
        argument.name_hint = symbol
        exporter.sizes[symbol] = exporter.at.value(IndexCastOp(argument, IndexType()))


def _derive_sizes(exporter: _Exporter, shapes: Sequence[Sequence[Dim]]) -> None:
    """Every size that is computed from symbols, right after them: of the interface, and inside."""
    marked = [(op, dim) for op in exporter.block.ops for dim in map(derived, op.results) if dim]
    in_shapes = (dim for dims in shapes for dim in dims if isinstance(dim, str))
    for dim in dict.fromkeys([*in_shapes, *(dim for _, dim in marked)]):
        if dim not in exporter.sizes:
            exporter.sizes[dim] = derive(dim, exporter.sizes, exporter.at)
    for op, dim in marked:
        op.results[0].replace_all_uses_with(exporter.sizes[dim])


def _export_parameter(exporter: _Exporter, parameter: BlockArgument, dims: Sequence[Dim]) -> None:
    """Put a pointer in the place of a tensor parameter."""
    tensor = cast(IRTensor, parameter.type)
    pointer = exporter.pointer(tensor, parameter.index, parameter)
    memref = exporter.view(pointer, tensor, dims)
    value = exporter.at.value(ToTensorOp(memref, restrict=True))
    parameter.replace_all_uses_with(value)
    exporter.block.erase_arg(parameter)
    for use in list(value.uses):
        if isinstance(use.operation, DimOp):
            _resolve_dim(exporter, use.operation, dims)


def _resolve_dim(exporter: _Exporter, op: DimOp, dims: Sequence[Dim]) -> None:
    """The run-time size of a symbolic dimension is the symbol's argument."""
    axis = op.index.owner
    if not isinstance(axis, ConstantOp) or not isinstance(axis.value, IntegerAttr):
        return
    dim = dims[axis.value.value.data]
    if isinstance(dim, str):
        op.result.replace_all_uses_with(exporter.sizes[dim])


def _export_results(exporter: _Exporter, result_dims: Sequence[Sequence[Dim]]) -> None:
    """Write each result to a trailing pointer argument, just before the return."""
    end = exporter.function.get_return_op()
    assert end is not None, "a function ends in its return"
    exporter.at = Builder(end, exporter.function.location)
    stores = Builder(end, end.location)
    for value, dims in zip(end.operands, result_dims, strict=True):
        tensor = cast(IRTensor, value.type)
        pointer = exporter.pointer(tensor, len(exporter.block.args), None)
        pointer.name_hint = "out"
        memref = exporter.view(pointer, tensor, dims)
        store = MaterializeInDestinationOp(
            operands=[value, memref],
            result_types=[[]],
            properties={"restrict": UnitAttr(), "writable": UnitAttr()},
        )
        stores.append(store)
    Rewriter.replace_op(end, stamped := ReturnOp())
    stamp(stamped, exporter.function)


@dataclass(frozen=True)
class ExportC(ModulePass):
    """Runs after lower-kina and before assert-to-status.

    `prefix` is put before each name, so that a function called `free` shadows nothing in C.
    Adds the function attribute `symbols`; those that lower-kina wrote stay.
    Raises KinaError for a function that lower-kina did not make.
    """

    name = "export-c"

    prefix: str = "kina_"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        functions = [item for item in op.body.block.ops if isinstance(item, FuncOp)]
        callees = {
            function.sym_name.data: Callee(
                self.prefix + _symbol(function),
                _symbols(function),
                read_dims(function, "result_dims"),
            )
            for function in functions
        }
        for function in functions:
            _export(function, self.prefix, callees)
