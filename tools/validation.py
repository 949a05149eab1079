"""What the validate tools share: a library built by `kina build` and called as C calls it."""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ULP = float(np.finfo(np.float32).eps)
"""One F32 ulp, relative to a number at the low end of its binade."""

Array = NDArray[Any]


class Mismatch(Exception):
    """A result that differs from what the specification says."""


class Library:
    """Functions `int32_t kina_NAME(pointers…)` of a shared library: inputs first, outputs last."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def status(self, function: str, *arrays: Array) -> int:
        """Call `kina_<function>` with the addresses of contiguous `arrays`; its status."""
        entry = self._library[f"kina_{function}"]
        entry.restype = ctypes.c_int32
        entry.argtypes = [ctypes.c_void_p] * len(arrays)
        assert all(array.flags.c_contiguous for array in arrays)
        return entry(*(array.ctypes.data for array in arrays))

    def call(self, function: str, *arrays: Array) -> None:
        """Call as `status` does; raises `Mismatch` unless the status is 0."""
        status = self.status(function, *arrays)
        if status != 0:
            raise Mismatch(f"kina_{function} returned status {status}, expected 0")


@contextmanager
def built(example: str) -> Generator[Library, None, None]:
    """Build `examples/<example>.kina` into a temporary library with the `kina` command.

    Raises `subprocess.CalledProcessError` if it does not build (the diagnostics are on stderr).
    """
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{example}.so"
        source = EXAMPLES / f"{example}.kina"
        subprocess.run(
            [kina_command(), "build", str(source), "-o", str(library)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        yield Library(library)


def kina_command() -> str:
    """The `kina` of this Python's environment, or else the one in PATH."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("kina", path=places)
    if found is None:
        raise FileNotFoundError("no `kina` command: run `make demo`, or pip install this project")
    return found


def torch_or_none() -> ModuleType | None:
    """PyTorch, where it is installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    return importlib.import_module("torch")


def compared_with(torch: ModuleType | None) -> str:
    """The end of the summary line: what the results were compared with."""
    other = "and PyTorch" if torch is not None else "(PyTorch is not installed)"
    return f"compared with NumPy {other}"


def require(condition: bool, what: str, *values: object) -> None:
    """Raise `Mismatch` with `what` and the values that show it unless `condition` holds."""
    if not condition:
        raise Mismatch("\n".join([what, *map(str, values)]))


def run(description: str | None, validate: Callable[[int], str]) -> None:
    """The command line of one tool: `validate(seed)` returns its summary or raises.

    Exit status 0 and one line, or 1 and what differed.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs")
    seed: int = parser.parse_args().seed
    try:
        print(validate(seed))
    except Mismatch as mismatch:
        sys.exit(f"MISMATCH (--seed {seed}): {mismatch}")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"kina build failed with exit status {failed.returncode}")
