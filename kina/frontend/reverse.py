"""`reverseMode`: the function that a binding such as `let df = reverseMode(f, wrt=[x])` makes."""

from __future__ import annotations

from collections.abc import Mapping

from kina.frontend.ast import Identifier, Reverse
from kina.frontend.context import Known
from kina.frontend.discrete import ContestPaths
from kina.frontend.report import Report
from kina.frontend.source import Extent
from kina.frontend.typed import Differentiate, TypedFunction, Value
from kina.gradients import cotangent_names, refusal, vjp_operands, vjp_results
from kina.ops import OPS
from kina.types import Parameter, Signature, TupleType


class ReverseChecker:
    """Checks the `reverseMode` items of one program; every error goes to the report."""

    def __init__(
        self,
        report: Report,
        known: Mapping[str, Known],
        later: Mapping[str, Identifier],
        paths: ContestPaths,
    ) -> None:
        self._report = report
        self._known = known
        self._later = later
        self._paths = paths

    def check(self, node: Reverse) -> tuple[Known, TypedFunction | None]:
        """The function that `node` binds, and its body unless something is wrong."""
        callee = self._callee(node.function)
        signature = callee.signature if callee else None
        wrt = self._wrt(node, callee, signature) if callee and signature else None
        if callee is None or signature is None or wrt is None:
            return Known(node.name, None), None
        if not self._differentiable(node, callee, signature, wrt):
            return Known(node.name, None), None
        return _differentiated(node, callee, signature, wrt)

    def _callee(self, name: Identifier) -> Known | None:
        known = self._known.get(name.name)
        if known is None:
            self._report_unknown(name)
        return known

    def _report_unknown(self, name: Identifier) -> None:
        later = self._later.get(name.name)
        if later is not None:
            note = self._report.note("it is bound here", later.extent)
            help_ = "reverseMode takes a function bound before it"
            message = f"`{name.name}` is used before its binding"
            self._report.error(message, name.extent, [note], help_)
        elif name.name in OPS:
            message = f"`{name.name}` is an operation, expected a function of this program"
            help_ = "put it into a function, and take reverseMode of that"
            self._report.error(message, name.extent, help=help_)
        else:
            help_ = self._report.suggest(name.name, self._known)
            self._report.error(f"unknown function `{name.name}`", name.extent, help=help_)

    def _wrt(self, node: Reverse, callee: Known, signature: Signature) -> tuple[int, ...] | None:
        """The positions of the parameters to differentiate by; default: the floating ones."""
        if node.wrt is None:
            types = [parameter.type for parameter in signature.parameters]
            found = tuple(position for position, t in enumerate(types) if t.dtype.is_float)
            if not found:
                self._refuse(node, callee, f"no parameter of {signature.name} is floating")
            return found or None
        positions: dict[int, Identifier] = {}
        for name in node.wrt:
            position = self._position(name, callee, signature)
            if position is None:
                continue
            if position in positions:
                note = self._report.note("the first one", positions[position].extent)
                message = f"`wrt` names `{name.name}` twice"
                self._report.error(message, name.extent, [note])
            positions.setdefault(position, name)
        return tuple(positions) if len(positions) == len(node.wrt) else None

    def _position(self, name: Identifier, callee: Known, signature: Signature) -> int | None:
        """The position of a floating parameter; None after reporting that there is none."""
        names = [parameter.name for parameter in signature.parameters]
        if any(size.name == name.name for size in signature.sizes):
            note = self._report.note(f"{signature} is defined here", callee.name.extent)
            message = f"`{name.name}` is a size, expected a float: nothing else has a gradient"
            self._report.error(message, name.extent, [note])
            return None
        if name.name not in names:
            note = self._report.note(f"{signature} is defined here", callee.name.extent)
            message = f"{signature.name} has no parameter `{name.name}`"
            self._report.error(message, name.extent, [note], self._report.suggest(name.name, names))
            return None
        position = names.index(name.name)
        type_ = signature.parameters[position].type
        if type_.dtype.is_float:
            return position
        note = self._report.note(f"`{name.name}` has type {type_}", callee.parameters[position])
        message = (
            f"`{name.name}` has dtype {type_.dtype}, expected a float: nothing else has a gradient"
        )
        self._report.error(message, name.extent, [note])
        return None

    def _differentiable(
        self, node: Reverse, callee: Known, signature: Signature, wrt: tuple[int, ...]
    ) -> bool:
        """Whether the results have gradients, after reporting why not."""
        floating = [result.dtype.is_float for result in signature.results]
        paths = self._paths.of(signature.name)
        places = [
            path[position]
            for path, differentiated in zip(paths, floating, strict=True)
            if differentiated or not any(floating)
            for position in wrt
            if position in path
        ]
        if places:
            first = min(places)
            note = self._report.note(f"{node.name.name} differentiates through it", node.extent)
            self._report.error(refusal(first.word), first.extent, [note])
        elif not any(floating):
            self._refuse(node, callee, f"no result of {signature.name} is floating")
        return any(floating) and not places

    def _refuse(self, node: Reverse, callee: Known, message: str) -> None:
        note = self._report.note(f"{callee.signature} is defined here", callee.name.extent)
        self._report.error(f"{message}: it has no gradient", node.function.extent, [note])


def _differentiated(
    node: Reverse, callee: Known, signature: Signature, wrt: tuple[int, ...]
) -> tuple[Known, TypedFunction]:
    parameters = _parameters(signature)
    types = [parameter.type for parameter in signature.parameters]
    results = vjp_results(types, signature.results, wrt)
    added = len(parameters) - len(types)
    extents: tuple[Extent, ...] = (*callee.parameters, *(node.extent,) * added)
    new = Signature(node.name.name, parameters, TupleType(tuple(results)), signature.sizes)
    operands = tuple(Value(parameter.type) for parameter in parameters)
    values = tuple(Value(type_) for type_ in results)
    sizes = tuple(size.name for size in signature.sizes)
    body = (Differentiate(signature.name, operands, sizes, wrt, values, node.function.extent),)
    typed = TypedFunction(
        new, operands, body, values, node.name.extent, extents, node.function.extent
    )
    return Known(node.name, new, extents), typed


def _parameters(signature: Signature) -> tuple[Parameter, ...]:
    """The function's parameters and the cotangents of its results."""
    names = signature.names
    types = [parameter.type for parameter in signature.parameters]
    cotangents = vjp_operands(types, signature.results)[len(types) :]
    added = cotangent_names(len(cotangents), names)
    pairs = zip(added, cotangents, strict=True)
    return (*signature.parameters, *(Parameter(name, type_) for name, type_ in pairs))
