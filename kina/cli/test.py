"""`kina test`: runs the examples that stand beside the code, compiled and in the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np

from kina.arrays import Array, numpy_dtype
from kina.backend.options import Options
from kina.cli.expectations import Equal, Expectation, Fails, Random, Value, expectations
from kina.cli.inputs import drawn
from kina.cli.programs import read_program
from kina.cli.progress import compiling
from kina.cli.streams import report
from kina.dims import evaluate, is_symbol
from kina.errors import (
    Diagnostic,
    KinaError,
    KinaTypeError,
    KinaValueError,
    counted,
    render_all,
)
from kina.frontend.source import Source
from kina.runtime.arguments import result_shape
from kina.runtime.loading import load_source
from kina.runtime.module import Function, Module, no_function
from kina.types import (
    Parameter,
    RecordParameter,
    RecordType,
    TensorType,
    TupleType,
    Type,
    leaves,
)

_WORDS = {"true": 1, "false": 0}


def test_files(files: Sequence[Path]) -> int:
    """Run the tests of each program; 1 if one fails."""
    return max([_test_file(file) for file in files])


def _test_file(file: Path) -> int:
    try:
        source = read_program(file)
        tests = list(expectations(source))
        if not tests:
            print(f"{source.name}: no tests")
            return 0
        with compiling(file):
            module = load_source(source, Options(), needed="kina.cli.test")
    except KinaError as error:
        report(render_all(error.diagnostics))
        return 1
    failed = [problem for test in tests for problem in _run(source, module, test)]
    if failed:
        report(render_all(failed))
    passed = len(tests) - len({problem.span for problem in failed})
    print(f"{source.name}: {passed} of {len(tests)} tests passed")
    return int(bool(failed))


def _run(source: Source, module: Module, test: Expectation) -> list[Diagnostic]:
    """What is wrong with a test, compiled and in the reference."""
    span = source.span(*test.extent)
    try:
        function = _function(module, test.function)
        given = _Arguments(function, test)
        arguments = given.made()
    except KinaError as error:
        return [Diagnostic(error.diagnostics[0].message, span)]
    runs: dict[str, Callable[..., Any]] = {"compiled": function.flat}
    if isinstance(test.outcome, Equal | Fails):
        runs["in the reference"] = function.flat_reference
    problems = {how: _outcome(run, function, test, arguments) for how, run in runs.items()}
    texts = set(problems.values())
    if len(texts) == 1 and len(problems) > 1:
        return [Diagnostic(text, span) for text in texts if text]
    return [Diagnostic(f"{how}: {text}", span) for how, text in problems.items() if text]


def _function(module: Module, name: str) -> Function:
    if name not in list(module):
        raise KinaValueError(no_function(name, module, "in this program"))
    return module[name]


def _outcome(
    run: Callable[..., Any], function: Function, test: Expectation, arguments: Sequence[Any]
) -> str | None:
    """How a call differs from what is expected; None if it does not."""
    wanted = test.outcome
    try:
        found: Any = run(*arguments)
    except KinaError as error:
        message = error.diagnostics[0].message
        if isinstance(wanted, Fails) and wanted.message in message:
            return None
        return f"failed: {message}"
    results = cast("tuple[Array, ...]", found) if isinstance(found, tuple) else (found,)
    if isinstance(wanted, Fails):
        return f'did not fail, expected an error with "{wanted.message}"'
    if isinstance(wanted, Equal):
        return _unequal(function, results, wanted.results)
    digits = sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in results)).hexdigest()
    if wanted.digits and digits.startswith(wanted.digits):
        return None
    return f'the hash is "{digits[: max(16, len(wanted.digits))]}", expected "{wanted.digits}"'


def _unequal(function: Function, results: Sequence[Array], wanted: list[Value]) -> str | None:
    type_ = function.type.result
    items = type_.items if isinstance(type_, TupleType) else (type_,)
    if len(wanted) != len(items):
        return f"gives {counted(len(items), 'result')}, expected {len(wanted)}"
    try:
        leaves_ = [each for item in zip(items, wanted, strict=True) for each in _leaves(*item)]
        pairs = zip(function.type.output_names, results, leaves_, strict=True)
        problems = [(name, _different(found, value)) for name, found, value in pairs]
    except KinaError as error:
        return f"what is expected is {error.diagnostics[0].message}"
    return next((f"{name} {problem}" for name, problem in problems if problem), None)


def _leaves(type_: Type, value: Value) -> list[Value]:
    """What is expected of each tensor of a result."""
    if not isinstance(type_, RecordType):
        return [value]
    if not isinstance(value, dict) or sorted(value) != sorted(type_.names):
        raise KinaValueError(f"no record with the fields {', '.join(type_.names)}")
    return [leaf for field in type_.fields for leaf in _leaves(field.type, value[field.name])]


def _different(found: Array, value: Value) -> str | None:
    texts = _as_array(value)
    if texts.shape not in ((), found.shape):
        return f"has shape {list(found.shape)}, expected {list(texts.shape)}"
    texts = np.broadcast_to(texts, found.shape)
    for at in np.ndindex(found.shape):
        if not _agrees(found[at], str(texts[at])):
            where = f" at {list(at)}" if at else ""
            return f"is {found[at]}{where}, expected {texts[at]}"
    return None


def _agrees(found: Any, text: str) -> bool:
    """Whether an element is a number, to the digits that are written after its point."""
    number = float(found)
    if text in ("nan", "inf", "-inf") or not np.isfinite(number):
        return str(number) == text or (text == "nan" and number != number)
    wanted = Decimal(str(_WORDS.get(text, text)))
    if "." not in text and "e" not in text.lower():
        return Decimal(number) == wanted
    exponent = wanted.as_tuple().exponent
    assert isinstance(exponent, int)
    return abs(Decimal(number) - wanted) <= Decimal(5).scaleb(exponent - 1)


def _as_array(value: Value) -> Array:
    """The numbers, as text; raises `KinaValueError` for lists of unequal lengths."""
    if isinstance(value, dict):
        raise KinaValueError("a record, expected a tensor")
    if isinstance(value, str):
        return np.array(value, object)
    items = [_as_array(each) for each in value]
    if len({item.shape for item in items}) > 1:
        raise KinaValueError("a list whose items have different shapes is no tensor")
    return np.array([item.tolist() for item in items], object) if items else np.empty(0, object)


class _Arguments:
    """Makes the arrays that a test gives."""

    def __init__(self, function: Function, test: Expectation) -> None:
        self._function = function
        self._type = function.type
        self._given = self._by_name(test)
        self._sizes = self._known_sizes()

    def _by_name(self, test: Expectation) -> dict[str, Value | Random]:
        names = self._type.names
        if len(test.positional) > len(names):
            raise KinaValueError(
                f"{counted(len(test.positional), 'argument')}, expected {len(names)}"
            )
        found = dict(zip(names, test.positional, strict=False))
        for name, value in test.named.items():
            if name in found or name not in (*names, *self._type.symbols):
                known = ", ".join(dict.fromkeys([*names, *self._type.symbols]))
                problem = "is given twice" if name in found else f"is none of {known}"
                raise KinaValueError(f"`{name}` {problem}")
            found[name] = value
        missing = [name for name in names if name not in found]
        if missing:
            raise KinaValueError(f"no value for {', '.join(f'`{name}`' for name in missing)}")
        return found

    def _known_sizes(self) -> dict[str, int]:
        """The sizes that are given, or that the shape of an array tells."""
        sizes: dict[str, int] = {}
        for name in self._type.symbols:
            value = self._given.get(name)
            if isinstance(value, str) and value.isdecimal():
                sizes[name] = int(value)
        for parameter, value in self._tensors():
            if isinstance(value, Random):
                continue
            for dim, size in zip(parameter.type.dims, _as_array(value).shape, strict=False):
                if isinstance(dim, str) and is_symbol(dim):
                    sizes.setdefault(dim, size)
        return sizes

    def _tensors(self) -> list[tuple[Parameter, Value | Random]]:
        """Every tensor that is a parameter or a part of one, and what is given for it."""
        found: list[tuple[Parameter, Value | Random]] = []
        for declared in self._type.declared:
            value = self._given[declared.name]
            if not isinstance(declared, RecordParameter) or isinstance(value, Random):
                found += [(leaf, value) for leaf in leaves(declared)]
                continue
            found += _fields(declared, value)
        return found

    def made(self) -> list[Any]:
        """What to call the function with, tensors one by one."""
        tensors = [
            self._make(index, parameter, value)
            for index, (parameter, value) in enumerate(self._tensors())
        ]
        sizes: list[Any] = [self._size(size.name) for size in self._type.sizes]
        return self._type.flat_in_order(list[Any](tensors), sizes)

    def _size(self, name: str) -> int:
        if name not in self._sizes:
            raise KinaValueError(f"the size {name} is not known: give it by name, {name}=4")
        return self._sizes[name]

    def _make(self, index: int, parameter: Parameter, value: Value | Random) -> Array:
        if isinstance(value, Random):
            limits = [evaluate(dim, self._sizes) for dim in self._function.ranges[index]]
            random = np.random.default_rng([value.seed, index])
            return drawn(random, parameter, self._shape(parameter.type), min(limits, default=None))
        texts = _as_array(value)
        numbers = np.array([_number(parameter, text) for text in texts.flat], object)
        array = numbers.reshape(texts.shape).astype(numpy_dtype(parameter.type.dtype))
        return array if texts.shape else np.full(self._shape(parameter.type), array)

    def _shape(self, type_: TensorType) -> tuple[int, ...]:
        for name in type_.symbols:
            self._size(name)
        return result_shape(type_, self._sizes)


def _fields(record: RecordParameter, value: Value) -> list[tuple[Parameter, Value | Random]]:
    """The tensors of a record, each with what is given for its field."""
    found: list[tuple[Parameter, Value | Random]] = []
    if not isinstance(value, dict):
        raise KinaTypeError(f"`{record.name}` is a record: write {{field: value, …}}")
    names = [field.name for field in record.type.fields]
    if sorted(names) != sorted(value):
        raise KinaTypeError(f"`{record.name}` has the fields {', '.join(names)}")
    for field in record.type.fields:
        inner = value[field.name]
        if isinstance(field, RecordParameter):
            found += _fields(field, inner)
        else:
            found.append((field, inner))
    return found


def _number(parameter: Parameter, text: Any) -> float | int:
    written = str(text)
    dtype = parameter.type.dtype
    try:
        return float(written) if dtype.is_float else int(_WORDS.get(written, written))
    except ValueError:
        message = f"`{parameter.name}`: {written} is no value of {dtype}"
        raise KinaTypeError(message) from None
