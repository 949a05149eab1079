"""Gives hostile input to the front end and to kina-opt: `make fuzz`, or `make fuzz MINUTES=60`.

Inputs are programs and IR of this repository, changed token by token. Where atheris is installed
it chooses them by what code they reach; elsewhere Hypothesis does, without looking. What is found
goes to files, each kind once: `python tools/fuzz.py --again FILE` shows one. Exits with 1 if
anything was found.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

MOST = 8192
"""Bytes of an input."""
INSTRUMENTED = 4
"""How much slower code may be of which every branch is counted."""


def main() -> int:
    """Try what the arguments say; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--target", choices=("front", "opt", "both"), default="both")
    parser.add_argument("--engine", choices=("atheris", "hypothesis"))
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"), help="for what is found")
    parser.add_argument("--inputs", type=int, help="end after so many of them (hypothesis)")
    parser.add_argument("--again", type=Path, help="an input to try once more; needs --target")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    engine = options.engine or ("atheris" if find_spec("atheris") else "hypothesis")
    if options.again:
        return _again(options.target, options.again)
    if options.worker:
        seconds = options.minutes * 60
        if engine == "atheris":
            return _atheris(options.target, seconds, options.folder)
        return _hypothesis(options.target, seconds, options.inputs, options.folder)
    targets = ("front", "opt") if options.target == "both" else (options.target,)
    minutes = ["--minutes", str(options.minutes / len(targets))]
    inputs = ["--inputs", str(options.inputs)] if options.inputs else []
    words = ["--engine", engine, *minutes, *inputs, "--folder", str(options.folder)]
    print(f"{', '.join(targets)}: by {engine}, for {options.minutes:g} minutes in all", flush=True)
    return max([_run(target, words, options.folder) for target in targets])


def _run(target: str, words: list[str], folder: Path) -> int:
    """Fuzz in a process of its own: the engine ends it as it likes."""
    known = set(_findings(folder, target))
    command = [sys.executable, __file__, "--worker", "--target", target, *words]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
    new = [file for file in _findings(folder, target) if file not in known]
    for file in new:
        print(f"{target}: {file}: {file.with_suffix('.txt').read_text().splitlines()[0]}")
    if done.returncode and not new:
        print(done.stderr[-4000:])
    print(f"{target}: {len(new)} findings{_statistics(done.stderr)}", flush=True)
    return int(bool(new) or done.returncode != 0)


def _statistics(said: str) -> str:
    """How many inputs libFuzzer tried, and how much they reached."""
    lines = said.splitlines()
    tried = next((line.split()[-1] for line in lines if "executed_units" in line), "")
    reached = [line for line in lines if line.startswith("#") and " cov: " in line]
    words = reached[-1].split() if reached else []
    return f" in {tried} inputs; edges reached: {words[words.index('cov:') + 1]}" if words else ""


def _findings(folder: Path, target: str) -> list[Path]:
    return sorted(folder.glob(f"{target}-*.input"))


def _again(target: str, file: Path) -> int:
    from tools.fuzzing.targets import TARGETS, Finding, tried, warm_up

    warm_up()
    try:
        tried(TARGETS[target], file.read_bytes())
    except Finding as finding:
        print(finding.what, finding.details, sep="\n")
        return 1
    return 0


class Trial:
    """Tries inputs, and writes down what is found."""

    def __init__(self, target: str, folder: Path, slowness: int) -> None:
        from tools.fuzzing.targets import SECONDS, TARGETS

        self._name, self._target = target, TARGETS[target]
        self._folder, self._seconds = folder, SECONDS * slowness
        self._seen: set[str] = set()
        self.count = 0
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, data: bytes) -> None:
        """Try one input."""
        from tools.fuzzing.targets import Finding, tried

        self.count += 1
        try:
            tried(self._target, data, self._seconds)
        except Finding as finding:
            if finding.what not in self._seen:
                self._seen.add(finding.what)
                self._keep(data, finding.what, finding.details)

    def _keep(self, data: bytes, what: str, details: str) -> None:
        name = f"{self._name}-{sha256(what.encode()).hexdigest()[:10]}"
        file = self._folder / f"{name}.input"
        file.write_bytes(data)
        file.with_suffix(".txt").write_text(f"{what}\n\n{details}")


def _atheris(target: str, seconds: float, folder: Path) -> int:
    # No stubs, and not installed where this is checked.
    atheris = import_module("atheris")
    with atheris.instrument_imports(include=["kina"]):
        from tools.fuzzing import targets
        from tools.fuzzing.mutations import Mutator, corpus

        targets.warm_up()
    inputs = corpus(target)
    mutator = Mutator(inputs, prefix=int(target == "opt"))
    seeds = folder / f"corpus-{target}"
    seeds.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (seeds / sha256(data).hexdigest()[:16]).write_bytes(data)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        if seed % 4 == 0:
            return atheris.Mutate(data, most)
        return mutator.changed(data, seed, most)

    flags = [f"-max_total_time={seconds:.0f}", f"-max_len={MOST}", "-timeout=60", "-rss_limit_mb=0"]
    flags += ["-print_final_stats=1", f"-artifact_prefix={folder}/"]
    words = [sys.argv[0], *flags, str(seeds)]
    atheris.Setup(words, Trial(target, folder, INSTRUMENTED), custom_mutator=mutate)
    atheris.Fuzz()
    return 0


def _hypothesis(target: str, seconds: float, most: int | None, folder: Path) -> int:
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis import strategies as st

    from tools.fuzzing import targets
    from tools.fuzzing.mutations import Mutator, corpus

    targets.warm_up()
    inputs = corpus(target)
    mutator = Mutator(inputs, prefix=int(target == "opt"))
    trial = Trial(target, folder, 1)
    end = time.monotonic() + seconds

    def is_over() -> bool:
        return trial.count >= most if most is not None else time.monotonic() >= end

    def one(data: bytes, number: int) -> None:
        if not is_over():
            trial(mutator.changed(data, number, MOST))

    checks = settings(
        max_examples=most or 1000,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    number = 0
    while not is_over():
        number += 1
        seed(number)(checks(given(st.sampled_from(inputs), st.integers(0, 2**32))(one)))()
    print(f"{target}: {trial.count} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
