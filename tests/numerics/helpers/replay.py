"""Calls of a compiled library in a process of its own, also on an emulated machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from helpers.expect import same_bits
from kina.arrays import numpy_dtype
from kina.backend.metadata import CompiledFunction
from kina.backend.targets import host_cpu, host_machine
from kina.types import Signature

DRIVER = Path(__file__).with_name("replay.c")
LEVEL_FEATURES = {
    "x86-64-v2": {"sse4_2"},
    "x86-64-v3": {"avx2", "fma", "bmi2", "f16c"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}

Results = list[tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class Call:
    """One call of a function on these inputs; `size` is that of the axis it works along."""

    function: str
    size: int
    arrays: tuple[np.ndarray, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(str(list(array.shape)) for array in self.arrays)})"


@dataclass(frozen=True)
class Machine:
    """Where a library runs: the compiler for the driver, an emulator, variables."""

    compiler: str = "cc"
    before: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def missing(self) -> str | None:
        """A program that is needed and not installed here."""
        needed = (self.compiler, *self.before[:1])
        return next((name for name in needed if shutil.which(name) is None), None)

    def driver(self, folder: Path) -> list[str | Path]:
        """The command that calls functions there, compiled in a folder."""
        path = folder / f"replay-{self.compiler}"
        if not path.exists():
            flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-o", path, DRIVER, "-ldl"]
            subprocess.run([self.compiler, *flags], check=True)
        return [*self.before, path]


class Runner(Protocol):
    """Where a library runs."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for the program that calls it."""
        ...

    def driver(self, folder: Path) -> list[str | Path]:
        """The command that calls functions of a library; may write to a folder."""
        ...


def host_levels() -> list[str]:
    """The levels of x86-64 that this CPU has, by its own word; lowest first."""
    features = set(host_cpu().split()) if host_machine() == "x86_64" else set[str]()
    have: list[str] = []
    for level, needed in LEVEL_FEATURES.items():
        if not needed <= features:
            break
        have.append(level)
    return have


class Replay:
    """Runs calls of a program's functions anywhere; files are exchanged in `folder`."""

    def __init__(self, folder: Path, functions: Sequence[CompiledFunction]) -> None:
        self._folder = folder
        self._functions = {function.name: function for function in functions}

    def run(self, calls: Sequence[Call], machine: Runner, library: Path) -> Results:
        """The results of every call of a library in a new process."""
        plan, inputs, results = (self._folder / name for name in ("plan", "inputs", "results"))
        plan.write_text("".join(map(self._line, calls)))
        with inputs.open("wb") as file:
            file.writelines(array.tobytes() for call in calls for array in call.arrays)
        done = subprocess.run(
            [*machine.driver(self._folder), library, plan, inputs, results],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **machine.environment},
        )
        assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
        return self._read(calls, np.fromfile(results, np.uint8))

    def differences(self, calls: Sequence[Call], got: Results, wanted: Results) -> list[str]:
        """A line per result with other bits; a NaN is a NaN."""
        return [
            f"{call}, {line}"
            for call, left, right in zip(calls, got, wanted, strict=True)
            for line in differences(self._functions[call.function].signature, left, right)
        ]

    def _line(self, call: Call) -> str:
        """A call in the driver's plan."""
        function = self._functions[call.function]
        bytes_out = [
            int(np.prod(shape, dtype=int)) * dtype.itemsize for dtype, shape in self._outputs(call)
        ]
        sizes = [*_sizes(function.signature, call).values()]
        groups = (sizes, [array.nbytes for array in call.arrays], bytes_out)
        counted = (" ".join(map(str, [len(group), *group])) for group in groups)
        return f"{function.symbol} {' '.join(counted)}\n"

    def _outputs(self, call: Call) -> list[tuple[np.dtype, tuple[int, ...]]]:
        signature = self._functions[call.function].signature
        sizes = _sizes(signature, call)
        return [
            (
                numpy_dtype(type_.dtype),
                tuple(d if isinstance(d, int) else sizes[d] for d in type_.dims),
            )
            for type_ in signature.results
        ]

    def _read(self, calls: Sequence[Call], data: np.ndarray) -> Results:
        results: Results = []
        for call in calls:
            arrays: list[np.ndarray] = []
            for dtype, shape in self._outputs(call):
                size = int(np.prod(shape, dtype=int)) * dtype.itemsize
                arrays.append(data[:size].view(dtype).reshape(shape))
                data = data[size:]
            results.append(tuple(arrays))
        assert not data.size
        return results


def differences(
    signature: Signature, got: Sequence[np.ndarray], wanted: Sequence[np.ndarray]
) -> list[str]:
    """A line per result of one call with other bits; a NaN is a NaN."""
    lines: list[str] = []
    for number, (type_, *both) in enumerate(zip(signature.results, got, wanted, strict=True)):
        bad = ~same_bits(both[0], both[1], type_.dtype)
        if bad.any():
            where = tuple(map(int, np.argwhere(bad)[0]))
            shown = f"at {list(where)} {both[0][where]!r} and {both[1][where]!r}"
            lines.append(f"result {number}: {bad.sum()} of {bad.size} differ, {shown}")
    return lines


def _sizes(signature: Signature, call: Call) -> dict[str, int]:
    found: dict[str, int] = {}
    for parameter, array in zip(signature.parameters, call.arrays, strict=True):
        dims = zip(parameter.type.dims, array.shape, strict=True)
        found |= {dim: size for dim, size in dims if isinstance(dim, str)}
    return {name: found[name] for name in signature.symbols}
