"""Prints the transform-dialect schedule: upstream's operations, one stretch per kernel.

A kernel's function holds one `linalg.generic` per stage. Its schedule, in this order:

1. `fuse` every root into a loop over rows and merge these loops, so a row is done at once;
2. tile what is left of a row: sums in the promised order, the rest by vectors;
3. vectorise each tile (what cannot be, stays a loop in the same order);
4. keep accumulators in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kina.passes.scheduling.graph import Access
from kina.passes.scheduling.kernels import BLOCK, CHUNK, Kernel
from kina.passes.scheduling.phrases import (
    ANY,
    FOR,
    FOUR,
    ONE,
    PARALLEL,
    READS,
    REDUCTION,
    TWO,
    annotate,
    if_possible,
    into_reader,
    tile,
    tile_reduction,
)
from kina.passes.scheduling.space import LANES, Space

_CLEAN = ("canonicalization",)
_UNIT_DIMS = "linalg.fold_unit_extent_dims_via_slices"
_TILED = ("canonicalization", "linalg.tiling_canonicalization", "scf.for_loop_canonicalization")
_VECTORS = ("canonicalization", "tensor.fold_tensor_subset_ops_into_vector_transfers")
_LOWERED = (
    "canonicalization",
    'vector.lower_multi_reduction lowering_strategy = "innerparallel"',
    "vector.lower_masked_transfers",
    "vector.lower_masks",
)

# Copies become loops: `memref.copy` of a strided memref would call MLIR's runtime library.
_BUFFERISE = (
    f'  %functions = transform.structured.match ops{{["func.func"]}} in %module : {ONE}',
    "  transform.apply_patterns to %functions {",
    "    transform.apply_patterns.canonicalization",
    f"  }} : {ANY}",
    f"  transform.apply_cse to %functions : {ANY}",
    "  %buffers = transform.bufferization.one_shot_bufferize %functions "
    f'{{memcpy_op = "linalg.copy"}} : {ONE}',
)


@dataclass(frozen=True)
class Scheduled:
    """A kernel function: its name, what it computes, its loops, and the loops of each root."""

    name: str
    kernel: Kernel
    space: Space
    roots: tuple[Access, ...]
    few: bool = False
    """Whether it does so little that plain loops will do."""

    @property
    def interior(self) -> bool:
        """Whether it reduces an axis that is not the last of its tensors."""
        return self.space.axis is not None and self.kernel.frame.is_interior

    @property
    def chained(self) -> bool:
        """Whether a stage reads another: these values must not outgrow a row."""
        made = {stage.value for stage in self.kernel.stages}
        return any(value in made for stage in self.kernel.stages for value, _ in stage.leaves)

    def static(self, loop: int) -> int | None:
        """The size of a loop, None if it is known only at run time."""
        size = self.space.size(loop)
        return None if size.factors or loop in self.space.ranged else size.known

    @property
    def width(self) -> int | None:
        """The static size of what the vectors run along, None if there is none."""
        if not self.space.sizes:
            return 1
        if self.interior:
            return self.space.block or 1
        return self.static(self.space.last)


def schedule_text(kernels: Sequence[Scheduled]) -> str:
    """The module that `transform-preload-library` loads, with the sequence @kina_schedule."""
    lines = [
        "module attributes {transform.with_named_sequence} {",
        f"transform.named_sequence @kina_schedule(%module: {ANY} {{transform.readonly}}) {{",
    ]
    for number, scheduled in enumerate(kernels):
        lines += _KernelSchedule(number, scheduled).lines()
    return "\n".join([*lines, *_BUFFERISE, "  transform.yield", "}", "}", ""])


class _KernelSchedule:
    """Writes the schedule of one kernel; handles are numbered through."""

    def __init__(self, number: int, scheduled: Scheduled) -> None:
        self._number, self._it = number, scheduled
        self._lines: list[str] = []
        self._handles = 0
        width = scheduled.width
        self._lanes = LANES if width is None else min(LANES, max(2, _power_of_two(width)))
        self._function = self._match(
            f'ops{{["func.func"]}} attributes {{sym_name = "{scheduled.name}"}}', "%module"
        )

    def lines(self) -> list[str]:
        """The whole schedule of the kernel."""
        self._fuse_rows()
        self._apply(*_CLEAN, _UNIT_DIMS)
        if self._it.few:
            return self._lines
        if self._it.interior:
            self._interior_axis()
        else:
            self._last_axis()
        self._to_registers()
        return self._lines

    # 1. Rows.

    def _fuse_rows(self) -> None:
        loops: list[str] = []
        for tag, root in enumerate(self._it.roots):
            tiles = self._row_tiles(root)
            if any(tiles):
                handle = self._match(f"attributes {{kina.root = {tag} : i64}}")
                loops.append(loop := self._handle())
                self._add(
                    f"{self._handle()}, {loop} = transform.structured.fuse {handle} "
                    f"tile_sizes {tiles} {{use_forall, apply_cleanup}} : {TWO}"
                )
        if len(loops) > 1:
            self._apply(*_CLEAN)
        while len(loops) > 1:
            first, second, *others = loops
            merged = self._handle()
            self._add(
                f"{merged} = transform.loop.fuse_sibling {first} into {second} "
                f": ({ANY}, {ANY}) -> {ANY}"
            )
            loops = [merged, *others]

    def _row_tiles(self, root: Access) -> list[int]:
        """1 for each loop over rows, 0 for what stays whole within a row."""
        space = self._it.space
        whole = {space.axis, space.last + 1}
        if space.axis is None and not self._it.chained:
            whole.add(space.last)
        return [0 if loop in whole or self._it.static(loop) == 1 else 1 for loop in root]

    # 2. Within a row, along the last axis.

    def _last_axis(self) -> None:
        width, lanes = self._it.width, self._lanes
        self._step_through_contests()
        sums = self._reductions(REDUCTION, "tensor<{}>", ordered=True)
        others = self._reductions(REDUCTION, "tensor<{}>", ordered=False)
        elementwise = self._match_generic(PARALLEL)
        long = width is None or width > lanes
        self._for_each(elementwise, if_possible(*READS, *self._vector_tile(long)))
        for handle in sums:
            self._for_each(handle, self._lane_reduction(ordered=True))
        for handle in others:
            self._for_each(handle, self._lane_reduction(ordered=False))
        if long:
            self._fuse_positions()
        else:
            self._mark_all("attributes {kina.positions}", "vector")
        if width is None or width % lanes:
            self._peel("kina.whole")
        if width is None or (width > CHUNK and width % CHUNK):
            self._peel("kina.chunk")
        self._apply(*_TILED)
        self._vectorise(f" vector_sizes [{lanes}]")
        self._try_vectorise('ops{["linalg.fill"]}')
        self._try_vectorise("attributes {kina.combine}")

    def _step_through_contests(self) -> None:
        """A loop over the steps of contests; what is left are lanes (see `lanes`)."""
        if any(stage.node.is_contest for stage in self._it.kernel.stages):
            steps = self._match_generic(f"{REDUCTION}, {PARALLEL}")
            self._for_each(steps, [tile("%tile, %loop", "%it", "1, 0")])
            self._apply(*_TILED, _UNIT_DIMS)

    def _vector_tile(self, long: bool) -> list[str]:
        if not long:
            return [annotate("%op", "vector")]
        return [
            tile("%tile, %loop", "%op", f"{self._lanes}"),
            annotate("%tile", "vector"),
            annotate("%loop", "whole"),
        ]

    def _lane_reduction(self, *, ordered: bool) -> list[str]:
        """`LANES` accumulators, combined as a halving tree; a long sum by chunks, in order."""
        chunked = ordered and self._chunked
        source = "%chunk" if chunked else "%op"
        lines = [tile("%chunk, %chunks", "%op", f"{CHUNK}")] * chunked
        lines += [
            tile_reduction("%fill, %lanes, %combine, %loop", source, f"{self._lanes}"),
            annotate("%lanes", "vector"),
            annotate("%loop", "chunk" if chunked else "whole"),
            f"%h{self._lanes} = transform.structured.generalize %combine : {ONE}",
        ]
        half = self._lanes // 2
        while half >= 2:
            lines += [
                f"%e{half}, %f{half}, %half{half}, %h{half} = "
                f"transform.structured.split_reduction %h{2 * half} {{split_factor = {half}, "
                f"insert_split_dimension = 0, inner_parallel}} : {FOUR}",
                annotate(f"%half{half}", "combine"),
            ]
            half //= 2
        # The last two lanes by themselves, then to the sum of the chunks before.
        return if_possible(
            *lines,
            tile_reduction("%fill1, %lane1, %combine1, %loop1", "%h2", "1"),
            f"%pair = transform.cast %loop1 : {ANY} to {FOR}",
            f"transform.loop.unroll %pair {{factor = 2}} : {FOR}",
        )

    # 2. Within a band of fibers, along any other axis.

    def _interior_axis(self) -> None:
        flat = self._it.width == 1
        kinds = REDUCTION if flat else f"{REDUCTION}, {PARALLEL}"
        result = "tensor<{}>" if flat else f"tensor<{self._it.width}x{{}}>"
        sums = self._reductions(kinds, result, ordered=True)
        others = self._reductions(kinds, result, ordered=False)
        rest = "" if flat else ", 0"
        if not flat:
            rows = self._match_generic(f"{PARALLEL}, {PARALLEL}")
            self._for_each(rows, [tile("%tile, %loop", "%it", "1, 0")])
        for handle in sums:
            self._for_each(handle, self._block_reduction(rest, ordered=True))
        for handle in others:
            self._for_each(handle, self._block_reduction(rest, ordered=False))
        self._fuse_positions()
        fills = self._match('ops{["linalg.fill"]}')
        self._add(f"{self._handle()} = transform.structured.generalize {fills} : {ONE}")
        self._apply(*_TILED, _UNIT_DIMS)
        if flat:  # What is left along the axis; never one vector as long as the axis.
            self._for_each(self._match_generic(PARALLEL), [tile("%tile, %loop", "%it", "1")])
            self._apply(*_TILED, _UNIT_DIMS)
        self._mark_all(
            f'ops{{["linalg.generic"]}} attributes {{iterator_types = [{PARALLEL}]}}', "vector"
        )
        self._vectorise("")

    def _block_reduction(self, rest: str, *, ordered: bool) -> list[str]:
        """Element after element; a sum goes by blocks, added in order."""
        blocked = ordered and self._chunked
        source = "%block" if blocked else "%op"
        lines = [tile("%block, %blocks", "%op", f"{BLOCK}{rest}")] * blocked
        return if_possible(
            *lines,
            tile_reduction("%fill, %lane, %combine, %loop", source, f"1{rest}"),
            f"%plain = transform.structured.generalize %combine : {ONE}",
        )

    # 3. and 4. Vectors and registers.

    def _vectorise(self, sizes: str) -> None:
        self._try_vectorise("attributes {kina.vector}", sizes)
        self._apply(*_VECTORS)

    def _to_registers(self) -> None:
        loops = self._match('ops{["scf.for"]}')
        self._for_each(
            loops,
            [
                f"transform.apply_licm to %it : {ANY}",
                f"transform.loop.hoist_loop_invariant_subsets %it : {ANY}",
            ],
        )
        self._apply(*_LOWERED, cse=False)

    def _try_vectorise(self, which: str, sizes: str = "") -> None:
        self._for_each(
            self._match(which),
            if_possible(f"transform.structured.vectorize %op{sizes} : {ANY}"),
        )

    def _fuse_positions(self) -> None:
        """Moves each count along the axis into the loop that reads it, the innermost of them."""
        if self._it.space.axis is None:
            return
        counts = sum(stage.position is not None for stage in self._it.kernel.stages)
        if counts:
            self._apply(*_CLEAN, cse=False)
        for number in range(counts):
            self._for_each(self._positions(number), into_reader("%it"))
        if counts and self._chunked:
            self._apply(*_CLEAN, cse=False)
            for number in range(counts):
                self._for_each(self._positions(number), if_possible(*into_reader("%op")))
        if counts:
            self._apply("canonicalization", "tensor.fold_tensor_empty")
        # The last tile of a row is smaller: bound its scratch, so that it can be on the stack.
        partial = not self._it.interior and (self._it.width is None or self._it.width % self._lanes)
        for number in range(counts if partial else 0):
            self._for_each(
                self._positions(number),
                if_possible(
                    f"%scratch = transform.get_producer_of_operand %op[0] : {ONE}",
                    "%bounded = transform.tensor.make_loop_independent %scratch {num_loops = 1} "
                    f": {ONE}",
                ),
            )

    @property
    def _chunked(self) -> bool:
        """Whether a sum has a loop over chunks or blocks around the one over its elements."""
        axis = self._it.space.axis
        if self._it.space.in_pieces:
            return False  # A piece that is summed is a chunk or a block.
        length = None if axis is None else self._it.static(axis)
        return length is None or length > self._it.kernel.frame.chunk

    def _positions(self, number: int) -> str:
        return self._match(f"attributes {{kina.positions = {number} : i64}}")

    def _peel(self, mark: str) -> None:
        self._for_each(
            self._match(f'ops{{["scf.for"]}} attributes {{{mark}}}'),
            [
                f"%loop = transform.cast %it : {ANY} to {FOR}",
                f"%main, %rest = transform.loop.peel %loop : ({FOR}) -> ({ANY}, {ANY})",
            ],
        )

    # Building blocks.

    def _add(self, line: str) -> None:
        self._lines.append("  " + line)

    def _handle(self) -> str:
        self._handles += 1
        return f"%k{self._number}_{self._handles}"

    def _match(self, what: str, within: str | None = None) -> str:
        handle = self._handle()
        where = self._function if within is None else within
        self._add(f"{handle} = transform.structured.match {what} in {where} : {ONE}")
        return handle

    def _match_generic(self, kinds: str, more: str = "") -> str:
        return self._match(
            f'ops{{["linalg.generic"]}} attributes {{iterator_types = [{kinds}]}}{more}'
        )

    def _reductions(self, kinds: str, result: str, *, ordered: bool) -> list[str]:
        """Reductions whose order can be seen, or the others; one handle per type.

        Types are what a match sees, so others of the same type go with those that are ordered.
        """
        stages = [stage for stage in self._it.kernel.stages if stage.node.axis is not None]
        types = {str(kind): stage.node.is_ordered for stage in stages for kind in stage.accumulated}
        for stage in stages:
            if stage.node.is_ordered:
                types |= dict.fromkeys(map(str, stage.accumulated), True)
        chosen = sorted(name for name, is_ordered in types.items() if is_ordered == ordered)
        return [
            self._match_generic(kinds, f" filter_result_type = {result.format(t)}") for t in chosen
        ]

    def _mark_all(self, which: str, mark: str) -> None:
        self._add(annotate(self._match(which), mark))

    def _for_each(self, handle: str, lines: Sequence[str]) -> None:
        self._add(f"transform.foreach {handle} : {ANY} {{")
        self._add(f"^bb0(%it: {ANY}):")
        self._lines += ["    " + line for line in lines]
        self._add("}")

    def _apply(self, *patterns: str, cse: bool = True) -> None:
        self._add(f"transform.apply_patterns to {self._function} {{")
        self._lines += [f"    transform.apply_patterns.{pattern}" for pattern in patterns]
        self._add(f"}} : {ANY}")
        if cse:
            self._add(f"transform.apply_cse to {self._function} : {ANY}")


def _power_of_two(size: int) -> int:
    return 1 << (size - 1).bit_length()
