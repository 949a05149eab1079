"""Writes, per function, the Python code of a call whose arguments are right already.

A call of a small function is all overhead: a loop over parameters alone would cost more than the
kernel. So the checks of one signature are written out as one condition, in the order of cost, and
whatever fails it goes to the general path, which knows what to say. What is checked: number of
arguments, exact class, dtype, shape (every symbol one size >= 1: empty arrays are the general
path's), C order, alignment, stray bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from kina.arrays import numpy_dtype
from kina.backend.metadata import CompiledFunction
from kina.dims import MAX_SIZE, is_symbol, terms_of
from kina.runtime.library import CHARS, from_buffer, from_buffer_as
from kina.runtime.numpy_types import integer_view, is_clean
from kina.types import Dim, Signature, TensorType

# NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, as `ndarray.flags.num` has them.
_READY = 0x1 | 0x100

_TEMPLATE = """\
def call(self{parameters}, /, *extra, out=None, **named):
    if not extra and not named{conditions}:
        {sizes}
        if {more_conditions}:
            {pointers}
            if out is None:
                try:
                    {allocations}
                except ValueError:  # too big for NumPy: the general path says so
                    return self.general(({positional}*extra,), named, out)
                if not function({inputs}{outputs}):
                    return {results}
{into_out}
    return self.general(({positional}*extra,), named, out)
"""

# One result into the caller's array, which must share no byte with an input.
_INTO_OUT = """\
            elif (
                out.__class__ is ndarray
                and out.dtype is {dtype}
                and (flags := out.flags).carray
                and out.shape == {shape}
            ):
                q = pointer_as(chars, {out})
                if ({apart} or {disjoint}) and not function({inputs}q):
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
        "pointer_as": from_buffer_as,
        "chars": CHARS,
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
        self.sizes_given = [self.symbols[size.name] for size in signature.sizes]
        self.inputs = [f"a{i}" for i in range(len(signature.parameters))]
        self.outputs = [f"r{j}" for j in range(len(signature.results))]

    def source(self) -> str:
        """The text of `call`."""
        types = [parameter.type for parameter in self.signature.parameters]
        pointers = [f"p{i}" for i in range(len(types))]
        results = self.signature.results
        passed = "".join(f"{name}, " for name in [*self.symbols.values(), *pointers])
        sizes, more_conditions = self.sizes()
        ordered = self.signature.flat_in_order(self.inputs, self.sizes_given)
        return _TEMPLATE.format(
            parameters="".join(f", {name}=missing" for name in ordered),
            conditions=self.input_conditions(),
            sizes="; ".join(sizes) or "pass",
            more_conditions=" and ".join(more_conditions) or "True",
            pointers=self.assigned(pointers, map(self.pointer, self.inputs, types)),
            allocations=self.assigned(self.outputs, map(self.fresh, results)),
            inputs=passed,
            outputs=", ".join(map(self.pointer, self.outputs, results)),
            results=", ".join(self.outputs),
            into_out=self.into_out(pointers, passed) if len(results) == 1 else "",
            positional="".join(f"{name}, " for name in ordered),
        )

    def input_conditions(self) -> str:
        """What each input must be by itself: class, dtype, layout, static shape or rank."""
        sizes = "".join(
            f" and {name}.__class__ is int and 0 < {name} <= {MAX_SIZE}"
            for name in self.sizes_given
        )
        return sizes + "".join(
            f" and {condition}"
            for name, parameter in zip(self.inputs, self.signature.parameters, strict=True)
            for condition in (
                f"{name}.__class__ is ndarray",
                f"{name}.dtype is {self.dtype(parameter.type)}",
                # The first says "writeable" as well, and takes half the time.
                f"((f_{name} := {name}.flags).carray or f_{name}.num & {_READY} == {_READY})",
                f"{name}.ndim == {parameter.type.rank}"
                if parameter.type.symbols
                else f"{name}.shape == {self.shape(parameter.type)}",
            )
        )

    def sizes(self) -> tuple[list[str], list[str]]:
        """The code that finds the size of every symbol, and what must be true of the sizes.

        A Bool or I4 array's bytes are looked at last, for that reads all of it.
        """
        seen: set[str] = {size.name for size in self.signature.sizes}
        found: list[str] = []
        conditions: list[str] = []
        for name, parameter in zip(self.inputs, self.signature.parameters, strict=True):
            if parameter.type.symbols:
                found.append(self.unpacked(name, parameter.type, seen, conditions))
        for name, parameter in zip(self.inputs, self.signature.parameters, strict=True):
            test = is_clean(parameter.type.dtype)
            if test is not None:
                conditions.append(f"{self.name(f'clean_{parameter.type.dtype}', test)}({name})")
        return found, conditions

    def unpacked(self, name: str, type_: TensorType, seen: set[str], conditions: list[str]) -> str:
        """The assignment of an array's shape; a symbol's first appearance binds it."""
        targets: list[str] = []
        for axis, dim in enumerate(type_.dims):
            size = self.size(dim)
            if isinstance(dim, str) and is_symbol(dim) and dim not in seen:
                seen.add(dim)
                targets.append(size)
                conditions.append(size)  # not 0
            else:
                targets.append(f"{name}_{axis}")
                conditions.append(f"{targets[-1]} == {size}")
        return f"{', '.join(targets)}, = {name}.shape"

    def into_out(self, pointers: Sequence[str], passed: str) -> str:
        """The branch for `out=` with one array."""
        (type_,) = self.signature.results
        return _INTO_OUT.format(
            dtype=self.dtype(type_),
            shape=self.shape(type_),
            out=self.bytes_of("out", type_),
            apart=" and ".join(self.apart()) or "True",
            disjoint=" and ".join(map(self.disjoint, pointers, self.inputs)) or "True",
            inputs=passed,
        )

    def apart(self) -> Iterator[str]:
        """That `out` and the inputs are arrays with memory of their own; most are."""
        yield "flags.owndata"
        shared = self.shared()
        for name in self.inputs:
            yield f"f_{name}.owndata" + ("" if name in shared else f" and {name} is not out")

    def disjoint(self, pointer: str, name: str) -> str:
        """That `out`, at `q`, shares no byte with an input, or is one that it may be."""
        apart = f"not -out.nbytes < q - {pointer} < {name}.nbytes"
        return f"(q == {pointer} or {apart})" if name in self.shared() else apart

    def shared(self) -> set[str]:
        """The inputs that a single result may be."""
        return {self.inputs[parameter] for parameter, _ in self.signature.aliases}

    def assigned(self, names: Sequence[str], values: Iterable[str]) -> str:
        """Assignments, one per name."""
        return "; ".join(f"{n} = {v}" for n, v in zip(names, values, strict=True)) or "pass"

    def size(self, dim: Dim) -> str:
        """A dimension as code."""
        if isinstance(dim, int):
            return str(dim)
        if is_symbol(dim):
            return self.symbols[dim]
        terms = terms_of(dim).items()
        factors = ([str(c), *(self.symbols[symbol] for symbol in symbols)] for symbols, c in terms)
        return f"({' + '.join('*'.join(each) for each in factors)})"

    def shape(self, type_: TensorType) -> str:
        """A shape as code; a static one is a constant."""
        return f"({''.join(f'{self.size(dim)}, ' for dim in type_.dims)})"

    def dtype(self, type_: TensorType) -> str:
        """The name of a NumPy dtype."""
        return self.name(f"d_{type_.dtype}", numpy_dtype(type_.dtype))

    def fresh(self, type_: TensorType) -> str:
        """A new array."""
        return f"empty({self.shape(type_)}, {self.dtype(type_)})"

    def pointer(self, array: str, type_: TensorType) -> str:
        """The C pointer of an array; it keeps the array alive."""
        return f"pointer({self.bytes_of(array, type_)})"

    def bytes_of(self, array: str, type_: TensorType) -> str:
        """The array, or a view of it that has a buffer."""
        view = integer_view(type_.dtype)
        return array if view is None else f"{array}.view({self.name(f'v_{type_.dtype}', view)})"

    def name(self, name: str, value: Any) -> str:
        """`name`, which now stands for `value`."""
        self.names[name] = value
        return name
