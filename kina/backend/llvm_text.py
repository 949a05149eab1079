"""Reads the LLVM IR that mlir-translate writes for kernels."""

from __future__ import annotations

import re
from collections.abc import Callable

BITS = {"float": 32, "bfloat": 16, "half": 16, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
"""The elements that vectors are made of; small floats are integers at rest."""
LINE = 64
"""Bytes of a cache line."""

_DEFINE = re.compile(r"^define [^\n]* (#\d+) \{$.*?^\}$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^  (%[\w.]+) = (.*)$", re.MULTILINE)
_BASE = (
    re.compile(r"getelementptr [^,]*, ptr (%[\w.]+)"),
    re.compile(r"extractvalue .* (%[\w.]+), [01]$"),
    re.compile(r"insertvalue .* ptr (%[\w.]+), [01]$"),
    re.compile(r"insertvalue .* (%[\w.]+), i64 [^,]*, [\d, ]+$"),
)


def rewrite_functions(llvm_ir: str, attribute: str, rewrite: Callable[[str, str], str]) -> str:
    """`llvm_ir` with `rewrite` done to each function that has the string attribute, given that."""
    group = re.compile(rf'^attributes (#\d+) = \{{.*"{attribute}"="([^"]*)"', re.MULTILINE)
    wanted = dict(group.findall(llvm_ir))
    if not wanted:
        return llvm_ir
    return _DEFINE.sub(lambda m: rewrite(m[0], wanted[m[1]]) if m[1] in wanted else m[0], llvm_ir)


def pairs(value: str) -> dict[str, str]:
    """An attribute that lists pairs `pointer:number`, the first the place of an argument."""
    return dict(pair.split(":") for pair in value.split())


def definitions(function: str) -> dict[str, str]:
    """What each value of a function is."""
    return dict(_NAMED.findall(function))


def base_of(pointer: str, made: dict[str, str]) -> str:
    """The place of the argument that a pointer comes from, or the name of something else."""
    while pointer in made:
        found = next((m for form in _BASE if (m := form.match(made[pointer]))), None)
        if found is None:
            return pointer
        pointer = found[1]
    return pointer.removeprefix("%")
