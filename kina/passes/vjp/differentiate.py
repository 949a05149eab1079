"""From a function to the function of its results and gradients."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from kina.dialects.callee import kina_types, size_parameters
from kina.dialects.types import to_ir
from kina.passes.inline_calls import copied_body
from kina.passes.tensor_builder import type_of
from kina.passes.vjp import pullbacks
from kina.passes.vjp.builder import GradientBuilder, Share
from kina.passes.vjp.chosen import settled
from kina.passes.vjp.ports import Library, Work
from kina.passes.vjp.refusals import ContestFlow
from kina.passes.vjp.reverse import Reverse, Seed
from kina.rules.gradients import takes_cotangent, vjp_operands, vjp_results


def differentiate(library: Library, function: FuncOp, wrt: Sequence[int]) -> FuncOp:
    """A function that takes what `function` takes and the cotangents, and returns its results
    and the gradients of the parameters at `wrt`.

    Calls in it stay calls, and go back through calls of pullbacks, which the library gets.
    Raises KinaTypeError for a result that depends on one of them through an argmax or argmin
    (seed 17).
    """
    ContestFlow(library.functions).check(function, wrt)
    return pullbacks.run(library, _differentiated(library, function, wrt))


def _differentiated(library: Library, function: FuncOp, wrt: Sequence[int]) -> Work[FuncOp]:
    inputs = kina_types(function.function_type.inputs.data)
    outputs = kina_types(function.function_type.outputs.data)
    operands = [to_ir(type_) for type_ in vjp_operands(inputs, outputs)]
    block = Block(arg_types=operands)
    given = iter(block.args[len(inputs) :])
    symbols = [*size_parameters(function), *(s for type_ in inputs for s in type_.symbols)]
    identity = {symbol: symbol for symbol in symbols}
    operations, results = copied_body(function, block.args[: len(inputs)], identity)
    block.add_ops(operations)
    seeds: list[Seed] = [
        (result, Share(next(given)) if takes_cotangent(type_of(result)) else None)
        for result in results
    ]
    sources = [block.args[position] for position in wrt]
    state = yield from Reverse(library, block, operations, function.location).run(
        seeds, sources, {}
    )
    builder = GradientBuilder(block, function.location)
    gradients = [
        settled(builder, state.known[source])
        if source in state.known
        else builder.number(0.0, type_of(source))
        for source in sources
    ]
    results = [state.replaced.get(result, result) for result in results]
    block.add_op(ReturnOp(*results, *gradients))
    types = [to_ir(type_) for type_ in vjp_results(inputs, outputs, wrt)]
    name = f"vjp of {function.sym_name.data}"
    return FuncOp(name, FunctionType.from_lists(operands, types), Region(block))
