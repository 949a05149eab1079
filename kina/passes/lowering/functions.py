"""One function: its signature, its symbols, and a walk over its operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects import tensor
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    i32,
    i64,
)
from xdsl.dialects.cf import AssertOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

from kina.dialects.callee import SIZE_PARAMETERS, size_parameters
from kina.dialects.layout import SizeOp
from kina.dialects.requires import REQUIRES, requirements_of
from kina.dialects.types import LayoutAttr, from_ir
from kina.dims import is_symbol, symbols_of
from kina.passes.builder import INDEX, Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.contracts import Contract, Contracts
from kina.passes.lowering.places import refusal
from kina.passes.lowering.storage import storage_type
from kina.passes.lowering.table import LOWERINGS
from kina.passes.lowering.updates import Updates
from kina.rules.requirements import Requirement
from kina.status import BAD_SIZE, STATUS
from kina.types import Dim, Placement
from kina.types import TensorType as KinaType

PARAMETER_NAME = "kina.name"
ALIASES = "aliases"
"""The attribute with the parameters and results that may be one memory, in pairs."""

CHECKED = "checked_parameters"
"""The attribute with the parameters that decide whether a check fails."""

READ_SIZES = "size_parameters"
"""The attribute of a lowered function with the names of its `size` parameters."""


def is_kina(function: FuncOp) -> bool:
    """Whether a function has anything to lower."""
    if any(PARAMETER_NAME in attrs.data for attrs in function.arg_attrs or ()):
        return True
    if any(has_layout(type_) for type_ in _signature(function)):
        return True
    return any(op.name.startswith("kina.") for op in function.walk())


def has_layout(type_: Attribute) -> bool:
    """Whether a type carries `#kina.layout`."""
    return isinstance(getattr(type_, "encoding", None), LayoutAttr)


def _signature(function: FuncOp) -> list[Attribute]:
    return [*function.function_type.inputs, *function.function_type.outputs]


def lower_function(
    function: FuncOp,
    callees: Mapping[str, FunctionType],
    size_parameters: Mapping[str, Sequence[str]],
    contracts: Contracts,
    fast: bool,
) -> FuncOp:
    """The function on plain tensors; a KinaTypeError where there is no code generator.

    Its `size` parameters follow the tensors.
    """
    inputs, outputs = _kina_signature(function)
    sizes = size_parameters[function.sym_name.data]
    arguments = [*(storage_type(t) for t in inputs), *[i64] * len(sizes)]
    new = FuncOp(
        function.sym_name.data,
        (arguments, [storage_type(t) for t in outputs]),
        Region(),
        function.sym_visibility,
    )
    new.location = function.location
    new.attributes = {**function.attributes, **_written(function, inputs, outputs)}
    new.attributes |= _promises(contracts[function.sym_name.data])
    new.attributes.pop(REQUIRES, None)
    if new.attributes.pop(SIZE_PARAMETERS, None) is not None:
        new.attributes[READ_SIZES] = ArrayAttr(StringAttr(size) for size in sizes)
    if function.body.blocks:
        block = Block(arg_types=arguments)
        state = Lowering(Builder(block, function.location), fast, callees, size_parameters)
        _lower_body(function, state, inputs, sizes, contracts)
        new.body.add_block(block)
    return new


def _kina_signature(function: FuncOp) -> tuple[list[KinaType], list[KinaType]]:
    name = function.sym_name.data
    try:
        inputs = [from_ir(type_) for type_ in function.function_type.inputs]
        outputs = [from_ir(type_) for type_ in function.function_type.outputs]
    except VerifyException as error:
        raise refusal(function.location, f"function {name}: {error}") from error
    _check_placement(function, inputs, outputs)
    known = {symbol for type_ in inputs for symbol in type_.binds} | {*size_parameters(function)}
    _check_bound(function, [s for type_ in [*inputs, *outputs] for s in type_.symbols], known)
    for op in function.body.walk():
        if isinstance(op, SizeOp):
            _check_bound(function, symbols_of(op.size), known)
    return inputs, outputs


def _check_bound(function: FuncOp, symbols: Iterable[str], known: AbstractSet[str]) -> None:
    for symbol in symbols:
        if symbol not in known:
            name = function.sym_name.data
            raise refusal(function.location, f"function {name}: no parameter has size {symbol}")


def _check_placement(
    function: FuncOp, inputs: Sequence[KinaType], outputs: Sequence[KinaType]
) -> None:
    name = function.sym_name.data
    places = _parameter_places(function)
    for shown, type_, place in zip(parameter_names(function), inputs, places, strict=True):
        _check_host(place, f"parameter {shown} of {name}", type_)
    for type_ in outputs:
        _check_host(function.location, f"a result of {name}", type_)


def _parameter_places(function: FuncOp) -> list[LocationAttr]:
    if function.is_declaration:
        return [function.location] * len(function.function_type.inputs)
    return [argument.location for argument in function.args]


def _check_host(place: Attribute, what: str, type_: KinaType) -> None:
    if type_.placement is Placement.HOST:
        return
    raise refusal(place, f"{what} has type {type_}: @device has no code generator, expected @host")


def parameter_names(function: FuncOp) -> list[str]:
    """The source names of the parameters; `arg0`, … where they have none."""
    count = len(function.function_type.inputs)
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    names = [attrs.data.get(PARAMETER_NAME) for attrs in attributes] or [None] * count
    return [
        name.data if isinstance(name, StringAttr) else f"arg{position}"
        for position, name in enumerate(names)
    ]


def _written(
    function: FuncOp, inputs: Sequence[KinaType], outputs: Sequence[KinaType]
) -> dict[str, Attribute]:
    """What later passes need and plain tensor types do not say."""
    return {
        "parameter_names": ArrayAttr(StringAttr(name) for name in parameter_names(function)),
        "parameter_dims": ArrayAttr(_dims(type_.dims) for type_ in inputs),
        "parameter_dtypes": ArrayAttr(StringAttr(type_.dtype.name) for type_ in inputs),
        "result_dims": ArrayAttr(_dims(type_.dims) for type_ in outputs),
        "result_dtypes": ArrayAttr(StringAttr(type_.dtype.name) for type_ in outputs),
    }


def _promises(contract: Contract) -> dict[str, Attribute]:
    pairs = [ArrayAttr(IntegerAttr(place, i64) for place in pair) for pair in contract.shared]
    shared: dict[str, Attribute] = {ALIASES: ArrayAttr(pairs)} if pairs else {}
    if contract.checked:
        shared[CHECKED] = DenseArrayBase.from_list(i64, sorted(contract.checked))
    return shared


def _dims(dims: Sequence[Dim]) -> ArrayAttr[Attribute]:
    return ArrayAttr(
        StringAttr(dim) if isinstance(dim, str) else IntegerAttr(dim, i64) for dim in dims
    )


def _lower_body(
    function: FuncOp,
    state: Lowering,
    inputs: Sequence[KinaType],
    sizes: Sequence[str],
    contracts: Contracts,
) -> None:
    if len(function.body.blocks) != 1:
        raise refusal(
            function.location,
            f"function {function.sym_name.data} has {len(function.body.blocks)} blocks, expected 1",
        )
    old, arguments = function.body.block, state.builder.block.args
    updates = Updates(old, contracts)
    state.taking = updates.taking
    for before, after in zip(old.args, arguments, strict=False):
        after.location = before.location
        state.bind(before, after)
    for size, argument in zip(sizes, arguments[len(inputs) :], strict=True):
        argument.name_hint = size
        state.sizes.take(size, state.builder.append(IndexCastOp(argument, INDEX)))
    _take_sizes(state, inputs)
    for requirement in requirements_of(function):
        _require(state, requirement)
    for op in updates.order:
        state.builder.location = op.location
        _lower_operation(state, op)


def _require(state: Lowering, requirement: Requirement) -> None:
    """Where a size is too small, the call is refused."""
    size, least = state.size(requirement.dim), state.builder.index(requirement.least)
    good = state.builder.compare("sge", size, least)
    check = state.builder.append(AssertOp(good, requirement.text))
    check.attributes[STATUS] = IntegerAttr(BAD_SIZE, i32)


def _take_sizes(state: Lowering, inputs: Sequence[KinaType]) -> None:
    """Each symbol's size, from the first parameter that has it as a dimension."""
    for argument, type_ in zip(state.builder.block.args, inputs, strict=False):
        for axis, dim in enumerate(type_.dims):
            if isinstance(dim, int) or not is_symbol(dim) or dim in state.sizes:
                continue
            size = tensor.DimOp(argument, state.builder.index(axis))
            state.sizes.take(dim, state.builder.append(size))


def _lower_operation(state: Lowering, op: Operation) -> None:
    for result in op.results:
        if has_layout(result.type):
            _check_host(op.location, f"the result of {op.name}", from_ir(result.type))
    if (lower := LOWERINGS.get(op.name)) is not None:
        lower(state, op)
        return
    if any(inner.name.startswith("kina.") for inner in op.walk()):
        raise refusal(op.location, f"{op.name} cannot be lowered here")
    state.builder.block.add_op(op.clone(state.values))
