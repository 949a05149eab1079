"""Fetches the next row while this one is computed (on LLVM IR text).

A kernel that walks a row more than once waits for memory in its first walk and computes in the
second. There, each vector load asks for the same place of the next row: it is in the cache when
its first walk comes. A prefetch reads nothing and never faults, past the last row either.
No op of upstream's transform dialect can put one into a loop, so it happens here. schedule-cpu
says how far the next row is, in the function attribute `ATTRIBUTE`: pairs `pointer:distance`,
each the place of an argument, the distance in elements or `%` and the argument that holds it.

A band of fibers is walked in steps of a row, each of a few cache lines: the processor's prefetcher
does not bring them from the second-level cache into the first. So the second walk asks for what
comes some steps later (attribute `STEPS`, pairs of the same form).

A large tensor that is walked once is fetched some way ahead (attribute `AHEAD`, pairs of the same
form): the processor's own prefetcher stops at the end of each page.
"""

from __future__ import annotations

import re
from functools import partial

from kina.backend.llvm_text import BITS, LINE, base_of, definitions, pairs, rewrite_functions

ATTRIBUTE = "kina-next-row"
STEPS = "kina-next-steps"
AHEAD = "kina-ahead"

_LOAD = re.compile(r"^  %[\w.]+ = load <(\d+) x (\w+)>, ptr (%[\w.]+),")
SHORT = 1 << 10
"""A next row so few elements away goes into the first-level cache, others into the second."""
FIRST, SECOND = 3, 2
"""The levels of cache as `llvm.prefetch` counts them."""

_DECLARE = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"


def fetch_next_rows(llvm_ir: str) -> str:
    """`llvm_ir` with prefetches in the functions that ask for them."""
    fetched = llvm_ir
    for attribute, walk, level in ((ATTRIBUTE, 2, None), (STEPS, 2, FIRST), (AHEAD, 1, SECOND)):
        add = partial(_prefetched, walk=walk, level=level)
        fetched = rewrite_functions(fetched, attribute, add)
    return llvm_ir if fetched == llvm_ir else fetched + "\n" + _DECLARE


def _prefetched(function: str, hints: str, walk: int, level: int | None) -> str:
    distance, made = pairs(hints), definitions(function)
    walks: dict[str, int] = {}
    lines: list[str] = []
    for number, line in enumerate(function.split("\n")):
        lines.append(line)
        if not (found := _LOAD.match(line)):
            continue
        base = base_of(found[3], made)
        walks[base] = walks.get(base, 0) + 1
        if walks[base] == walk and base in distance and found[2] in BITS:
            to = _level(distance[base]) if level is None else level
            lines += _fetch(number, found[3], int(found[1]), found[2], distance[base], to)
    return "\n".join(lines)


def _level(distance: str) -> int:
    return FIRST if distance.isdecimal() and int(distance) <= SHORT else SECOND


def _fetch(
    number: int, pointer: str, count: int, element: str, distance: str, level: int
) -> list[str]:
    """Prefetches what lies `distance` elements after a load."""
    name = f"%kina.next{number}"
    lines = [f"  {name} = getelementptr {element}, ptr {pointer}, i64 {distance}"]
    for offset in range(0, max(LINE, count * BITS[element] // 8), LINE):
        lines += [
            f"  {name}.{offset} = getelementptr i8, ptr {name}, i64 {offset}",
            f"  call void @llvm.prefetch.p0(ptr {name}.{offset}, i32 0, i32 {level}, i32 1)",
        ]
    return lines
