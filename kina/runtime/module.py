"""Compiled programs as Python objects: `Module`, `Function`.

The kernel's calls hold no state and release the GIL, so functions may be called from any number
of threads, and after a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from kina.arrays import Array
from kina.backend.cache import Artifact
from kina.backend.metadata import CompiledFunction
from kina.backend.options import Options
from kina.errors import KinaIndexError, KinaTypeError, KinaValueError
from kina.frontend.imports import Stored
from kina.frontend.source import Source
from kina.runtime import arguments, fastcall, records
from kina.runtime.library import from_buffer
from kina.runtime.numpy_types import integer_view
from kina.runtime.program import Program
from kina.status import OUT_OF_MEMORY
from kina.types import Dim, Signature, is_private


class Module:
    """A compiled program; its functions are its attributes.

    `m["name"]` finds a function whose name an attribute of this class hides. Pickles as its
    source: whoever unpickles it compiles, or finds the cache.
    """

    # Ours are slots, so no function can take the place of one: the class comes first.
    __slots__ = ("__dict__", "__weakref__", "_functions", "_program")

    def __init__(self, source: Source, options: Options, artifact: Artifact) -> None:
        self._program = program = Program(source, options, artifact)
        self._functions: Mapping[str, Function] = {
            compiled.name: _bind(program, compiled) for compiled in artifact.functions
        }
        # In the instance, an attribute costs no failed look-up first.
        self.__dict__.update(
            {name: f for name, f in self._functions.items() if not hasattr(type(self), name)}
        )

    @property
    def library_path(self) -> Path:
        """The shared library."""
        return self._program.library.path

    def mlir(self, stage: str = "kina") -> str:
        """The program's IR at a stage: `kina`, `linalg`, `schedule`, `llvm` or `asm`."""
        return self._program.mlir(stage)

    def __getitem__(self, name: str) -> Function:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            came = type(name).__name__
            raise KinaTypeError(f"a function is found by its name, a str; got {came}")
        if name not in self._functions:
            raise KeyError(no_function(name, self, f"in {self._program.source.name}"))
        return self._functions[name]

    def __getattr__(self, name: str) -> Function:
        # Before `__init__`, a slot is empty and ends here as well.
        functions = () if name in Module.__slots__ else self._functions
        raise AttributeError(no_function(name, functions, "in this module"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._functions})

    def __repr__(self) -> str:
        return f"<kina module {self._program.source.name}: {', '.join(self._functions)}>"

    def __reduce__(self) -> tuple[Callable[..., Module], tuple[str, Stored, Options]]:
        return self._program.pickled()


def no_function(name: str, known: Iterable[str], where: str) -> str:
    """What to say to somebody who asks for a function that is not among the `known`."""
    private = " (a leading underscore makes a function private)" if is_private(name) else ""
    return f"no function '{name}' {where}{private}; it has: {', '.join(known)}"


class Function:
    """A compiled function: `f(array, …)` gives an array, or a tuple of them.

    Arguments are NumPy arrays, or anything with `__array_interface__` or `__dlpack__` on the
    CPU, of exactly the declared dtype and shape; other memory orders are copied. `out=` takes the
    array (or the tuple of arrays) to write. Raises `KinaTypeError`, `KinaValueError`, and
    `KinaIndexError` if an index is out of range; inputs are never written.
    """

    def __init__(
        self, program: Program, compiled: CompiledFunction, function: Callable[..., int]
    ) -> None:
        self._program = program
        self._compiled = compiled
        self._function = function

    @property
    def type(self) -> Signature:
        """The function's type; `str` shows it as in the source."""
        return self._compiled.signature

    @property
    def ranges(self) -> tuple[tuple[Dim, ...], ...]:
        """Per parameter, the sizes that its values index and must stay below; empty for others."""
        return self._compiled.ranges

    def mlir(self, stage: str = "kina") -> str:
        """The IR of the function's whole program at a stage."""
        return self._program.mlir(stage)

    def reference(self, /, *args: Any, ordered: bool = False, **named: Any) -> Any:
        """The same result computed by NumPy from the program's meaning; no compiler involved.

        Accurate: sums, exp and log are computed in float64. With `ordered`, sums are in the
        language's order and every operation rounds to F32: the bits of a call, but for exp, log
        and what follows from them, which a call may have 1 ulp off.
        """
        if not isinstance(ordered, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise KinaTypeError(
                f"{self._compiled.name}: ordered is True or False, got {type(ordered).__name__}: "
                "a parameter of that name is passed by its place"
            )
        return self._packed(self.flat_reference(*self._flat(args, named), ordered=ordered))

    def flat_reference(self, /, *args: Any, ordered: bool = False) -> tuple[Array, ...]:
        """`reference` of tensors one by one: those of records in their order."""
        bound = self._bind(args, {})
        try:
            meaning, name = self._program.meaning, self._compiled.name
            return meaning.evaluate(name, bound.inputs, bound.parameters, ordered=ordered)
        except MemoryError as error:
            raise MemoryError(f"{self._compiled.name}: reference: {error}") from None

    def __call__(self, /, *args: Any, out: Any = None, **named: Any) -> Any:
        """Check the arguments and run the kernel."""
        taken = records.flat_out(self.type, out)
        return self._packed(self.flat(*self._flat(args, named), out=taken))

    def _flat(self, args: Sequence[object], named: Mapping[str, object]) -> Sequence[object]:
        values = arguments.match(self.type, self.type.names, args, named)
        return records.flat_arguments(self.type, values)

    def _packed(self, results: Any) -> Any:
        several = isinstance(results, tuple)
        values = cast("tuple[Array, ...]", results) if several else (results,)
        return records.pack(self.type.result, iter(values))

    def flat(self, /, *args: Any, out: Any = None, **named: Any) -> Any:
        """A call with tensors one by one, those of records in their order; so are the results."""
        return self.general(args, named, out)

    def general(self, args: tuple[Any, ...], named: Mapping[str, Any], out: Any) -> Any:
        """A call with every check and every conversion; `fastcall` covers the common ones."""
        given = tuple(arg for arg in args if arg is not fastcall.MISSING)
        bound = self._bind(given, named)
        arrays, returned = arguments.bind_outputs(self.type, bound, out)
        types = [parameter.type for parameter in self.type.parameters] + list(self.type.results)
        pointers = [
            _pointer(type_.dtype, array)
            for type_, array in zip(types, [*bound.inputs, *arrays], strict=True)
        ]
        status = self._function(*(bound.sizes[name] for name in self.type.symbols), *pointers)
        if status != 0:
            raise self._failure(status, bound)
        return tuple(returned) if len(returned) > 1 else returned[0]

    def _failure(self, status: int, bound: arguments.Bound) -> Exception:
        if status == OUT_OF_MEMORY:
            return MemoryError(f"{self._compiled.name}: no memory for temporaries")
        meaning, name = self._program.meaning, self._compiled.name
        found = meaning.first_failure(name, bound.inputs, bound.parameters)
        # Another thread may have mended the index in the meantime.
        found = found or KinaIndexError(self._compiled.messages[status - 1])
        return found.with_traceback(None)

    def _bind(self, args: Sequence[Any], named: Mapping[str, Any]) -> arguments.Bound:
        """The checked arguments, of sizes that the function takes."""
        bound = arguments.bind(self.type, args, named)
        for requirement in self._compiled.requirements:
            broken = requirement.broken(bound.sizes)
            if broken is not None:
                raise KinaValueError(f"{self._compiled.name}: {broken}")
        return bound

    def __repr__(self) -> str:
        return f"<kina function {self.type}>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._program.pickled_function(self._compiled.name)


def _bind(program: Program, compiled: CompiledFunction) -> Function:
    """The function object, of a class of its own: Python looks up `__call__` on the class."""
    function = program.library.function(compiled)
    flat = fastcall.write(compiled, function)
    fields = {
        "flat": flat,
        # Without records, tensors one by one is what a call has.
        "__call__": Function.__call__ if compiled.signature.records else flat,
        "__doc__": f"{compiled.signature}",
        "__module__": __name__,
    }
    return type("Function", (Function,), fields)(program, compiled, function)


def _pointer(dtype: Any, array: Array) -> Any:
    view = integer_view(dtype)
    return from_buffer(array if view is None else array.view(view))
