"""Phrases of the transform dialect that schedules are written in: types, and lines of text."""

from __future__ import annotations

ANY = "!transform.any_op"
_PARAM = "!transform.param<i64>"
FOR = '!transform.op<"scf.for">'
PARALLEL, REDUCTION = "#linalg.iterator_type<parallel>", "#linalg.iterator_type<reduction>"
FOUR = f"({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})"
TWO = f"({ANY}) -> ({ANY}, {ANY})"
ONE = f"({ANY}) -> {ANY}"

# Passes over ops without inputs: a count along the axis belongs to the loop that reads it.
READS = (
    f"transform.match.structured failures(propagate) %op : {ANY} {{",
    f"^bb3(%structured: {ANY}):",
    f"  %inputs = transform.match.structured.num_inputs %structured : ({ANY}) -> {_PARAM}",
    f"  %one = transform.param.constant 1 : i64 -> {_PARAM}",
    f"  transform.match.param.cmpi ge %inputs, %one : {_PARAM}",
    "  transform.match.structured.yield",
    "}",
)


def tile(results: str, source: str, sizes: str) -> str:
    """Tiles `source` in order."""
    return f"{results} = transform.structured.tile_using_for {source} tile_sizes [{sizes}] : {TWO}"


def tile_reduction(results: str, source: str, sizes: str) -> str:
    """Tiles a reduction into lanes of their own."""
    call = f"transform.structured.tile_reduction_using_for {source} by tile_sizes = [{sizes}]"
    return f"{results} = {call} : {FOUR}"


def into_reader(count: str) -> list[str]:
    """Moves a count along the axis into the loop around its only reader."""
    return [
        f"%slice = transform.get_consumers_of_result {count}[0] : {ONE}",
        f'%loop = transform.get_parent_op %slice {{op_name = "scf.for"}} : {ONE}',
        f"%count, %outer = transform.structured.fuse_into_containing_op {count} into %loop "
        f": ({ANY}, {ANY}) -> ({ANY}, {ANY})",
        annotate("%count", "vector"),
    ]


def annotate(handle: str, mark: str) -> str:
    """Marks an op, to find it again."""
    return f'transform.annotate {handle} "kina.{mark}" : {ANY}'


def if_possible(*lines: str) -> list[str]:
    """Transforms of `%op` up to the first that upstream refuses: a plain loop is left."""
    return [
        f"transform.sequence %it : {ANY} failures(suppress) {{",
        f"^bb1(%maybe: {ANY}):",
        f"  transform.sequence %maybe : {ANY} failures(propagate) {{",
        f"  ^bb2(%op: {ANY}):",
        *("    " + line for line in lines),
        "  }",
        "}",
    ]
