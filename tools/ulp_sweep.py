"""Measures exp, log and the like, as `expand-math` writes them, over all float32 inputs.

Prints the largest error in units in the last place (ulp), the input that has it, and whether
every target gives the same bits. The reference is float64 libm, whose own error is below
1e-8 ulp of a float32. NaN, infinities, zeros and subnormals are among the inputs.

Usage: python tools/ulp_sweep.py [--function exp] [--target native] [--stride 1] [--threads 2]
A stride of 1 is the full sweep; 4099 (a prime) takes a second.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scalar_library import X86_TARGETS, build, cpu_runs, map_function

from kina.backend.targets import TARGETS
from kina.passes.expand_math import NONPOSITIVE, SUMMED, ExpandMath

BLOCK = 4096  # as in ulp_sweep.c
# What is swept: the C function, the lowest and the largest input.
SWEEPS = {
    "exp": ("exp", "-inf", "inf"),
    "log": ("log", "-inf", "inf"),
    "expm1": ("expm1", "-inf", "inf"),
    "log1p": ("log1p", "-inf", "inf"),
    "tanh": ("tanh", "-inf", "inf"),
    "erf": ("erf", "-inf", "inf"),
    "exp-nonpositive": ("exp", "-inf", "64"),
    "exp-summed": ("exp", "-86", "64"),
}
FUNCTIONS = tuple(dict.fromkeys(name for name, _, _ in SWEEPS.values()))
# Those that compare a shorter form with the long one: what asks for it.
NOTES = {"exp-nonpositive": NONPOSITIVE, "exp-summed": SUMMED}


def library(target: str, directory: Path, note: str = "") -> Path:
    """Builds all functions for one target; a note asks for a short form of exp alone."""
    hint = f" {{{note}}}" if note else ""
    module = "\n".join(
        map_function(name, "f32", "f32", BLOCK, [f"%r = math.{name} %v{hint} : f32"])
        for name in (("exp",) if note else FUNCTIONS)
    )
    passes = [ExpandMath()]
    name = f"{target}{'-' if note else ''}{note}.so"
    return build(module, passes, TARGETS[target], directory / name)


def driver(directory: Path) -> Path:
    """Builds the C program that sweeps."""
    program = directory / "ulp_sweep"
    source = Path(__file__).with_suffix(".c")
    command = ["cc", "-O2", str(source), "-o", str(program), "-lm", "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return program


@dataclass(frozen=True)
class Found:
    """What a sweep found; `different` counts results that differ from the first library's."""

    worst: float
    worst_input: str
    inexact: int
    wrong_specials: int
    different: dict[str, int]

    @property
    def good(self) -> bool:
        """Within 1 ulp, all special values right, the same bits everywhere."""
        return self.worst <= 1 and not self.wrong_specials and not any(self.different.values())


def sweep(program: Path, name: str, libraries: list[Path], stride: int, threads: int) -> Found:
    """Sweeps one function over every `stride`-th bit pattern."""
    arguments = [*SWEEPS[name], str(stride), str(threads), *map(str, libraries)]
    output = subprocess.run([program, *arguments], check=True, capture_output=True, text=True)
    words = re.match(r"worst (\S+) (\S+) inexact (\d+) special (\d+)(.*)", output.stdout)
    assert words is not None, output.stdout
    worst, pattern, inexact, specials, rest = words.groups()
    counts = re.findall(r"different (\d+) ", rest)
    names = [path.stem for path in libraries[1:]]
    different = dict(zip(names, map(int, counts), strict=True))
    return Found(float(worst), f"0x{pattern}", int(inexact), int(specials), different)


def report(name: str, found: Found, stride: int) -> None:
    """Prints one sweep."""
    print(f"{name}: largest error {found.worst} ulp, at input {found.worst_input}")
    print(f"  not correctly rounded: {found.inexact} of {2**32 // stride}")
    print(f"  wrong special values: {found.wrong_specials}")
    for target, count in found.different.items():
        print(f"  {target}: {count} results with other bits", flush=True)


def main() -> int:
    """Runs the sweeps; 0 if all are within 1 ulp and equal on all targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--function", choices=SWEEPS, action="append")
    parser.add_argument("--target", action="append", help="default: all this CPU can run")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    targets: list[str] = options.target or [t for t in X86_TARGETS if cpu_runs(t)]
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        program = driver(directory)
        plain = [library(target, directory) for target in targets]
        for name in options.function or SWEEPS:
            libraries = plain
            if name in NOTES:
                short = [library(target, directory, NOTES[name]) for target in targets]
                libraries = [plain[0], *short]
            found = sweep(program, name, libraries, options.stride, options.threads)
            report(name, found, options.stride)
            good = good and found.good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
