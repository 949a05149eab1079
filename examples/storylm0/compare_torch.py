"""StoryLM-0 in PyTorch: the same start and batches, losses and texts; then speed and memory."""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from generation import Generator
from parameters import STEP, TRAIN, Tensors, nested
from story_run import Plan, Run, Tokens, tokens
from tensor_file import save
from train_story import PROMPT, stories

import kina

TOLERANCE = 1e-4
"""How far the losses may be from each other, in nats."""
KINDS = ("kina", "torch", "torch.compile")
WORK = ("training", "generation")


class TorchModel:
    """The same model, and PyTorch's AdamW; `compiled` is for torch.compile."""

    def __init__(self, weights: Tensors, plan: Plan, *, compiled: bool = False) -> None:
        self.torch: Any = import_module("torch")
        make = self.torch.nn.Parameter
        self.w: dict[str, Any] = {n: make(self.torch.tensor(a)) for n, a in weights.items()}
        norms = [array for name, array in self.w.items() if name.endswith("norm")]
        others = [array for name, array in self.w.items() if not name.endswith("norm")]
        groups = [
            {"params": others, "weight_decay": plan.decay},
            {"params": norms, "weight_decay": 0.0},
        ]
        self._optimizer = self.torch.optim.AdamW(groups, betas=(0.9, 0.99), eps=1e-8)
        self._loss = self.torch.compile(self._mean_loss) if compiled else self._mean_loss
        self._next = self.torch.compile(self._decode) if compiled else self._decode

    def _norm(self, x: Any, weight: Any) -> Any:
        return self.torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, 1e-5)

    def _attend(self, q: Any, k: Any, v: Any, at: int) -> Any:
        """Attention with the linear bias, to what is not behind."""
        torch, heads = self.torch, q.shape[1]
        queries, keys = torch.arange(q.shape[2])[:, None] + at, torch.arange(k.shape[2])
        slopes = 4.0 ** -(1 + torch.arange(heads, dtype=torch.float32))[:, None, None]
        bias = torch.where(keys <= queries, -(queries - keys) * slopes, -math.inf)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    def _layers(self, x: Any, cache: Any, at: int) -> Any:
        """All layers; with a cache, keys and values join it and are read from there."""
        torch = self.torch
        for layer in range(self.w["layers.qkv"].shape[0]):
            w = {n.removeprefix("layers."): a[layer] for n, a in self.w.items() if "layers." in n}
            heads = torch.einsum("btd,dnhk->nbhtk", self._norm(x, w["attention_norm"]), w["qkv"])
            q, k, v = heads[0], heads[1], heads[2]
            if cache is not None:
                end = at + x.shape[1]
                cache[0, layer, :, :, at:end], cache[1, layer, :, :, at:end] = k, v
                k, v = cache[0, layer, :, :, :end], cache[1, layer, :, :, :end]
            x = x + torch.einsum("bhtk,hkd->btd", self._attend(q, k, v, at), w["out"])
            inner = torch.nn.functional.gelu(self._norm(x, w["mlp_norm"]) @ w["up"])
            x = x + inner @ w["down"]
        return self._norm(x, self.w["norm"]) @ self.w["head"]

    def _mean_loss(self, batch: Any, targets: Any) -> Any:
        logits = self._layers(self.w["embedding"][batch], None, 0)
        return self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def step(self, batch: Tokens, targets: Tokens, rate: float) -> float:
        """Train on a batch; gives its loss before the step."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad()
        loss = self._loss(self.torch.from_numpy(batch), self.torch.from_numpy(targets))
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())

    def _decode(self, ids: Any, cache: Any, at: int) -> Any:
        return self._layers(self.w["embedding"][ids], cache, at)[:, -1].argmax(-1)

    def greedy(self, prompt: bytes, size: int) -> list[int]:
        """The `size` most likely tokens after a prompt, with a cache."""
        layers, _, _, heads, columns = self.w["layers.qkv"].shape
        with self.torch.no_grad():
            cache = self.torch.zeros(2, layers, 1, heads, len(prompt) + size, columns)
            ids, at, chosen = self.torch.tensor([list(prompt)]), 0, list[int]()
            for _ in range(size):
                token = self._next(ids, cache, at)
                at += ids.shape[1]
                ids = token[:, None]
                chosen.append(int(token))
        return chosen


def by_torch(model: TorchModel, plan: Plan, text: Tokens) -> Iterator[float]:
    """The loss of every batch, before its step."""
    for number in range(plan.steps):
        yield model.step(*plan.batch_of(text, number), float(plan.rate_of(number)))


def compare(steps: int) -> float:
    """Print losses side by side; gives the largest difference of all."""
    plan, text = Plan(steps=steps), tokens(stories()[0])
    step = kina.load(TRAIN).train
    run = Run.begin(plan, step)
    theirs = by_torch(TorchModel(run.parameters, plan), plan, text)
    largest = 0.0
    print(f"{'loss, nats per byte':20}{'Kina':>12}{'PyTorch':>12}{'difference':>12}")
    for number, (a, b) in enumerate(zip(run.train(step, text), theirs, strict=True), 1):
        largest = max(largest, abs(a - b))
        if number == 1 or number % max(1, steps // 10) == 0:
            print(f"batch {number:<14}{a:12.6f}{b:12.6f}{a - b:12.1e}", flush=True)
    print(f"largest difference of all {steps} losses: {largest:.1e}")
    return largest


def timed(work: Callable[[], object], repeats: int) -> float:
    """The seconds of the fastest repeat, after one that does not count."""
    work()
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(kind: str, work: str, threads: int) -> str:
    """One line of the table: tokens per second, and the most memory that the process had."""
    kina.set_num_threads(threads)
    if kind != "kina":
        import_module("torch").set_num_threads(threads)
    plan, size = Plan(steps=10), 200
    text = tokens(stories()[0])
    run = Run.begin(plan, kina.load(TRAIN).train)
    if work == "training":
        seconds = timed(trainer(kind, run, text), 5)
        count = plan.batch * plan.length
    else:
        seconds = timed(writer(kind, run, size), 3)
        count = size
    return f"{work:12}{threads:>8}  {kind:16}{count / seconds:12.0f}{peak():12.0f}"


def peak() -> float:
    """The largest resident size of this process in MB, not of its parent (as ru_maxrss)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def trainer(kind: str, run: Run, text: Tokens) -> Callable[[], object]:
    """One step of training."""
    batch = run.plan.batch_of(text, 0)
    if kind != "kina":
        model = TorchModel(run.parameters, run.plan, compiled=kind == "torch.compile")
        return lambda: model.step(*batch, 1e-3)
    step = kina.load(TRAIN).train
    rates = np.float32(1e-3), np.float32(run.plan.decay)
    # A step writes into what the one before it has read.
    first, second = (nested({n: a.copy() for n, a in run.tensors.items()}) for _ in range(2))
    places = [first, second]

    def work() -> object:
        source, target = places
        places.reverse()
        out = (target["p"], target["state"], None)
        return step(source["p"], source["state"], *batch, *rates, out=out)

    return work


def writer(kind: str, run: Run, size: int) -> Callable[[], object]:
    """A text, greedily."""
    if kind != "kina":
        model = TorchModel(run.parameters, run.plan, compiled=kind == "torch.compile")
        return lambda: model.greedy(PROMPT, size)
    path = Path(f"build/storylm0/compared-{os.getpid()}.safetensors")
    program = kina.load(STEP)
    save(path, run.parameters, {})
    try:
        generator = Generator(program, path, len(PROMPT) + size)
    finally:
        path.unlink()
    return lambda: generator.greedy(PROMPT, size)


def table() -> None:
    """Speed and memory, each kind in a process of its own."""
    print(f"{'':12}{'threads':>8}  {'':16}{'tokens/s':>12}{'peak MB':>12}", flush=True)
    for work in WORK:
        for threads in (1, 2):
            for kind in KINDS:
                words = [sys.executable, __file__, "--measure", kind, work, str(threads)]
                done = subprocess.run(words, check=False, capture_output=True, text=True)
                line = done.stdout.strip() or f"{work:12}{threads:>8}  {kind:16} failed"
                print(line if done.returncode == 0 else f"{line}: {done.stderr[-300:]}", flush=True)


def main() -> None:
    """Compare; exit status 1 if the losses differ by more than `TOLERANCE`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--speed", action="store_true", help="measure speed and memory as well")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if find_spec("torch") is None:
        sys.exit("compare_torch.py: PyTorch is not installed: pip install torch")
    if options.measure:
        kind, work, threads = options.measure
        print(measure(kind, work, int(threads)))
        return
    if compare(options.steps) > TOLERANCE:
        sys.exit(f"compare_torch.py: Kina and PyTorch differ by more than {TOLERANCE}")
    if options.speed:
        table()


if __name__ == "__main__":
    main()
