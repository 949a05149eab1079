"""An ES module that loads a WebAssembly library, and its TypeScript types.

The module is a table of the functions before what is the same in every one (`es_module.mjs`): it
checks arguments, copies them into the library's memory and results out of it, and raises what a
status stands for, with the line of the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from kina.backend.metadata import CompiledFunction
from kina.dims import Dim, is_symbol, terms_of
from kina.dtypes import DType
from kina.errors import Diagnostic, Span
from kina.frontend.source import Source
from kina.types import (
    Declared,
    RecordType,
    Signature,
    TensorType,
    TupleType,
    Type,
    format_dims,
)

_RUNTIME = Path(__file__).with_suffix(".mjs")
_WRITTEN = "// Written by kina build; edits will be lost.\n"
_TAKEN = ("resident", "then")
"""Members of what `load` gives: its own, and what would make a promise of it."""
_PLACE = re.compile(r":(\d+):(\d+): ")


def es_module(library: str, functions: Sequence[CompiledFunction], source: Source) -> str:
    """The module for a library of this file name, made of `source`."""
    described = [
        _described(function, name, source)
        for function, name in zip(functions, _names(functions), strict=True)
    ]
    rows = ",\n".join(f"  {json.dumps(row)}" for row in described)
    place = json.dumps("./" + quote(library))
    return (
        f"{_WRITTEN}const LIBRARY = new URL({place}, import.meta.url);\n"
        f"const FUNCTIONS = [\n{rows},\n];\n\n{_RUNTIME.read_text(encoding='utf-8')}"
    )


def _names(functions: Sequence[CompiledFunction]) -> list[str]:
    """What each function is called in JavaScript: its name, unless that is taken."""
    own = {function.name for function in functions}
    found: list[str] = []
    for function in functions:
        name = function.name
        while name in _TAKEN or (name != function.name and name in own):
            name += "_"
        found.append(name)
    return found


def _described(function: CompiledFunction, name: str, source: Source) -> dict[str, object]:
    signature = function.signature
    sizes = [{"name": size.name, "size": size.name} for size in signature.sizes]
    parameters = signature.in_order(map(_parameter, signature.declared), sizes)
    return {
        "name": name,
        "symbol": function.symbol,
        "symbols": signature.symbols,
        "parameters": parameters,
        "results": [_tensor(type_) for type_ in signature.results],
        "result": _structure(signature.result),
        "aliases": signature.aliases,
        "messages": [_with_line(message, source) for message in function.messages],
        "requirements": "; or ".join(each.text for each in function.requirements),
    }


def _parameter(declared: Declared) -> dict[str, object]:
    if isinstance(declared.type, RecordType):
        fields = [_parameter(field) for field in declared.type.fields]
        return {"name": declared.name, "fields": fields}
    return {"name": declared.name, **_tensor(declared.type)}


def _tensor(type_: TensorType) -> dict[str, object]:
    shown = format_dims(type_.dims)[1:-1]
    return {
        "dtype": type_.dtype.name,
        "shown": shown,
        "dims": [_dim(dim) for dim in type_.dims],
    }


def _dim(dim: Dim) -> object:
    """A number, a symbol, or terms: a coefficient and symbols each."""
    if isinstance(dim, int) or is_symbol(dim):
        return dim
    return [[coefficient, symbols] for symbols, coefficient in terms_of(dim).items()]


def _structure(type_: Type) -> object:
    """A tensor as null, a record as an object of its fields, a tuple as a list."""
    match type_:
        case TensorType():
            return None
        case RecordType():
            return {field.name: _structure(field.type) for field in type_.fields}
        case TupleType():
            return [_structure(item) for item in type_.items]


def _with_line(message: str, source: Source) -> str:
    """The message of a check with the line of the program that it names."""
    for _, file in source.parts:
        found = _PLACE.match(message, len(file.name)) if message.startswith(file.name) else None
        if found is not None:
            line, column = int(found[1]), int(found[2])
            span = Span(file.name, line, column, 1, file.lines()[line - 1])
            return Diagnostic(message[found.end() :], span).render()
    return message


# ---- Types ----

_ARRAYS: Mapping[str, str] = {
    **dict.fromkeys(("F16", "BF16"), "Uint16Array"),
    **dict.fromkeys(("F8E4M3", "F8E5M2", "Bool"), "Uint8Array"),
    **dict.fromkeys(("I8", "I4"), "Int8Array"),
    **{"F32": "Float32Array", "I64": "BigInt64Array", "I32": "Int32Array", "I16": "Int16Array"},
}
_RESERVED = """
arguments await break case catch class const continue debugger default delete do else
enum eval export extends false finally for function if implements import in instanceof
interface let new null package private protected public return static super switch this
throw true try typeof var void while with yield
"""
"""What no parameter may be called in TypeScript."""
_TYPES = """\
/** The shape or a size of an argument is wrong, or a call does not take these sizes. */
export class KinaValueError extends RangeError {}
/** An argument is no tensor, or of another dtype. */
export class KinaTypeError extends TypeError {}
/** An index is out of range: the place in the program, and its line. Outputs are as they were. */
export class KinaIndexError extends RangeError {}
/** There is no memory for an argument, a result or a temporary. */
export class KinaMemoryError extends RangeError {}

export interface Arrays {
%s
}
export type Elements = Arrays[keyof Arrays];

/** An array with a shape, row-major. */
export class Tensor<A extends Elements = Elements> {
  constructor(data: A, shape?: readonly number[]);
  readonly data: A;
  readonly shape: readonly number[];
}
/** A tensor in the memory of the library: as an argument nothing of it is copied. */
export class Resident<A extends Elements = Elements> {
  private constructor();
  /** The elements; a view of this moment, which memory that grows makes invalid. */
  readonly data: A;
  readonly shape: readonly number[];
  /** Its address in the memory of the library. */
  readonly address: number;
  /** Give the memory back now, rather than when nobody holds the tensor any more. */
  free(): void;
}
/** An argument; of a bare array the length says the shape. */
export type Given<A extends Elements> = Tensor<A> | Resident<A> | A;

export interface Library {
  /** A tensor in the memory of the library, filled with `data`, or with zeros. */
  resident<D extends keyof Arrays>(
    dtype: D,
    shape: readonly number[],
    data?: Arrays[D],
  ): Resident<Arrays[D]>;
%s}

/** Load the library, from its place beside this module, or from bytes, a URL or a module. */
export default function load(
  source?: string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module,
): Promise<Library>;
"""


def typescript(functions: Sequence[CompiledFunction]) -> str:
    """The types of the module for these functions."""
    arrays = "\n".join(f"  {name}: {array};" for name, array in sorted(_ARRAYS.items()))
    named = zip(functions, _names(functions), strict=True)
    methods = "".join(_method(function.signature, name) for function, name in named)
    return _WRITTEN + _TYPES % (arrays, methods)


def _method(signature: Signature, name: str) -> str:
    """A function that returns tensors, and again with places for its results."""
    sizes = [(size.name, "number | bigint") for size in signature.sizes]
    declared = ((each.name, _given(each.type)) for each in signature.declared)
    parameters = [f"{_word(n)}: {type_}" for n, type_ in signature.in_order(declared, sizes)]
    places = [f"Resident<{_array(type_.dtype)}> | null" for type_ in signature.results]
    out = f"[{', '.join(places)}]" if len(places) != 1 else places[0]
    result, either = (_returned(signature.result, kind) for kind in ("Tensor<{}>", _EITHER))
    comment = str(signature).replace("*/", "* /")
    given = ", ".join(parameters)
    options = ", ".join([*parameters, f"options: {{ out: {out} }}"])
    return f"  /** {comment} */\n  {name}({given}): {result};\n  {name}({options}): {either};\n"


_EITHER = "Tensor<{0}> | Resident<{0}>"


def _word(name: str) -> str:
    return f"{name}_" if name in _RESERVED.split() else name


def _array(dtype: DType) -> str:
    return _ARRAYS[dtype.name]


def _given(type_: TensorType | RecordType) -> str:
    if isinstance(type_, RecordType):
        fields = (f"readonly {field.name}: {_given(field.type)}" for field in type_.fields)
        return f"{{ {'; '.join(fields)} }}"
    numbers = ""
    if not type_.dims:
        numbers = " | number | bigint" if type_.dtype.name == "I64" else " | number"
    return f"Given<{_array(type_.dtype)}>{numbers}"


def _returned(type_: Type, kind: str) -> str:
    match type_:
        case TensorType():
            return kind.format(_array(type_.dtype))
        case RecordType():
            fields = (f"{field.name}: {_returned(field.type, kind)}" for field in type_.fields)
            return f"{{ {'; '.join(fields)} }}"
        case TupleType():
            return f"[{', '.join(_returned(item, kind) for item in type_.items)}]"
