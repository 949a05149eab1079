"""Train the page's model on the two stories of `examples/train`, and pack its weights.

It takes some minutes, and gives the very file that is here: training has one set of bits.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from page_writer import PAGE, WEIGHTS, packed
from parameters import HERE, shapes
from story_run import Plan, Run, bits_per_byte, tokens
from tensor_file import Tensors, save

import kina

PLAN = replace(Plan(), steps=700, rate=4e-3)


def programs(folder: Path) -> tuple[kina.Module, kina.Module]:
    """Training and the loss of StoryLM-0, with the sizes of the page."""
    for name in ("layers", "storylm0_forward", "storylm0_loss", "storylm0_train"):
        shutil.copy(HERE / f"{name}.kina", folder)
    shutil.copy(HERE / "page_model.kina", folder / "model.kina")
    train, loss = (kina.load(folder / f"storylm0_{name}.kina") for name in ("train", "loss"))
    return train, loss


def trained(train: kina.Module, text: bytes, plan: Plan) -> Tensors:
    """The parameters at the end of a run."""
    run = Run.begin(plan, train.train)
    for loss in run.train(train.train, tokens(text)):
        print(f"\rstep {run.done} of {plan.steps}, loss {loss:.3f}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return run.parameters


def main() -> None:
    """Train, pack, and say how good it is before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=PLAN.steps)
    parser.add_argument("-o", "--output", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    text, held_out = runpy.run_path(str(HERE.parent / "train" / "texts.py"))["read"]()
    with tempfile.TemporaryDirectory() as folder:
        train, loss = programs(Path(folder))
        floats = trained(train, text, replace(PLAN, steps=options.steps))
    page = kina.load(PAGE)
    sent = packed(floats, shapes(page.unpack, "p"))
    save(options.output, sent, {"format": "pt"})
    print(f"held-out text: {bits_per_byte(loss.nll, floats, held_out):.4f} bits per byte")
    print(f"wrote {options.output} ({options.output.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
