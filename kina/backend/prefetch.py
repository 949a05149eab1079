"""Fetches the next row while this one is computed (on LLVM IR text).

A kernel that walks a row more than once waits for memory in its first walk and computes in the
second. There, each vector load asks for the same place of the next row: it is in the cache when
its first walk comes. A prefetch reads nothing and never faults, past the last row either.
No op of upstream's transform dialect can put one into a loop, so it happens here. schedule-cpu
says how far the next row is, in the function attribute `ATTRIBUTE`: pairs `pointer:distance`,
each the place of an argument, the distance in elements or `%` and the argument that holds it.
"""

from __future__ import annotations

import re

ATTRIBUTE = "kina-next-row"
LINE = 64
"""Bytes that one prefetch brings."""

_BITS = {"float": 32, "bfloat": 16, "half": 16, "i8": 8}
_GROUP = re.compile(rf'^attributes (#\d+) = \{{.*"{ATTRIBUTE}"="([^"]*)"', re.MULTILINE)
_DEFINE = re.compile(r"^define [^\n]* (#\d+) \{$.*?^\}$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^  (%[\w.]+) = (.*)$", re.MULTILINE)
_LOAD = re.compile(r"^  %[\w.]+ = load <(\d+) x (\w+)>, ptr (%[\w.]+),")
_BASE = (
    re.compile(r"getelementptr [^,]*, ptr (%[\w.]+)"),
    re.compile(r"extractvalue .* (%[\w.]+), [01]$"),
    re.compile(r"insertvalue .* ptr (%[\w.]+), [01]$"),
    re.compile(r"insertvalue .* (%[\w.]+), i64 [^,]*, [\d, ]+$"),
)
_DECLARE = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"


def fetch_next_rows(llvm_ir: str) -> str:
    """`llvm_ir` with prefetches in the functions that ask for them."""
    wanted = dict(_GROUP.findall(llvm_ir))
    if not wanted:
        return llvm_ir

    def rewrite(match: re.Match[str]) -> str:
        return _prefetched(match[0], wanted[match[1]]) if match[1] in wanted else match[0]

    return _DEFINE.sub(rewrite, llvm_ir) + "\n" + _DECLARE


def _prefetched(function: str, rows: str) -> str:
    distance = dict(row.split(":") for row in rows.split())
    made = dict(_NAMED.findall(function))
    walks: dict[str, int] = {}
    lines: list[str] = []
    for number, line in enumerate(function.split("\n")):
        lines.append(line)
        if not (found := _LOAD.match(line)):
            continue
        base = _base(found[3], made).removeprefix("%")
        walks[base] = walks.get(base, 0) + 1
        if walks[base] == 2 and base in distance and found[2] in _BITS:
            lines += _fetch(number, found[3], int(found[1]), found[2], distance[base])
    return "\n".join(lines)


def _base(pointer: str, made: dict[str, str]) -> str:
    """The argument that a pointer comes from."""
    while pointer in made:
        found = next((m for form in _BASE if (m := form.match(made[pointer]))), None)
        if found is None:
            return pointer
        pointer = found[1]
    return pointer


def _fetch(number: int, pointer: str, count: int, element: str, distance: str) -> list[str]:
    """Prefetches into the second-level cache of what lies `distance` elements after a load."""
    name = f"%kina.next{number}"
    lines = [f"  {name} = getelementptr {element}, ptr {pointer}, i64 {distance}"]
    for offset in range(0, max(LINE, count * _BITS[element] // 8), LINE):
        lines += [
            f"  {name}.{offset} = getelementptr i8, ptr {name}, i64 {offset}",
            f"  call void @llvm.prefetch.p0(ptr {name}.{offset}, i32 0, i32 2, i32 1)",
        ]
    return lines
