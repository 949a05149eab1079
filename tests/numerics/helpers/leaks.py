"""Many compilations and calls in one process, of which nothing must stay; run as a program.

Prints what was there before and after: the resident kilobytes, the objects that Python's collector
sees, the blocks of memory that Python holds, open files, threads, child processes, the libraries
that are mapped, and files that are no entries of the cache. `TMPDIR` and `KINA_CACHE` are folders
that nobody else uses.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import kina

PROGRAM = """
let f = fn(x: tensor<F32, [B, N]>, i: tensor<I64, [B]>) -> (
  tensor<F32, [B]>, tensor<F32, [B, N]>
) {{
  let p = x.softmax(axis=1) * {number}.0 in
  (p.take_along_axis(i, axis=1), p)
}}
"""


SMALL = "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {{ x * {number}.0 }}"
SELDOM = 4
"""Of so many programs, one is the larger."""


def state() -> dict[str, int]:
    """What there is now."""
    gc.collect()
    status = Path("/proc/self/status").read_text().splitlines()
    resident = next(line for line in status if line.startswith("VmRSS"))
    maps = Path("/proc/self/maps").read_text()
    return {
        "kilobytes": int(resident.split()[1]),
        "objects": len(gc.get_objects()),
        "blocks": sys.getallocatedblocks(),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "children": sum(map(_children, Path("/proc/self/task").iterdir())),
        "libraries": maps.count("lib.so"),
        "left": len(os.listdir(tempfile.gettempdir())) + _unfinished(),
    }


def _children(thread: Path) -> int:
    """The processes that a thread has started and that have not ended or not been waited for."""
    return len((thread / "children").read_text().split())


def _unfinished() -> int:
    """What lies in the cache and is no entry of it."""
    return len([name for name in os.listdir(os.environ["KINA_CACHE"]) if "-" in name])


def calls() -> Callable[[int], None]:
    """Calls that succeed, calls that fail, and calls that write into given memory."""
    module = kina.compile(PROGRAM.format(number=1))
    x, good, bad = np.ones((2, 3), np.float32), np.array([0, 2]), np.array([0, 3])
    out = tuple(np.zeros_like(array) for array in module.f(x, good))

    def run(count: int) -> None:
        for number in range(count):
            module.f(x, good, out=out)
            module.f(x, good)
            if number % 1000 == 0:
                try:
                    module.f(x, bad)
                except IndexError:
                    continue
                raise AssertionError

    return lambda count: run(count // 2)


def compilations() -> Callable[[int], None]:
    """Programs that nobody has compiled before, each called once, and wrong ones."""
    numbers = iter(range(1 << 20))

    def run(count: int) -> None:
        for _ in range(count):
            number = next(numbers)
            text = PROGRAM.format(number=number)
            if number % SELDOM == 1:
                module = kina.compile(text, threads=False, target=TARGET)
                module.f(np.ones((2, 3), np.float32), np.array([0, 2]))
            else:
                module = kina.compile(SMALL.format(number=number), threads=False, target=TARGET)
                module.f(np.ones(2, np.float32))
            try:
                kina.compile(text.replace("axis=1", "axis=2"))
            except kina.KinaTypeError:
                continue
            raise AssertionError

    return run


TARGET = "x86-64-v2"
KINDS = {"calls": calls, "compilations": compilations}


def main(kind: str, first: int, count: int) -> None:
    """So many to warm up, then so many that are looked at."""
    run = KINDS[kind]()
    run(first)
    state()  # Looking takes memory of its own, once.
    before = state()
    run(count)
    print(json.dumps([before, state()]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
