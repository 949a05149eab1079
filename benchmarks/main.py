"""The command line: what to run, and where the results go."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from benchmarks import plot
from benchmarks.conductor import Conductor, inputs_folder, installed, measure_memory
from benchmarks.facts import facts, sizes
from benchmarks.peers import LIMIT, PEERS
from benchmarks.report import markdown
from benchmarks.results import Results
from benchmarks.workloads import MEMORY_WORKLOADS, WORKLOADS, Workload

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
PICTURE = HERE.parent / "docs" / "benchmarks.png"
_MARKED = re.compile(r"(<!-- begin results -->\n).*(<!-- end results -->)", re.DOTALL)


class Effort(NamedTuple):
    """Visits per variant and seconds per visit."""

    rounds: int
    budget: float


FULL, QUICK = Effort(4, 0.12), Effort(2, 0.03)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks; a full run also renews the page and the plot in `docs/`."""
    options = _parser().parse_args(arguments)
    results = Results()
    peers = installed(["limit", *options.peers], results)
    workloads = [w for w in WORKLOADS if any(part in w.name for part in options.only)]
    effort = QUICK if options.quick else FULL
    start = time.monotonic()
    with inputs_folder() as folder:
        for threads in options.threads:
            with Conductor(peers, threads, folder, results) as conductor:
                for workload in workloads:
                    _say(start, f"threads {threads}: {workload.title}")
                    conductor.run(workload, *effort)
        _measure_memory(results, workloads, max(options.threads), folder)
    results.facts, results.sizes = facts(peers), sizes(peers)
    _say(start, "done")
    whole = list(workloads) == list(WORKLOADS) and not options.quick
    _write(results, options.output, renew=whole and set(peers) == set(PEERS))


def _parser() -> argparse.ArgumentParser:
    names = [name for name, peer in PEERS.items() if peer.kind != LIMIT]
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument(
        "--only", type=_words, default=[""], help="parts of workload names, such as nll,argmax"
    )
    parser.add_argument("--peers", type=_words, default=names, help=f"of {', '.join(names)}")
    parser.add_argument("--threads", type=_numbers, default=[1, 2], help="default: 1,2")
    parser.add_argument("--quick", action="store_true", help="few samples: to try the harness")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="a folder")
    return parser


def _say(start: float, text: str) -> None:
    print(f"[{time.monotonic() - start:4.0f} s] {text}", flush=True)


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _measure_memory(
    results: Results, workloads: Sequence[Workload], threads: int, folder: Path
) -> None:
    for workload in workloads:
        if workload in MEMORY_WORKLOADS:
            variants = [(t.peer, t.variant) for t in results.of(workload.name, threads)]
            results.memory += measure_memory(workload, variants, threads, folder)


def _write(results: Results, folder: Path, *, renew: bool) -> None:
    """The results as JSON, Markdown and PNG; with `renew` also into the page in `docs/`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = markdown(results)
    (folder / "latest.json").write_text(json.dumps(asdict(results), indent=1) + "\n")
    (folder / "latest.md").write_text(text)
    print(text)
    if plot.available():
        plot.draw(results, PICTURE if renew else folder / "latest.png")
    if renew:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_MARKED.sub(lambda m: f"{m[1]}\n{text}\n{m[2]}", page), encoding="utf-8")
