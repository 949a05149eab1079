"""Programs whose large intermediates never lie in memory, beside PyTorch: time, and memory.

    python -m benchmarks.pipelines [--threads 2] [--rounds 9] [NAME ...]

Both do every row in turn, in one process; a ratio is the median of those of the rounds, of the
processor's time on one thread, else of the time that passes. Memory is how far the resident size
of a new process grows at most in its first call: what is held on the way, and what it gives.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

Call: TypeAlias = Callable[[], object]
SIDES = ("kina", "torch")


@dataclass(frozen=True)
class Row:
    """A program, the shapes of its arguments, and its peer; `targets` are below a number."""

    name: str
    source: str
    function: str
    shapes: tuple[tuple[int, ...], ...]
    peer: Callable[..., Call]
    targets: int = 0


ATTENTION = """
let attend = fn(q: tensor<F32, [8, 12, 512, 64]>, k: tensor<F32, [8, 12, 512, 64]>,
    v: tensor<F32, [8, 12, 512, 64]>) -> tensor<F32, [8, 12, 512, 64]> {
  let scores = q.matmul(k.transpose([0, 1, 3, 2])) * 0.125 in
  let past = iota([512, 512], axis=1) <= iota([512, 512], axis=0) in
  past.broadcast([8, 12, 512, 512]).select(scores, -inf).softmax(axis=3).matmul(v)
}
let dattend = reverseMode(attend)
"""
LOSS = """
let loss = fn(x: tensor<F32, [1024, 768]>, w: tensor<F32, [50257, 768]>, t: tensor<I64, [1024]>)
    -> tensor<F32, []> {
  let scores = x.matmul(w.transpose([1, 0])) in
  -scores.log_softmax(axis=1).take_along_axis(t, axis=1).reduce(op=mean, axis=0)
}
let dloss = reverseMode(loss)
"""
MLP = """
let mlp = fn(x: tensor<F32, [4096, 768]>, w: tensor<F32, [768, 3072]>, u: tensor<F32, [3072, 768]>)
    -> tensor<F32, [4096, 768]> { x.matmul(w).gelu().matmul(u) + x }
let dmlp = reverseMode(mlp)
"""


def _attend(torch: Any, q: Any, k: Any, v: Any) -> Call:
    attention = torch.nn.functional.scaled_dot_product_attention
    return lambda: attention(q, k, v, is_causal=True)


def _loss(torch: Any, x: Any, w: Any, t: Any) -> Call:
    """The fused function, where this PyTorch has it."""
    functional = torch.nn.functional
    fused = getattr(functional, "linear_cross_entropy", None)
    if fused is not None:
        return lambda: fused(x, w, t)
    return lambda: functional.cross_entropy(x @ w.T, t)


def _mlp(torch: Any, x: Any, w: Any, u: Any) -> Call:
    return lambda: torch.nn.functional.gelu(x @ w) @ u + x


def _with_gradients(forward: Callable[..., Call]) -> Callable[..., Call]:
    """Forward and backward; the last argument is the cotangent, if the result is no number."""

    def made(torch: Any, *given: Any) -> Call:
        count = 3
        inputs, cotangents = given[:count], given[count:]
        floats = [each.requires_grad_() for each in inputs if each.is_floating_point()]
        call = forward(torch, *inputs)

        def both() -> None:
            for each in floats:
                each.grad = None
            result: Any = call()
            result.backward(*cotangents)

        return both

    return made


HEADS = ((8, 12, 512, 64),) * 3
LAYER = ((4096, 768), (768, 3072), (3072, 768))
ROWS = (
    Row("attention", ATTENTION, "attend", HEADS, _attend),
    Row("attention, gradients", ATTENTION, "dattend", HEADS + HEADS[:1], _with_gradients(_attend)),
    Row(
        "linear, loss, gradients",
        LOSS,
        "dloss",
        ((1024, 768), (50257, 768), (1024,)),
        _with_gradients(_loss),
        targets=50257,
    ),
    Row("MLP", MLP, "mlp", LAYER, _mlp),
    Row("MLP, gradients", MLP, "dmlp", LAYER + LAYER[:1], _with_gradients(_mlp)),
)


def main() -> None:
    """Prints a line for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--memory-of", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = [row for row in ROWS if not options.names or row.name in options.names]
    if options.memory_of:
        print(_growth(call_of(chosen[0], options.memory_of, options.threads)))
        return
    print("| program | Kina ms | over PyTorch | Kina MB | PyTorch MB |")
    print("|---|---|---|---|---|")
    for row in chosen:
        print(_line(row, options.threads, options.rounds), flush=True)


def call_of(row: Row, side: str, threads: int) -> Call:
    """What one of the two does of a row."""
    arrays = _arguments(row)
    if side == "torch":
        torch: Any = import_module("torch")
        torch.set_num_threads(threads)
        return row.peer(torch, *(torch.from_numpy(array) for array in arrays))
    import kina

    kina.set_num_threads(threads)
    function = kina.compile(row.source)[row.function]
    return lambda: function(*arrays)


def _arguments(row: Row) -> list[Any]:
    import numpy as np

    random = np.random.default_rng(7)
    made: list[Any] = []
    for shape in row.shapes:
        if row.targets and len(shape) == 1:
            made.append(random.integers(0, row.targets, shape))
        else:
            scale = 1.0 if len(shape) > 2 else max(shape) ** -0.5
            made.append(random.standard_normal(shape, np.float32) * np.float32(scale))
    return made


def _line(row: Row, threads: int, rounds: int) -> str:
    calls = {side: call_of(row, side, threads) for side in SIDES}
    clock = time.process_time if threads == 1 else time.perf_counter
    taken: dict[str, list[float]] = {side: [] for side in SIDES}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for side, call in calls.items():
            start = clock()
            call()
            taken[side].append(clock() - start)
    pairs = zip(*taken.values(), strict=True)
    over = statistics.median(theirs / mine for mine, theirs in pairs)
    memory = [_memory(row, side, threads) for side in SIDES]
    milliseconds = 1e3 * statistics.median(taken["kina"])
    return f"| {row.name} | {milliseconds:.1f} | {over:.2f} | {memory[0]:.0f} | {memory[1]:.0f} |"


def _memory(row: Row, side: str, threads: int) -> float:
    command = [sys.executable, "-m", "benchmarks.pipelines", row.name]
    command += ["--threads", str(threads), "--memory-of", side]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return float(done.stdout)


def _growth(call: Call) -> float:
    """MB by which the resident size grows at most in a call, with what it gives."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak so far
    before = _status("VmRSS")
    call()
    return (_status("VmHWM") - before) / 1024


def _status(name: str) -> int:
    """A line of the process's status, in KB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    sys.exit(main())
