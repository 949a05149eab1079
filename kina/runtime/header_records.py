"""Records in the C header: a struct of pointers each, and the functions that take them.

A library holds functions of plain pointers; what takes structs is written out in the header, so it
costs nothing. Fields keep their names but those that C or its library has taken, which may be
macros: they get a `_`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from kina.backend.c_names import distinct, is_taken
from kina.backend.metadata import CompiledFunction
from kina.types import Parameter, RecordType, TensorType, TupleType, Type, format_dims, records_in

_STRUCT = """\
/* {definition} */
#ifndef {guard}
#define {guard}
typedef struct {{
{members}
}} {name};
#endif
"""

_FUNCTION = """\
/* {name} */
static inline int32_t {c_name}(
{parameters}
) {{
    return {symbol}({arguments});
}}
"""


class Structs:
    """The structs of one header: of each record one to read, and one to write to."""

    def __init__(self, functions: Sequence[CompiledFunction]) -> None:
        self._functions = [function for function in functions if function.signature.records]
        read = [TupleType(tuple(d.type for d in f.signature.declared)) for f in self._functions]
        written = [function.signature.result for function in self._functions]
        self._read = _by_name(read)
        self._written = _by_name(written)
        self._names: dict[tuple[str, bool], str] = {}
        if self._functions:
            self._name(list(dict.fromkeys(n for f in functions for n in (f.c_name, f.symbol))))

    def _name(self, taken: list[str]) -> None:
        first = self._functions[0]
        prefix = first.c_name.removesuffix(first.name)
        wanted = [(name, False) for name in self._read] + [(name, True) for name in self._written]
        names = [(name.replace(".", "_"), out) for name, out in wanted]
        texts = [f"{prefix}{name}{'_out' if out else ''}" for name, out in names]
        found = distinct([*taken, *texts])[len(taken) :]
        self._names = dict(zip(wanted, found, strict=True))

    def definitions(self) -> list[str]:
        """The structs, each after those that it holds."""
        read = [self._struct(record, False) for record in self._read.values()]
        return [*read, *(self._struct(record, True) for record in self._written.values())]

    def _struct(self, record: RecordType, out: bool) -> str:
        record = record.defined
        members: list[str] = []
        for name, field in zip(member_names(record), record.fields, strict=True):
            if isinstance(field, Parameter):
                const = "" if out else "const "
                shape = f"{field.type.dtype} {format_dims(field.type.dims)}"
                members.append(f"    {const}{field.type.dtype.c} *{name}; /* {shape} */")
            else:
                members.append(f"    {self._names[field.type.name, out]} {name};")
        name, body = self._names[record.name, out], "\n".join(members)
        guard = f"KINA_{sha256(f'{name} {body}'.encode()).hexdigest()[:24].upper()}_S"
        definition = record.definition()
        return _STRUCT.format(definition=definition, guard=guard, members=body, name=name)

    def functions(self) -> list[str]:
        """What calls a function with structs."""
        return [self._function(function) for function in self._functions]

    def _function(self, function: CompiledFunction) -> str:
        signature = function.signature
        parameters = [f"int64_t kina_s{i} /* {s} */" for i, s in enumerate(signature.symbols)]
        arguments = [f"kina_s{i}" for i in range(len(signature.symbols))]
        results = signature.result
        items = results.items if isinstance(results, TupleType) else (results,)
        single = len(items) == 1
        named: list[tuple[str, str, Type, bool]] = [
            *((f"kina_a{i}", d.name, d.type, False) for i, d in enumerate(signature.declared)),
            *((f"kina_r{i}", "out" if single else f"out{i}", t, True) for i, t in enumerate(items)),
        ]
        for argument, name, type_, out in named:
            parameters.append(self._parameter(argument, name, type_, out))
            arguments += _pointers(argument, type_)
        return _FUNCTION.format(
            name=function.name,
            c_name=function.c_name,
            symbol=function.symbol,
            parameters=",\n".join(f"    {text}" for text in parameters),
            arguments=", ".join(arguments),
        )

    def _parameter(self, argument: str, name: str, type_: Type, out: bool) -> str:
        if isinstance(type_, RecordType):
            return f"const {self._names[type_.name, out]} *{argument} /* {name} */"
        assert isinstance(type_, TensorType)
        const = "" if out else "const "
        shown = f"{name}: {type_.dtype} {format_dims(type_.dims)}"
        return f"{const}{type_.dtype.c} *{argument} /* {shown} */"


def member_names(record: RecordType) -> list[str]:
    """What the record's fields are called in C."""
    return distinct(f"{name}_" if is_taken(name) else name for name in record.names)


def _by_name(types: Sequence[Type]) -> dict[str, RecordType]:
    """The records of these types, each after those that it holds; sizes do not matter in C."""
    found: dict[str, RecordType] = {}
    for record in records_in(TupleType(tuple(types))):
        found.setdefault(record.name, record)
    return found


def _pointers(value: str, type_: Type, arrow: str = "->") -> Iterator[str]:
    """The tensors of an argument, as C reads them."""
    if not isinstance(type_, RecordType):
        yield value
        return
    for name, field in zip(member_names(type_), type_.fields, strict=True):
        yield from _pointers(f"{value}{arrow}{name}", field.type, ".")
