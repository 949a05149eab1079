"""Pipelines: kernels over the same rows, done one block of rows after the other.

What they leave for each other, and nobody else reads, is kept for one block of rows: so the logits
of a loss, the scores of attention and the hidden values of an MLP never lie in memory as a whole.
A kernel may also reduce the rows (the gradient of weights): its sums go on from block to block.

A pipeline grows from one such tensor. All that touches it joins; then tensors of the same rows that
only members touch, and what stands between two members. It must have a matrix product by rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from kina.frozen import frozen
from kina.machine import Machine
from kina.passes.scheduling.graph import Shape, memory_of, shape_of
from kina.passes.scheduling.kernels import Kernel, Member, Step
from kina.passes.scheduling.masks import say_what_is_masked
from kina.passes.scheduling.members import carries, has_chain, keep_sums, may_join, nests
from kina.passes.scheduling.slots import slots_of
from kina.passes.scheduling.space import Size
from kina.passes.scheduling.taken import is_ordered
from kina.passes.scheduling.touched import Touched, rest_of, rows_and_rest

Rows = dict[Kernel, tuple[int, ...]]
"""The dimensions of each member's frame that walk the rows."""


@dataclass(eq=False)
class Pipeline:
    """Kernels in order, and what there is one block of, with the sizes of a row."""

    kernels: list[Kernel]
    private: dict[SSAValue, Shape]
    slots: dict[SSAValue, int]
    """Which tensors take turns in one memory."""

    @property
    def carries(self) -> bool:
        """Whether sums go on from block to block."""
        return any(kernel.carries for kernel in self.kernels)


Steps = list[Step | Pipeline]


def with_pipelines(steps: Sequence[Step], stored: AbstractSet[SSAValue], machine: Machine) -> Steps:
    """The steps of a block, some kernels of which are pipelines; `stored` has a place elsewhere."""
    touched = {step: Touched.by(step) for step in steps if isinstance(step, Kernel)}
    named = {base for step in steps for base in _named(step)} | stored
    made: Steps = []
    for segment in _segments(steps):
        inside = {step for step in segment if isinstance(step, Kernel)}
        others = [touched[kernel] for kernel in touched if kernel not in inside]
        taken = {base for each in others for base, _ in (*each.reads, *each.writes)}
        made += _Former(segment, touched, taken | named, machine).formed()
    return made


def _segments(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Kernels whose order may change, and what stands between them.

    Arithmetic on sizes stands nowhere between: it is done where it is.
    """
    segment: list[Step] = []
    for step in steps:
        if _is_arithmetic(step):
            yield [step]
            continue
        if isinstance(step, Kernel) and not any(is_ordered(s.node.op) for s in step.stages):
            segment.append(step)
            continue
        if segment:
            yield segment
        yield [step]
        segment = []
    if segment:
        yield segment


def _is_arithmetic(step: Step) -> bool:
    """Whether a step needs no kernel, and so may come before all that it stands between."""
    if isinstance(step, Kernel) or step.regions or step.dialect_name() != "arith":
        return False
    return not any(isinstance(value.type, TensorType) for value in (*step.operands, *step.results))


def _named(step: Step) -> Iterator[SSAValue]:
    """What an op outside of the kernels has to do with."""
    if isinstance(step, Operation):
        for user in step.walk():
            for operand in user.operands:
                yield memory_of(operand)


@frozen
class _Group:
    """A pipeline in the making."""

    rows: Rows
    private: dict[SSAValue, Shape]


class _Former:
    """Forms the pipelines of one segment; `taken` are the tensors that others touch."""

    def __init__(
        self,
        segment: Sequence[Step],
        touched: dict[Kernel, Touched],
        taken: AbstractSet[SSAValue],
        machine: Machine,
    ) -> None:
        self._steps: Steps = list(segment)
        self._touched, self._taken, self._machine = touched, set(taken), machine
        self._needs = _needs(self._steps, touched)

    def formed(self) -> Steps:
        """The steps, in an order in which pipelines are one step each."""
        if not self._machine.block_rows:
            return self._steps
        for base, rest in self._seeds():
            group = self._grown(base, rest)
            if group is not None and self._pays(group):
                self._steps = self._ordered(group)
                self._taken |= {base for kernel in group.rows for base in self._bases(kernel)}
                self._needs = _needs(self._steps, self._touched)
        return self._steps

    def _kernels(self) -> list[Kernel]:
        return [step for step in self._steps if isinstance(step, Kernel)]

    def _bases(self, kernel: Kernel) -> Iterator[SSAValue]:
        """What a kernel touches: once it is in a pipeline, no other has that to itself."""
        touched = self._touched[kernel]
        return (base for base, _ in (*touched.reads, *touched.writes))

    def _touching(self, base: SSAValue) -> list[Kernel]:
        return [kernel for kernel in self._kernels() if self._touched[kernel].walks(base)]

    def _seeds(self) -> list[tuple[SSAValue, Shape]]:
        """What a kernel stores, all but the last dimension as rows; products first."""
        found: list[tuple[SSAValue, Shape]] = []
        for kernel in sorted(self._kernels(), key=lambda kernel: not has_chain(kernel)):
            for base, walk in self._touched[kernel].writes:
                if len(walk) > 1:
                    found.append((base, (walk[-1][0],)))
        return found

    # Growing.

    def _grown(self, seed: SSAValue, rest: Shape) -> _Group | None:
        group = self._with_private(_Group({}, {}), seed, rest)
        if group is None:
            return None
        tried = {seed}
        while more := next(self._more(group, tried), None):
            base, row = more
            tried.add(base)
            group = self._with_private(group, base, row) or group
        return group

    def _more(self, group: _Group, tried: set[SSAValue]) -> Iterator[tuple[SSAValue, Shape]]:
        """Other tensors that members walk row by row."""
        for kernel, rows in group.rows.items():
            touched = self._touched[kernel]
            for base, walk in (*touched.reads, *touched.writes):
                row = rest_of(walk, rows)
                if row and base not in tried:
                    yield base, row

    def _with_private(self, group: _Group, base: SSAValue, rest: Shape) -> _Group | None:
        """The group that has one block of `base`; None if that cannot be."""
        around = self._touching(base)
        writers = [k for k in around if any(base is b for b, _ in self._touched[k].writes)]
        if base in self._taken or len(writers) != 1 or len(around) < 2:
            return None
        (writer,) = writers
        if not any(stage.home is stage.value is base for stage in writer.stages):
            return None
        rows = dict(group.rows)
        for kernel in around:
            mine = self._rows_of(kernel, base, rest)
            if mine is None or rows.setdefault(kernel, mine) != mine:
                return None
        if carries(writer, rows[writer]):
            return None
        return self._filled(_Group(rows, {**group.private, base: rest}))

    def _rows_of(self, kernel: Kernel, base: SSAValue, rest: Shape) -> tuple[int, ...] | None:
        found = {rows_and_rest(walk, rest) for walk in self._touched[kernel].walks(base)}
        return found.pop() if len(found) == 1 else None

    def _filled(self, group: _Group) -> _Group | None:
        """With what stands between members; None if not all of it walks the rows."""
        rows = dict(group.rows)
        while between := self._between(rows):
            step = between[0]
            mine = self._follows(step, rows) if isinstance(step, Kernel) else None
            if mine is None or not isinstance(step, Kernel):
                return None
            rows[step] = mine
        members = all(may_join(kernel, mine, self._machine) for kernel, mine in rows.items())
        if not members or not self._is_aligned(rows) or not nests(rows):
            return None
        return _Group(rows, group.private)

    def _between(self, rows: Rows) -> list[Kernel | Pipeline]:
        """The steps that need a member and that a member needs."""
        after: set[Step | Pipeline] = set(rows)
        for step in self._steps:
            if self._needs[step] & after:
                after.add(step)
        between = (after & self._needed(rows)) - set(rows)
        return [s for s in self._steps if s in between and isinstance(s, Kernel | Pipeline)]

    def _needed(self, kernels: Iterable[Kernel]) -> set[Step | Pipeline]:
        """Some kernels, with all that must come before one of them."""
        needed: set[Step | Pipeline] = set(kernels)
        for step in reversed(self._steps):
            if step in needed:
                needed |= self._needs[step]
        return needed

    def _follows(self, kernel: Kernel, rows: Rows) -> tuple[int, ...] | None:
        """The rows of a kernel, as it reads what a member writes."""
        for base, _ in self._touched[kernel].reads:
            for row in self._rows_written(base, rows):
                return None if row is None else self._rows_of(kernel, base, row)
        return None

    def _rows_written(self, base: SSAValue, rows: Rows) -> Iterator[Shape | None]:
        """What a row is of a tensor that members write."""
        for kernel, mine in rows.items():
            for written, walk in self._touched[kernel].writes:
                if written is base:
                    yield None if carries(kernel, mine) else rest_of(walk, mine)

    def _is_aligned(self, rows: Rows) -> bool:
        """Whether members read of members only what lies in the same rows."""
        return all(
            row is not None and self._rows_of(kernel, base, row) == mine
            for kernel, mine in rows.items()
            for base, _ in self._touched[kernel].reads
            for row in self._rows_written(base, rows)
        )

    # What becomes of a group.

    def _pays(self, group: _Group) -> bool:
        """Whether it has a product by rows, and there may be more than a block of much data."""
        if not any(has_chain(k) and not carries(k, rows) for k, rows in group.rows.items()):
            return False
        kernel, rows = next(iter(group.rows.items()))
        count = Size.product(kernel.frame.dims[dim] for dim in rows)
        sizes = [Size.product(shape_of(base)) for base in group.private]
        if any(size.factors for size in (count, *sizes)):
            return True
        elements = sum(size.known for size in sizes)
        return count.known > self._machine.block_rows and elements >= self._machine.worth_blocks

    def _ordered(self, group: _Group) -> Steps:
        """First what the pipeline needs, then the pipeline, then all else."""
        kernels = [kernel for kernel in self._kernels() if kernel in group.rows]
        for kernel in kernels:
            rows = group.rows[kernel]
            kernel.member = Member(rows, carries(kernel, rows), group.private)
            keep_sums(kernel)
        say_what_is_masked(kernels, self._touched, group.private.keys())
        needed = self._needed(kernels)
        members = set(kernels)
        before = [step for step in self._steps if step in needed and step not in members]
        after = [step for step in self._steps if step not in needed]
        slots = slots_of(kernels, group.private, self._touched, self._machine)
        pipeline = Pipeline(kernels, group.private, slots)
        return [*before, pipeline, *after]


def _parts(step: Step | Pipeline) -> Iterable[Kernel]:
    if isinstance(step, Pipeline):
        return step.kernels
    return [step] if isinstance(step, Kernel) else []


def _needs(
    steps: Steps, touched: dict[Kernel, Touched]
) -> dict[Step | Pipeline, set[Step | Pipeline]]:
    """For each step those before it that write what it touches."""
    writers: dict[SSAValue, set[Step | Pipeline]] = {}
    needs: dict[Step | Pipeline, set[Step | Pipeline]] = {}
    for step in steps:
        needs[step] = set()
        mine = [touched[kernel] for kernel in _parts(step)]
        for base, _ in (touch for each in mine for touch in (*each.reads, *each.writes)):
            needs[step] |= writers.get(base, set()) - {step}
        for base, _ in (touch for each in mine for touch in each.writes):
            writers.setdefault(base, set()).add(step)
    return needs
