"""Writes the C header of a library: C99, also fit for C++."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kina.backend.c_names import distinct
from kina.backend.metadata import CompiledFunction
from kina.types import TensorType, format_dims

_INTRODUCTION = """\
/* Written by kina build; edits will be lost.
 *
 * Arrays are contiguous, row-major and aligned to their element type. Sizes come first, in the
 * order in which the program names them; each is at least 1. Outputs belong to the caller and must
 * not overlap an input or each other. A function returns 0 if all went well, n > 0 if its n-th
 * check failed, -1 if memory ran out; then the outputs' contents are unspecified. Inputs are never
 * written. Functions have no state: any number of threads may call them at once.
 *
 * Bool is one byte, 0 or 1. I4 is one byte per element, sign-extended. BF16, F16, F8E4M3 and
 * F8E5M2 are given as their bits.
 */
"""


def header(file_name: str, functions: Sequence[CompiledFunction]) -> str:
    """The header for `functions`; `file_name` makes its include guard."""
    symbols = [function.symbol for function in functions]
    readers = distinct([*symbols, *(f"{symbol}_message" for symbol in symbols)])[len(symbols) :]
    guard = re.sub(r"[^A-Za-z0-9]", "_", file_name).upper()
    guard = f"KINA_{guard}"
    parts = [
        _INTRODUCTION,
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *(_prototype(function) for function in functions),
        "#ifdef __cplusplus\n}\n#endif\n",
        *(_messages(function, name) for function, name in zip(functions, readers, strict=True)),
        "#endif\n",
    ]
    return "\n".join(parts)


def _prototype(function: CompiledFunction) -> str:
    signature = function.signature
    results = signature.results
    outputs = ["out"] if len(results) == 1 else [f"out{i}" for i in range(len(results))]
    inputs = [parameter.name for parameter in signature.parameters]
    names = distinct([*signature.symbols, *inputs, *outputs])
    count = len(signature.symbols)
    types = [parameter.type for parameter in signature.parameters]
    split = count + len(inputs)
    arguments = [
        *(f"int64_t {name}" for name in names[:count]),
        *(
            f"const {type_.dtype.c} *{name}"
            for type_, name in zip(types, names[count:split], strict=True)
        ),
        *(f"{type_.dtype.c} *{name}" for type_, name in zip(results, names[split:], strict=True)),
    ]
    lines = [
        f" *   {n}: {_shown(t)}" for n, t in zip(names[count:], [*types, *results], strict=True)
    ]
    comment = "\n".join([f"/* {signature.name}", *lines, " */"])
    return f"{comment}\nint32_t {function.symbol}({', '.join(arguments)});\n"


def _shown(type_: TensorType) -> str:
    return f"{type_.dtype} {format_dims(type_.dims)}"


def _messages(function: CompiledFunction, name: str) -> str:
    cases = [(0, "ok"), (-1, "out of memory")]
    cases += list(enumerate(function.messages, start=1))
    lines = [f"    case {code}: return {_literal(text)};" for code, text in cases]
    body = "\n".join(
        ["    switch (status) {", *lines, '    default: return "unknown status";', "    }"]
    )
    return (
        f"/* What a status of {function.symbol} means. */\n"
        f"static inline const char *{name}(int32_t status) {{\n{body}\n}}\n"
    )


def _literal(text: str) -> str:
    """A C string literal; bytes outside printable ASCII become octal escapes."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "replace")
    )
    return f'"{shown}"'
