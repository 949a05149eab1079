"""`reverseMode`: the function that a binding such as `let df = reverseMode(f, wrt=[x])` makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kina.frontend.ast import Identifier, Path, Reverse
from kina.frontend.check_folds import FOLD
from kina.frontend.context import Known
from kina.frontend.discrete import ContestPaths
from kina.frontend.report import Report
from kina.frontend.source import Extent
from kina.frontend.typed import Differentiate, TypedFunction, Value
from kina.frozen import frozen
from kina.ops import OPS
from kina.rules.gradients import cotangent_names, refusal, vjp_operands, vjp_results
from kina.types import (
    Declared,
    Parameter,
    RecordParameter,
    RecordType,
    Signature,
    TensorType,
    TupleType,
    Type,
    leaves,
)


@frozen(slots=True)
class _Variable:
    """What one entry of `wrt` names: a parameter or a field, and where its tensors stand."""

    name: str
    type: TensorType | RecordType
    positions: tuple[int, ...]


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
        elif name.name in OPS or name.name == FOLD:
            message = f"`{name.name}` is an operation, expected a function of this program"
            help_ = "put it into a function, and take reverseMode of that"
            self._report.error(message, name.extent, help=help_)
        else:
            help_ = self._report.suggest(name.name, self._known)
            self._report.error(f"unknown function `{name.name}`", name.extent, help=help_)

    def _wrt(self, node: Reverse, callee: Known, signature: Signature) -> list[_Variable] | None:
        """What to differentiate by; default: the floating parameters."""
        if node.wrt is None:
            return self._default(node, callee, signature)
        found: dict[Path, _Variable] = {}
        taken: dict[int, Path] = {}
        for path in node.wrt:
            variable = self._find(path, callee, signature)
            if variable is None:
                continue
            first = next((taken[p] for p in variable.positions if p in taken), None)
            if first is not None:
                note = self._report.note("the first one", first.extent)
                message = f"`wrt` names `{path}` twice"
                if first.names != path.names:
                    message = f"`wrt` names `{path}`, and `{first}`, which shares tensors with it"
                self._report.error(message, path.extent, [note])
                continue
            taken.update(dict.fromkeys(variable.positions, path))
            found[path] = variable
        return list(found.values()) if len(found) == len(node.wrt) else None

    def _default(
        self, node: Reverse, callee: Known, signature: Signature
    ) -> list[_Variable] | None:
        found: list[_Variable] = []
        for variable in _variables(signature.declared):
            floating = [leaf.type.dtype.is_float for leaf in _tensors(variable)]
            if all(floating):
                found.append(variable)
            elif any(floating):
                self._refuse_mixed(variable, node.function.extent, callee)
                return None
        if not found:
            self._refuse(node, callee, f"no parameter of {signature.name} is floating")
        return found or None

    def _find(self, path: Path, callee: Known, signature: Signature) -> _Variable | None:
        """What a path names; None after reporting that it is nothing that has a gradient."""
        owner = str(signature.name)
        among = _variables(signature.declared)
        known: list[str] = []
        found: _Variable | None = None
        for name in path.names:
            known = [variable.name.rpartition(".")[2] for variable in among]
            if name not in known:
                self._report_no_variable(path, name, owner, known, callee)
                return None
            found = among[known.index(name)]
            owner = str(found.type) if isinstance(found.type, RecordType) else f"`{found.name}`"
            among = _fields(found)
        assert found is not None
        if all(leaf.type.dtype.is_float for leaf in _tensors(found)):
            return found
        self._refuse_mixed(found, path.extent, callee)
        return None

    def _report_no_variable(
        self, path: Path, name: str, owner: str, known: Sequence[str], callee: Known
    ) -> None:
        note = self._report.note(f"{callee.signature} is defined here", callee.name.extent)
        assert callee.signature is not None
        if any(size.name == name for size in callee.signature.sizes):
            message = f"`{name}` is a size, expected a float: nothing else has a gradient"
            self._report.error(message, path.extent, [note])
            return
        kind = "parameter" if name == path.names[0] else "field"
        message = f"{owner} has no {kind} `{name}`"
        self._report.error(message, path.extent, [note], self._report.suggest(name, known))

    def _refuse_mixed(self, variable: _Variable, at: Extent, callee: Known) -> None:
        """Reports the first tensor of `variable` that is not floating."""
        leaf = next(leaf for leaf in _tensors(variable) if not leaf.type.dtype.is_float)
        assert callee.signature is not None
        names = [declared.name for declared in callee.signature.declared]
        place = callee.parameters[names.index(variable.name.partition(".")[0])]
        note = self._report.note(f"`{leaf.name}` has type {leaf.type}", place)
        whole = isinstance(variable.type, TensorType)
        what = f"`{leaf.name}`" if whole else f"field `{leaf.name}` of {variable.type}"
        message = (
            f"{what} has dtype {leaf.type.dtype}, expected a float: nothing else has a gradient"
        )
        help_ = None if whole else "name the fields to differentiate by: wrt=[p.field, …]"
        self._report.error(message, at, [note], help_)

    def _differentiable(
        self, node: Reverse, callee: Known, signature: Signature, wrt: Sequence[_Variable]
    ) -> bool:
        """Whether the results have gradients, after reporting why not."""
        floating = [result.dtype.is_float for result in signature.results]
        paths = self._paths.of(signature.name)
        places = [
            path[position]
            for path, differentiated in zip(paths, floating, strict=True)
            if differentiated or not any(floating)
            for variable in wrt
            for position in variable.positions
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


def _variables(declared: Sequence[Declared], first: int = 0, owner: str = "") -> list[_Variable]:
    """The parameters, or the fields of `owner`, whose first tensor stands at `first`."""
    found: list[_Variable] = []
    for wanted in declared:
        count = len(leaves(wanted))
        name = f"{owner}.{wanted.name}" if owner else wanted.name
        found.append(_Variable(name, wanted.type, tuple(range(first, first + count))))
        first += count
    return found


def _fields(variable: _Variable) -> list[_Variable]:
    if isinstance(variable.type, TensorType):
        return []
    return _variables(variable.type.fields, variable.positions[0], variable.name)


def _tensors(variable: _Variable) -> tuple[Parameter, ...]:
    if isinstance(variable.type, TensorType):
        return (Parameter(variable.name, variable.type),)
    return leaves(RecordParameter(variable.name, variable.type))


def _differentiated(
    node: Reverse, callee: Known, signature: Signature, wrt: Sequence[_Variable]
) -> tuple[Known, TypedFunction]:
    declared = _declared(signature)
    positions = tuple(position for variable in wrt for position in variable.positions)
    types = [parameter.type for parameter in signature.parameters]
    flat = vjp_results(types, signature.results, positions)
    added = len(declared) - len(signature.declared)
    extents: tuple[Extent, ...] = (*callee.parameters, *(node.extent,) * added)
    gradients = tuple(variable.type for variable in wrt)
    result = TupleType((*_items(signature.result), *gradients))
    new = Signature(node.name.name, declared, result, signature.sizes)
    operands = tuple(Value(parameter.type) for parameter in new.parameters)
    values = tuple(Value(type_) for type_ in flat)
    sizes = tuple(size.name for size in signature.sizes)
    at = node.function.extent
    body = (Differentiate(signature.name, operands, sizes, positions, values, at),)
    pairs = zip(declared, extents, strict=True)
    places = tuple(extent for wanted, extent in pairs for _ in leaves(wanted))
    typed = TypedFunction(
        new, operands, body, values, node.name.extent, places, node.function.extent
    )
    return Known(node.name, new, extents), typed


def _items(type_: Type) -> tuple[Type, ...]:
    return type_.items if isinstance(type_, TupleType) else (type_,)


def _declared(signature: Signature) -> tuple[Declared, ...]:
    """The function's parameters and the cotangents of its results."""
    names = signature.names
    types = [parameter.type for parameter in signature.parameters]
    cotangents = vjp_operands(types, signature.results)[len(types) :]
    added = cotangent_names(len(cotangents), names)
    pairs = zip(added, cotangents, strict=True)
    return (*signature.declared, *(Parameter(name, type_) for name, type_ in pairs))
