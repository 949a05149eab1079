"""Train StoryLM-0 on two stories, all in Kina: model, gradients, AdamW; then let it write.

A run that was ended goes on from its last checkpoint, and has the bits of one that was not.
"""

from __future__ import annotations

import argparse
import math
import runpy
import sys
import textwrap
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from generate import legible
from generation import Generator, Sampling
from parameters import HERE, LOSS, STEP, TRAIN
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from story_run import Plan, Run, bits_per_byte, tokens
from tensor_file import save

import kina

TEXTS = HERE.parent / "train" / "texts.py"
PROMPT = b"The heron "
SIZE = 32
SCREEN = Console(stderr=True)
"""Where progress shows: what is printed on the other stream is the same on every run."""


def parse_options() -> argparse.Namespace:
    """The command line; the defaults are `make story`."""
    plan = Plan()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=plan.steps)
    parser.add_argument("--batch", type=int, default=plan.batch, help="texts per step")
    parser.add_argument("--length", type=int, default=plan.length, help="tokens of each")
    parser.add_argument("--every", type=int, default=50, help="steps between two checkpoints")
    parser.add_argument("--fresh", action="store_true", help="do not go on from a checkpoint")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/storylm0"))
    options = parser.parse_args()
    if min(options.steps, options.batch, options.length, options.every) < 1:
        parser.error("expected numbers of at least 1")
    return options


def stories() -> tuple[bytes, bytes]:
    """The text to train on, and the last chapters, which are held out."""
    return runpy.run_path(str(TEXTS))["read"]()


def begin(options: argparse.Namespace, plan: Plan, step: kina.Function) -> Run:
    """The run in the checkpoint, or a new one."""
    checkpoint = options.output / "checkpoint.safetensors"
    if options.fresh or not checkpoint.exists():
        return Run.begin(plan, step)
    run = Run.load(checkpoint, plan, step)
    SCREEN.print(f"going on after step {run.done} of {plan.steps}, from {checkpoint}")
    return run


def learn(run: Run, step: kina.Function, text: bytes, options: argparse.Namespace) -> None:
    """Train to the end of the plan, with a progress bar and checkpoints."""
    bar = Progress(
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f} bits"),
        TimeRemainingColumn(),
        console=SCREEN,
        disable=not SCREEN.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=run.plan.steps, completed=run.done, loss=math.nan)
        for loss in run.train(step, tokens(text)):
            bar.update(task, completed=run.done, loss=loss / math.log(2))
            if run.done % options.every == 0 or run.done == run.plan.steps:
                run.save(options.output / "checkpoint.safetensors")


def draw(losses: list[float], held_out: float, path: Path) -> None:
    """Write the loss curve as a PNG."""
    drawing: Any = import_module("matplotlib.figure")
    figure = drawing.Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes = figure.subplots()
    bits = [loss / math.log(2) for loss in losses]
    axes.plot(range(len(bits)), bits, linewidth=1, label="training, each batch")
    axes.axhline(held_out, color="tab:orange", label=f"held out, {held_out:.3f} at the end")
    axes.set_xlabel("steps")
    axes.set_ylabel("loss, bits per byte")
    axes.set_title("StoryLM-0 learns two stories")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path)


def show(title: str, written: list[int]) -> None:
    """Print a prompt and what follows it."""
    print(f"{title}:")
    for line in legible([*PROMPT, *written]).split("\n"):
        print(textwrap.indent(line, "  "))


def run_all(options: argparse.Namespace) -> None:
    """Train, save the weights, report, and write."""
    text, held_out = stories()
    plan = replace(Plan(), steps=options.steps, batch=options.batch, length=options.length)
    with SCREEN.status("compiling the programs"):
        train, decode, loss = (kina.load(path) for path in (TRAIN, STEP, LOSS))
    run = begin(options, plan, train.train)
    parameters = sum(array.size for array in run.parameters.values())
    print(f"{parameters} parameters; {len(text)} bytes to train on, {len(held_out)} held out")
    print(f"{plan.steps} steps of {plan.batch} texts of {plan.length} bytes")
    learn(run, train.train, text, options)
    weights = options.output / "story.safetensors"
    save(weights, run.parameters, {"format": "pt"})
    bits = bits_per_byte(loss.nll, run.parameters, held_out)
    draw(run.losses, bits, options.output / "loss.png")
    print(f"held-out text: {bits:.4f} bits per byte")
    print(f"weights: {weights}; the loss curve: {options.output / 'loss.png'}")
    generator = Generator(decode, weights, len(PROMPT) + SIZE)
    how = Sampling()
    show("The most likely bytes", generator.greedy(PROMPT, SIZE))
    show(
        f"Drawn, at T = {how.temperature} with seed {how.seed}",
        generator.sampled(PROMPT, SIZE, how),
    )


def main() -> None:
    """Run, or say what is missing."""
    options = parse_options()
    if find_spec("matplotlib") is None:
        sys.exit("train_story.py: matplotlib draws the curve: pip install '.[examples]'")
    try:
        run_all(options)
    except (OSError, ValueError, kina.KinaError) as error:
        sys.exit(f"train_story.py: {error}")
    except KeyboardInterrupt:
        sys.exit("train_story.py: ended; the same command goes on from the last checkpoint")


if __name__ == "__main__":
    main()
