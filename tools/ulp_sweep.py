"""Measures exp and log, as `expand-math` writes them, over all float32 inputs.

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
import time
from pathlib import Path

from scalar_library import TARGETS, build, cpu_runs, map_function

from kina.passes.expand_math import ExpandMath

BLOCK = 4096  # as in ulp_sweep.c
FUNCTIONS = ("exp", "log")


def library(target: str, directory: Path, *, nonpositive: bool = False) -> Path:
    """Builds both functions for one target."""
    hint = " {nonpositive}" if nonpositive else ""
    module = "\n".join(
        map_function(name, "f32", "f32", BLOCK, [f"%r = math.{name} %v{hint} : f32"])
        for name in FUNCTIONS
    )
    passes = [ExpandMath(fma="emulate" if target == "x86-64-v2" else "native")]
    name = f"{target}{'-nonpositive' if nonpositive else ''}.so"
    return build(module, passes, target, directory / name)


def driver(directory: Path) -> Path:
    """Builds the C program that sweeps."""
    program = directory / "ulp_sweep"
    source = Path(__file__).with_suffix(".c")
    command = ["cc", "-O2", str(source), "-o", str(program), "-lm", "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return program


def sweep(program: Path, function: str, libraries: list[Path], stride: int, threads: int) -> bool:
    """Sweeps one function and prints what was found; false if anything is out of bounds."""
    start = time.perf_counter()
    command = [str(program), function, str(stride), str(threads), *map(str, libraries)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    words = re.match(r"worst (\S+) (\S+) inexact (\d+) special (\d+)(.*)", output)
    assert words is not None, output
    worst, pattern, inexact, special, rest = words.groups()
    print(f"{function}: largest error {worst} ulp at input 0x{pattern}")
    print(f"  not correctly rounded: {inexact} of {2**32 // stride}; wrong specials: {special}")
    different = re.findall(r"different (\d+) (\S+)", rest)
    for path, (count, first) in zip(libraries[1:], different, strict=True):
        where = f", first at 0x{first}" if int(count) else ""
        print(f"  {path.stem}: {count} results differ from {libraries[0].stem}{where}")
    print(f"  {time.perf_counter() - start:.0f} s")
    return float(worst) <= 1 and special == "0" and all(count == "0" for count, _ in different)


def main() -> int:
    """Runs the sweeps; 0 if all are within 1 ulp and equal on all targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--function", choices=FUNCTIONS, action="append")
    parser.add_argument("--target", action="append", help="default: all this CPU can run")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    targets: list[str] = options.target or [t for t in reversed(TARGETS) if cpu_runs(t)]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        libraries = [library(target, directory) for target in targets]
        program = driver(directory)
        results = [
            sweep(program, function, libraries, options.stride, options.threads)
            for function in options.function or FUNCTIONS
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
