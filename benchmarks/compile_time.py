"""How compile time, memory and size grow: functions, chains, rounds, softmaxes, nested calls.

    python -m benchmarks.compile_time [KIND …]

Each program is compiled for this machine in a process of its own, with an empty cache. Prints the
seconds of all processes on their CPUs, which other load changes little, the peak of memory of the
largest of them, and the size of the library.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Program = Callable[[int], str]

_MATRIX = "tensor<F32, [N, 64]>"
_STRIKE = (
    "let top = x.reduce_keep(op=max, axis=1).broadcast([N, 64]) in "
    "let x = x + (x - top).cast(Bool).cast(F32).log() in "
)


def _chain(link: str) -> Program:
    return lambda count: f"let f = fn(x: {_MATRIX}) -> {_MATRIX} {{ {link * count}x }}"


def _functions(count: int) -> str:
    line = "let f{0} = fn(x: {1}) -> {1} {{ x.log_softmax(axis=1) * {0}.0 }}\n"
    return "".join(line.format(i, _MATRIX) for i in range(count))


def _nested(count: int) -> str:
    line = "let f{0} = fn(x: {2}) -> {2} {{ f{1}(f{1}(x)) }}\n"
    calls = "".join(line.format(i, i - 1, _MATRIX) for i in range(1, count))
    return f"let f0 = fn(x: {_MATRIX}) -> {_MATRIX} {{ x * x + 1.0 }}\n{calls}"


KINDS: Mapping[str, tuple[Program, Sequence[int]]] = {
    "functions": (_functions, (1, 10, 100, 500)),
    "exp, log": (_chain("let x = x.exp() in let x = x.log() in "), (5, 50, 250, 500)),
    "rounds": (_chain(_STRIKE), (2, 8, 20, 50)),
    "softmaxes": (_chain("let x = x.softmax(axis=1) in "), (1, 5, 10, 20, 40)),
    "nested calls": (_nested, (4, 8, 16, 20)),
}
"""The programs of each kind and how long they are; a link of `exp, log` is two operations."""


def measure(text: str) -> tuple[float, float, float]:
    """Seconds of CPU, megabytes of the largest process, kilobytes of the library."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.kina")
        program.write_text(text, encoding="utf-8")
        library = program.with_suffix(".so")
        command = [sys.executable, __file__, "--one", str(program), str(library)]
        environment = {**os.environ, "KINA_CACHE": folder}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        seconds, megabytes = map(float, done.stdout.split())
        return seconds, megabytes, library.stat().st_size / 1024


def _one(program: Path, library: Path) -> None:
    command = ["build", str(program), "-o", str(library), "--target", "native"]
    kina = Path(sys.executable).with_name("kina")
    subprocess.run([kina, *command], check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main(arguments: Sequence[str]) -> None:
    """Print the table of the kinds that are named, or of all."""
    if arguments[:1] == ["--one"]:
        _one(*map(Path, arguments[1:]))
        return
    print("| program | length | CPU seconds | peak MB | library KB |\n|---|---|---|---|---|")
    for kind in arguments or KINDS:
        program, lengths = KINDS[kind]
        for length in lengths:
            seconds, megabytes, kilobytes = measure(program(length))
            row = f"| {kind} | {length} | {seconds:.1f} | {megabytes:.0f} | {kilobytes:.0f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
