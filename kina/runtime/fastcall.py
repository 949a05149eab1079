"""Writes, per function, the Python code of a call whose arguments are right already.

A call of a small function is all overhead: a loop over parameters alone would cost more than the
kernel. So the checks of one signature are written out as one condition, in the order of cost, and
whatever fails it goes to the general path, which knows what to say. What is checked: number of
arguments, exact class, dtype, shape (every symbol one size >= 1), C order, alignment, stray bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kina.backend.metadata import CompiledFunction
from kina.runtime.library import from_buffer
from kina.runtime.numpy_types import integer_view, is_clean, numpy_dtype
from kina.types import Dim, Signature, TensorType

# NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, as `ndarray.flags.num` has them.
_READY_FLAGS = 0x1 | 0x100

# NPY_ARRAY_WRITEABLE
_WRITEABLE_FLAG = 0x400

_TEMPLATE = """\
def call(self{parameters}, /, *extra, out=None, **named):
    if not extra and not named{conditions}:
        {pointers}
        if out is None:
            {allocations}
            if function({inputs}{outputs}) == 0:
                return {results}
{into_out}
    return self.general(({positional}*extra,), named, out)
"""

# One result into the caller's array, which must share no element with an input.
_INTO_OUT = """\
        elif out.__class__ is ndarray{conditions}:
            q = {pointer}
            end = q + len(q)
            if {disjoint} and function({inputs}q) == 0:
                return out
"""

MISSING = object()
"""Stands for an argument that was not passed."""


def write(compiled: CompiledFunction, function: Callable[..., int]) -> Callable[..., Any]:
    """The `__call__` of one function; `self.general` takes what it does not handle."""
    names: dict[str, Any] = {
        "ndarray": np.ndarray,
        "empty": np.empty,
        "pointer": from_buffer,
        "function": function,
        "missing": MISSING,
    }
    code = compile(_Writer(compiled.signature, names).source(), f"<kina {compiled.name}>", "exec")
    exec(code, names)
    return names["call"]


class _Writer:
    """The pieces of one function's code, and the values that its names stand for."""

    def __init__(self, signature: Signature, names: dict[str, Any]) -> None:
        self.signature = signature
        self.names = names
        self.symbols = {symbol: f"n{i}" for i, symbol in enumerate(signature.symbols)}
        self.inputs = [f"a{i}" for i in range(len(signature.parameters))]
        self.outputs = [f"r{j}" for j in range(len(signature.results))]

    def source(self) -> str:
        """The text of `call`."""
        types = [parameter.type for parameter in self.signature.parameters]
        pointers = [f"p{i}" for i in range(len(types))]
        made = [self.pointer(a, t) for a, t in zip(self.inputs, types, strict=True)]
        results = self.signature.results
        passed = "".join(f"{name}, " for name in [*self.symbols.values(), *pointers])
        return _TEMPLATE.format(
            parameters="".join(f", {name}=missing" for name in self.inputs),
            conditions=self.input_conditions(),
            pointers="; ".join(f"{p} = {m}" for p, m in zip(pointers, made, strict=True)) or "pass",
            allocations="; ".join(
                f"{r} = empty({self.shape(t)}, {self.dtype(t)})"
                for r, t in zip(self.outputs, results, strict=True)
            ),
            inputs=passed,
            outputs=", ".join(
                self.pointer(r, t) for r, t in zip(self.outputs, results, strict=True)
            ),
            results=", ".join(self.outputs),
            into_out=self.into_out(pointers, passed) if len(results) == 1 else "",
            positional="".join(f"{name}, " for name in self.inputs),
        )

    def input_conditions(self) -> str:
        """That every input is what the signature says, each symbol one size."""
        seen: set[str] = set()
        return "".join(
            f" and {condition}"
            for name, parameter in zip(self.inputs, self.signature.parameters, strict=True)
            for condition in (
                f"{name}.__class__ is ndarray",
                *self.array_conditions(name, parameter.type, _READY_FLAGS),
                *self.shape_conditions(name, parameter.type, seen),
                *self.value_conditions(name, parameter.type),
            )
        )

    def array_conditions(self, name: str, type_: TensorType, flags: int) -> Iterator[str]:
        """The dtype and layout of array `name`."""
        yield f"{name}.dtype is {self.dtype(type_)}"
        yield f"{name}.flags.num & {flags} == {flags}"

    def shape_conditions(self, name: str, type_: TensorType, seen: set[str]) -> Iterator[str]:
        """The shape of input `name`; a symbol's first appearance binds it."""
        if not type_.symbols:
            yield f"{name}.shape == {self.shape(type_)}"
            return
        yield f"len(s := {name}.shape) == {type_.rank}"
        for axis, dim in enumerate(type_.dims):
            if isinstance(dim, int) or dim in seen:
                yield f"s[{axis}] == {self.size(dim)}"
            else:
                seen.add(dim)
                yield f"({self.size(dim)} := s[{axis}]) >= 1"

    def value_conditions(self, name: str, type_: TensorType) -> Iterator[str]:
        """That no stray bit is in a Bool or I4 array; comes last, for it reads all of it."""
        test = is_clean(type_.dtype)
        if test is not None:
            yield f"{self.name(f'clean_{type_.dtype}', test)}({name})"

    def into_out(self, pointers: Sequence[str], passed: str) -> str:
        """The branch for `out=` with one array."""
        (type_,) = self.signature.results
        flags = _READY_FLAGS | _WRITEABLE_FLAG
        checks = [*self.array_conditions("out", type_, flags), f"out.shape == {self.shape(type_)}"]
        apart = [f"(end <= {p} or {p} + len({p}) <= q)" for p in pointers]
        return _INTO_OUT.format(
            conditions="".join(f" and {check}" for check in checks),
            pointer=self.pointer("out", type_),
            disjoint=" and ".join(apart) or "True",
            inputs=passed,
        )

    def size(self, dim: Dim) -> str:
        """A dimension as code."""
        return str(dim) if isinstance(dim, int) else self.symbols[dim]

    def shape(self, type_: TensorType) -> str:
        """A shape as code; a static one is a constant."""
        return f"({''.join(f'{self.size(dim)}, ' for dim in type_.dims)})"

    def dtype(self, type_: TensorType) -> str:
        """The name of a NumPy dtype."""
        return self.name(f"d_{type_.dtype}", numpy_dtype(type_.dtype))

    def pointer(self, array: str, type_: TensorType) -> str:
        """The C pointer of an array; it keeps the array alive."""
        view = integer_view(type_.dtype)
        shown = array if view is None else f"{array}.view({self.name(f'v_{type_.dtype}', view)})"
        return f"pointer({shown})"

    def name(self, name: str, value: Any) -> str:
        """`name`, which now stands for `value`."""
        self.names[name] = value
        return name
