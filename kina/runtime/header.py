"""Writes the C header of a library: C99, also fit for C++.

Its prototypes name no parameter, for any name may be a macro where the header is included: `I` and
`B0` are in <complex.h> and <termios.h>, `N` in many a program. Names stand in comments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from kina.backend.c_names import distinct
from kina.backend.metadata import CompiledFunction
from kina.backend.threads import set_threads_of
from kina.runtime.header_records import Structs
from kina.types import TensorType, format_dims

_INTRODUCTION = """\
/* Written by kina build; edits will be lost.
 *
 * Arrays are contiguous, row-major and aligned to their element type. Sizes come first, in the
 * order in which the program names them; each is at least 0. Outputs belong to the caller and must
 * not overlap an input or each other. Where a function says that an output may be an input, the two
 * pointers may be equal: then only what changes is written. A function returns 0 if all went well;
 * n > 0 if its n-th check failed: all outputs are as they were; -1 if memory ran out, -2 if it does
 * not take these sizes (an empty axis that has no maximum): then the outputs' contents are
 * unspecified, but for one that is an input: it is as it was. Other inputs are never written. Any
 * number of threads may call the functions at once.
 *
 * Bool is one byte, 0 or 1. I4 is one byte per element, sign-extended. BF16, F16, F8E4M3 and
 * F8E5M2 are given as their bits.
 */
"""

_SET_THREADS = """\
/* Lets every later call use up to so many threads; returns how many that are. Below 1 it is the
 * default again: what KINA_NUM_THREADS says, else OMP_NUM_THREADS, else the number of CPUs that the
 * process may use. Results do not depend on it. */
int32_t {name}(int32_t /* count */);
"""


def header(functions: Sequence[CompiledFunction]) -> str:
    """The header for `functions`.

    What it says makes its include guard, so headers of one file name can meet in one C file.
    """
    taken = [*(f.c_name for f in functions), *(f.symbol for f in functions)]
    messages = [f"{function.c_name}_message" for function in functions]
    readers = distinct([*dict.fromkeys(taken), *messages])[-len(functions) :]
    structs = Structs(functions)
    parts = [
        "#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *structs.definitions(),
        *(_prototype(function) for function in functions),
        *structs.functions(),
        *_set_threads(functions),
        "#ifdef __cplusplus\n}\n#endif\n",
        *(_messages(function, name) for function, name in zip(functions, readers, strict=True)),
    ]
    content = "\n".join(parts)
    guard = f"KINA_{sha256(content.encode()).hexdigest()[:24].upper()}_H"
    return "\n".join([_INTRODUCTION, f"#ifndef {guard}\n#define {guard}\n", content, "#endif\n"])


def _set_threads(functions: Sequence[CompiledFunction]) -> list[str]:
    name = set_threads_of(functions)
    return [] if name is None else [_SET_THREADS.format(name=name)]


def _prototype(function: CompiledFunction) -> str:
    arguments = ",\n".join(f"    {argument}" for argument in _arguments(function))
    return (
        f"/* {function.name}{_shared(function)} */\nint32_t {function.symbol}(\n{arguments}\n);\n"
    )


def _shared(function: CompiledFunction) -> str:
    """Which outputs may be inputs; a name in a comment may hold what ends comments nowhere."""
    signature = function.signature
    pairs = [
        f"{signature.output_names[result]} may be {signature.parameters[parameter].name}"
        for parameter, result in signature.aliases
    ]
    return f": {', '.join(pairs)}" if pairs else ""


def _arguments(function: CompiledFunction) -> Iterator[str]:
    """Each argument's type, with its name in a comment."""
    signature = function.signature
    results, outputs = signature.results, signature.output_names
    for symbol in signature.symbols:
        yield f"int64_t /* {symbol} */"
    for parameter in signature.parameters:
        yield f"const {_pointer(parameter.name, parameter.type)}"
    for name, type_ in zip(outputs, results, strict=True):
        yield _pointer(name, type_)


def _pointer(name: str, type_: TensorType) -> str:
    return f"{type_.dtype.c} * /* {name}: {type_.dtype} {format_dims(type_.dims)} */"


def _messages(function: CompiledFunction, name: str) -> str:
    cases = [(0, "ok"), (-1, "out of memory")]
    if function.requirements:
        cases.append((-2, "; or ".join(each.text for each in function.requirements)))
    cases += list(enumerate(function.messages, start=1))
    lines = [f"    case {code}: return {_literal(text)};" for code, text in cases]
    body = "\n".join(
        ["    switch (kina_status) {", *lines, '    default: return "unknown status";', "    }"]
    )
    return (
        f"/* What a status of {function.c_name} means. */\n"
        f"static inline const char *{name}(int32_t kina_status) {{\n{body}\n}}\n"
    )


def _literal(text: str) -> str:
    """A C string literal; bytes outside printable ASCII become octal escapes."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "replace")
    )
    return f'"{shown}"'
