"""The gradient of a call: a call of the callee's pullback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.ir import SSAValue

from kina.dialects.call import CallOp, call_binding
from kina.dialects.types import to_ir
from kina.dtypes import BOOL
from kina.passes.inline_calls import callee_name
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import Share
from kina.passes.vjp.cotangents import Cotangents, masked
from kina.passes.vjp.ports import (
    Ask,
    Library,
    Port,
    Pullback,
    Work,
    at,
    cotangent,
    mask,
    parameter,
    total,
)
from kina.types import Dim, TensorType


def reverse_call(
    library: Library, state: Cotangents, op: CallOp | FuncCallOp, given: Mapping[int, Share]
) -> Work[None]:
    """Call the callee's pullback, which adds to the cotangents that are known.

    `given` are the cotangents of the results that have one.
    """
    firsts: dict[SSAValue, int] = {}
    same = tuple(firsts.setdefault(value, i) for i, value in enumerate(op.operands))
    wrt = tuple(i for value, i in firsts.items() if value in state.active)
    shares = {cotangent(j): share for j, share in given.items()}
    shares |= {total(i): state.known[v] for i in wrt if (v := op.operands[i]) in state.known}
    is_plain = len(firsts) == len(same)
    ask = Ask(
        callee_name(op),
        same,
        () if is_plain else tuple(map(type_of, op.operands)),
        wrt,
        tuple(given),
        tuple(port.position for port in shares if port.kind == "sum"),
        () if is_plain else _sizes(op),
        tuple(port for port, share in shares.items() if share.chosen is not None),
    )
    yield ask
    pullback = library.pullbacks[ask]
    values = {parameter(i): value for i, value in enumerate(op.operands)}
    for port, share in shares.items():
        values[port] = state.settled(share)
        if (chosen := state.mask(share)) is not None:
            values[mask(port)] = chosen
    results = _call(library, state, op, pullback, values, is_plain=is_plain)
    for i, source in pullback.gives.items():
        chosen = pullback.masks.get(i)
        state.known[op.operands[i]] = masked(
            at(source, values, results), None if chosen is None else at(chosen, values, results)
        )


def _call(
    library: Library,
    state: Cotangents,
    op: CallOp | FuncCallOp,
    pullback: Pullback,
    values: Mapping[Port, SSAValue],
    *,
    is_plain: bool,
) -> Sequence[SSAValue]:
    """What a call of the pullback gives; one that is not plain has the caller's symbols."""
    types: dict[int, TensorType] = {}
    for position in pullback.gives:
        type_ = type_of(op.operands[position])
        for sources, kind in ((pullback.gives, type_), (pullback.masks, type_.with_dtype(BOOL))):
            if isinstance(source := sources.get(position), int):
                types[source] = kind
    if not types:
        return ()
    binding: Mapping[str, Dim] = call_binding(op, library.functions[callee_name(op)])
    call = CallOp(
        pullback.function.sym_name.data,
        [values[port] for port in pullback.ports],
        [to_ir(types[number]) for number in sorted(types)],
        [size if not is_plain else binding[size] for size in pullback.sizes],
    )
    state.builder.emit(call)
    return call.results


def _sizes(op: CallOp | FuncCallOp) -> tuple[Dim, ...]:
    return op.size_values if isinstance(op, CallOp) else ()
