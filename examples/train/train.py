"""Train a neural trigram model on two stories, with a loss, gradients and AdamW written in Kina.

Shows its progress, saves the loss curve as a PNG, and lets the trained model go on with a text.
"""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

from curve import Curve
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from texts import CONTEXT, Positions, read
from training import PROGRAM, Plan, Sampling, State, initial, mean_loss, sample, train

import kina

EVERY = 10
"""Steps between two looks at the held-out text."""
SCREEN = Console(stderr=True)
"""Where progress shows: what is printed on the other stream is the same on every run."""


def parse_options() -> argparse.Namespace:
    """The command line; the defaults are the run that the README shows."""
    plan, sampling = Plan(), Sampling()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=plan.steps)
    parser.add_argument("--batch", type=int, default=plan.batch, help="positions per step")
    parser.add_argument("--rate", type=float, default=plan.rate, help="the first learning rate")
    parser.add_argument("--prompt", default="The heron ", help="two bytes or more")
    parser.add_argument("--size", type=int, default=sampling.size, help="how many bytes to sample")
    parser.add_argument("--temperature", type=float, default=sampling.temperature)
    parser.add_argument("--seed", type=int, default=sampling.seed, help="of the sampled text")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/train/loss.png"))
    options = parser.parse_args()
    if min(options.steps, options.batch, options.size) < 1:
        parser.error("expected at least one step, one position and one byte")
    if not (0 < options.rate < math.inf and 0 < options.temperature < math.inf):
        parser.error("expected a finite rate and a finite temperature > 0")
    if not 0 <= options.seed < 2**32:
        parser.error("expected a seed from 0 to 2**32 - 1")
    if len(options.prompt.encode()) < CONTEXT:
        parser.error(f"expected a prompt of {CONTEXT} bytes or more")
    return options


def watch() -> Progress:
    """A progress bar with the two losses; it shows on a terminal only."""
    return Progress(
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}, held out {task.fields[held_out]:.3f}"),
        TimeRemainingColumn(),
        console=SCREEN,
        disable=not SCREEN.is_terminal,
    )


def learn(
    program: kina.Module, positions: Positions, held_out: Positions, plan: Plan
) -> tuple[State, Curve]:
    """Train by the plan, and show it."""
    state, curve = initial(), Curve()
    curve.held_out[0] = seen = mean_loss(program, state, held_out)
    with watch() as bar:
        task = bar.add_task("", total=plan.steps, loss=seen, held_out=seen)
        for done, (loss, state) in enumerate(train(program, positions, plan), 1):
            curve.batches.append(loss)
            if done % EVERY == 0 or done == plan.steps:
                curve.held_out[done] = seen = mean_loss(program, state, held_out)
            bar.update(task, completed=done, loss=loss, held_out=seen)
    return state, curve


def show(text: bytes) -> None:
    """Print a text, its lines filled and indented; what is no printable ASCII shows as a dot."""
    for line in filter(None, text.decode("latin-1").split("\n")):
        legible = "".join(c if c.isascii() and c.isprintable() else "." for c in line)
        print(textwrap.fill(legible, 88, initial_indent="  ", subsequent_indent="  "))


def report(name: str, loss: float) -> None:
    """Print a loss, in nats and in bits."""
    print(f"  {loss:.4f}  {loss / math.log(2):.4f}  {name}")


def run(options: argparse.Namespace) -> None:
    """Train, save the curve, print the losses and a text."""
    text, held_out = (Positions.of(part) for part in read())
    plan = Plan(options.steps, options.batch, options.rate)
    with SCREEN.status(f"compiling {PROGRAM.name}"):
        program = kina.load(PROGRAM)
    print(f"{len(text)} bytes to train on, {len(held_out)} held out")
    print(f"{plan.steps} steps of {plan.batch} positions")
    state, curve = learn(program, text, held_out, plan)
    curve.draw(options.output)
    print(f"The loss per byte (nats, bits); its curve is in {options.output}:")
    report("before training", curve.held_out[0])
    report("training text", mean_loss(program, state, text))
    report("held-out text", curve.held_out[plan.steps])
    print(f"The model goes on, at T = {options.temperature} with seed {options.seed}:")
    sampling = Sampling(options.size, options.temperature, options.seed)
    show(sample(program, state, options.prompt.encode(), sampling))


def main() -> None:
    """Run, or say what is missing."""
    options = parse_options()
    if find_spec("matplotlib") is None:
        sys.exit("train.py: matplotlib draws the curve: pip install '.[examples]', or make train")
    try:
        run(options)
    except (OSError, ValueError, kina.KinaError) as error:
        sys.exit(f"train.py: {error}")


if __name__ == "__main__":
    main()
