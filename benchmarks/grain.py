"""From how much work on two threads are better than one: the measurement behind `work.GRAIN`.

`python -m benchmarks.grain` compiles a few kernels twice, without threads and with threads for
any amount of work, and times both: many rows, and one long row that goes by pieces. What a
parallel region costs is measured with threads that still spin, and with threads that sleep.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

import kina
from kina.backend.lowering import kina_module
from kina.backend.pipeline import INLINE, TO_C, TO_LINALG
from kina.cli.timing import calls_per_sample, duration, sample
from kina.frontend.source import Source
from kina.machine import MACHINES, USUAL
from kina.passes.scheduling import work
from kina.passes.scheduling.kernels import Plan
from kina.passes.scheduling.space import space_of
from kina.universe import PASSES

X, ROWS = "x: tensor<F32, [B, N]>", "tensor<F32, [B]>"
KERNELS = {
    "sum": f"({X}) -> {ROWS} {{ x.reduce(op=sum, axis=1) }}",
    "argmax": f"({X}) -> tensor<I64, [B]> {{ x.reduce(op=argmax, axis=1) }}",
    "nll": f"({X}, t: tensor<I64, [B]>) -> {ROWS} "
    "{ -x.log_softmax(axis=1).take_along_axis(t, axis=1) }",
    "log_softmax": f"({X}) -> tensor<F32, [B, N]> {{ x.log_softmax(axis=1) }}",
    "sample": f"({X}, u: tensor<F32, [B, N]>) -> tensor<I64, [B]> "
    "{ (x - log(-log(u))).reduce(op=argmax, axis=1) }",
}
"""From those that wait for memory to those that compute."""
SOURCE = "\n".join(f"let {name} = fn{text}" for name, text in KERNELS.items())
ELEMENTS = [1 << power for power in range(12, 22)]
MANY, ROUNDS, WIN = 64, 7, 0.9
"""Rows of a batch; samples, of which the best counts; how much better two threads must be."""
ASLEEP = 0.01
"""Seconds after which every idle thread of the team sleeps."""


@dataclass(frozen=True)
class Row:
    """One kernel at one size, in seconds on one and on two threads."""

    elements: int
    alone: float
    shared: float

    @property
    def wins(self) -> bool:
        """Whether two threads are clearly better."""
        return self.shared < WIN * self.alone


def main() -> None:
    """Measure and print."""
    os.environ["KINA_CACHE"] = tempfile.mkdtemp(prefix="kina-grain-")
    costs = {name: operations(name) for name in KERNELS}
    alone = kina.compile(SOURCE, threads=False)
    MACHINES[USUAL] = replace(MACHINES[USUAL], grain=1)
    shared = kina.compile(SOURCE, name="shared.kina")
    kina.set_num_threads(2)
    print("kernel        rows  op./element  two threads win from, in elements, operations, time")
    for name in KERNELS:
        for rows in (MANY, 1):
            _print(name, rows, costs[name], list(measured(alone[name], shared[name], rows)))
    _print_regions(alone["sum"], shared["sum"])


def operations(name: str) -> int:
    """What the scheduler counts for an element."""
    module, _ = kina_module(Source("grain.kina", SOURCE))
    for passed in INLINE + TO_LINALG + TO_C:
        options = {"fast": True} if passed == "lower-kina" else {}
        PASSES[passed](**options).apply(Context(), module)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    blocks = [b for op in functions[f"kina_{name}"].walk() for r in op.regions for b in r.blocks]
    machine = MACHINES[USUAL]
    kernels = [kernel for block in blocks for _, kernel in Plan(block, machine).kernels()]
    return max(work.work_of(kernel, space_of(kernel), machine).known for kernel in kernels)


def measured(alone: kina.Function, shared: kina.Function, rows: int) -> Iterator[Row]:
    """Both, at every size."""
    for elements in ELEMENTS:
        arrays = arguments(alone, rows, elements // rows)
        calls = [_call(function, arrays) for function in (alone, shared)]
        inner = [calls_per_sample(call) for call in calls]
        best = [
            min(sample(call, n) for _ in range(ROUNDS))
            for call, n in zip(calls, inner, strict=True)
        ]
        yield Row(elements, *best)


def arguments(function: kina.Function, rows: int, size: int) -> list[np.ndarray]:
    """Arrays for the parameters."""
    rng = np.random.default_rng(0)
    made = {
        "x": rng.normal(0, 3, (rows, size)).astype(np.float32),
        "u": rng.uniform(0.001, 0.999, (rows, size)).astype(np.float32),
        "t": rng.integers(0, size, rows),
    }
    return [made[parameter.name] for parameter in function.type.parameters]


def _call(function: kina.Function, arrays: list[np.ndarray]) -> Callable[[], object]:
    out = function(*arrays)
    return lambda: function(*arrays, out=out)


def _print(name: str, rows: int, cost: int, table: list[Row]) -> None:
    losing = [i for i, row in enumerate(table) if not row.wins]
    first = losing[-1] + 1 if losing else 0
    found = "never"
    if first < len(table):
        row = table[first]
        count, spent = row.elements * cost, duration(row.alone)
        found = f"{row.elements:8} {count:10} (2^{np.log2(count):.1f}) {spent:>8}"
    print(f"{name:12} {rows:5} {cost:12}  {found}")
    for row in table:
        gain = row.alone / row.shared
        per = 1e12 * row.alone / row.elements / cost
        print(
            f"    {row.elements:8}  {duration(row.alone):>8}  {duration(row.shared):>8}"
            f"  x{gain:.2f}  {per:.1f} ps per operation"
        )


def _print_regions(alone: kina.Function, shared: kina.Function) -> None:
    arrays = arguments(alone, 2, 8)
    calls = [_call(function, arrays) for function in (alone, shared)]
    warm = [min(sample(call, 2000) for _ in range(ROUNDS)) for call in calls]
    print(f"a parallel region: {duration(warm[1] - warm[0])}", end=", ")
    cold: list[float] = []
    for _ in range(ROUNDS):
        time.sleep(ASLEEP)
        cold.append(sample(calls[1], 1))
    print(f"{duration(median(cold))} after {ASLEEP} s without one")


if __name__ == "__main__":
    main()
