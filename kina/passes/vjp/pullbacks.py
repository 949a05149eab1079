"""Pullbacks of the functions that a gradient calls: one private function for each way of use.

A pullback takes what the function takes and the cotangents of its results, computes what it needs
of the function's body again, and returns gradients of parameters. What a parameter's gradient has
to be added to goes in as well, so that the additions, and with them the bits, are those of a body
in place of the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.traits import is_side_effect_free

from kina.dialects.callee import kina_types, size_parameters
from kina.dialects.types import to_ir
from kina.dims import symbols_of
from kina.dtypes import BOOL
from kina.passes.inline_calls import USES, copied_body
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import Share
from kina.passes.vjp.cotangents import masked
from kina.passes.vjp.ports import (
    Ask,
    Library,
    Port,
    Pullback,
    Work,
    cotangent,
    mask,
    parameter,
    total,
)
from kina.passes.vjp.reverse import Reverse
from kina.rules.calls import bind, substitute
from kina.types import TensorType

T = TypeVar("T")


def run(library: Library, work: Work[T]) -> T:
    """Do `work`, and first what it asks for; without recursion: chains of calls may be long."""
    stack: list[tuple[Ask, Work[Pullback]]] = []
    while True:
        try:
            ask = next(stack[-1][1] if stack else work)
        except StopIteration as end:
            if not stack:
                return end.value
            library.pullbacks[stack.pop()[0]] = end.value
            continue
        if ask not in library.pullbacks:
            stack.append((ask, _make(library, ask)))


def _make(library: Library, ask: Ask) -> Work[Pullback]:
    callee = library.functions[ask.callee]
    inputs = kina_types(callee.function_type.inputs.data)
    types = ask.types or inputs
    names = size_parameters(callee)
    sizes = dict(zip(names, ask.sizes or names, strict=True))
    binding = bind(ask.callee, inputs, types, sizes)
    outputs = kina_types(callee.function_type.outputs.data)
    block, ports = _block(ask, types, [substitute(output, binding) for output in outputs])
    for argument in block.args:
        argument.location = callee.location
    arguments = [ports[parameter(first)] for first in ask.same]
    operations, returned = copied_body(callee, arguments, binding)
    block.add_ops(operations)
    shares = {port: masked(argument, ports.get(mask(port))) for port, argument in ports.items()}
    known: dict[SSAValue, Share] = {ports[parameter(i)]: shares[total(i)] for i in ask.sums}
    seeds = [(returned[position], shares[cotangent(position)]) for position in ask.given]
    sources = [ports[parameter(position)] for position in ask.wrt]
    reverse = Reverse(library, block, operations, callee.location)
    state = yield from reverse.run(seeds, sources, known)
    gradients = {
        position: share
        for position, source in zip(ask.wrt, sources, strict=True)
        if (share := state.known.get(source)) is not None and share is not known.get(source)
    }
    values = {position: state.settled(share) for position, share in gradients.items()}
    masks = {i: chosen for i, s in gradients.items() if (chosen := state.mask(s)) is not None}
    symbols = {symbol for dim in binding.values() for symbol in symbols_of(dim)}
    return _finish(library, callee, block, ports, (values, masks), symbols)


def _block(
    ask: Ask, types: Sequence[TensorType], outputs: Sequence[TensorType]
) -> tuple[Block, dict[Port, BlockArgument]]:
    wanted = {parameter(i): types[i] for i in ask.same}
    wanted |= {cotangent(j): outputs[j] for j in ask.given}
    wanted |= {total(i): types[i] for i in ask.sums}
    wanted |= {mask(port): wanted[port].with_dtype(BOOL) for port in ask.masked}
    block = Block(arg_types=[to_ir(type_) for type_ in wanted.values()])
    return block, dict(zip(wanted, block.args, strict=True))


def _finish(
    library: Library,
    callee: FuncOp,
    block: Block,
    ports: Mapping[Port, BlockArgument],
    gradients: tuple[Mapping[int, SSAValue], Mapping[int, SSAValue]],
    symbols: AbstractSet[str],
) -> Pullback:
    """The function of what is read and made; a gradient that is a port is none of its results."""
    taken: dict[SSAValue, Port] = {argument: port for port, argument in ports.items()}
    made = [value for part in gradients for value in part.values() if value not in taken]
    returned = list(dict.fromkeys(made))
    gives, masks = (
        {i: taken[v] if v in taken else returned.index(v) for i, v in part.items()}
        for part in gradients
    )
    block.add_op(ReturnOp(*returned))
    _erase_unused(block)
    _erase_arguments(block)
    kept = set(block.args)
    bound = {symbol for argument in block.args for symbol in _binds(argument)}
    sizes = tuple(sorted(symbols - bound))
    function = library.add(callee, block, sizes)
    left = tuple(port for port, argument in ports.items() if argument in kept)
    return Pullback(function, left, sizes, gives, masks)


def _erase_unused(block: Block) -> None:
    """Calls too: the function itself was called with the same values before.

    Its own checks of indices stay, so that nothing here is read or written at a bad one.
    """
    for op in reversed(list(block.ops)):
        unused = bool(op.results) and not any(result.uses for result in op.results)
        if unused and (isinstance(op, USES) or is_side_effect_free(op)):
            block.erase_op(op)


def _erase_arguments(block: Block) -> None:
    """Leave out arguments that nothing reads, unless a size is known by one of them alone."""
    for argument in list(block.args):
        others = {s for other in block.args if other is not argument for s in _binds(other)}
        if not argument.uses and others.issuperset(_binds(argument)):
            block.erase_arg(argument)


def _binds(argument: BlockArgument) -> Sequence[str]:
    return type_of(argument).binds
