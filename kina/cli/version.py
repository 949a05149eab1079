"""`kina --version`: Kina, and what it compiles with."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import kina
from kina.backend.toolchain import MLIR_OPT, find, version_of
from kina.errors import KinaToolchainError


def versions() -> str:
    """`kina 0.1.0, xdsl 0.75.0, LLVM version 22.1.8`."""
    return f"kina {kina.__version__}, xdsl {package('xdsl')}, {_llvm()}"


def package(name: str) -> str:
    """The version of an installed Python package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _llvm() -> str:
    try:
        return version_of(find(MLIR_OPT).path)
    except KinaToolchainError:
        return "no LLVM (kina doctor says more)"
