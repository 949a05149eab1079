"""The results as Markdown: an overview, every variant, memory, sizes, and what was not run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.peers import KINA, LIBRARY, LIMIT, LOOP
from benchmarks.results import Results, Timing
from benchmarks.workloads import BY_NAME
from kina.cli.timing import duration, size, three_digits


def markdown(results: Results) -> str:
    """The whole report."""
    parts = (_overview(results), _details(results), _memory(results), _sizes(results))
    lines = [line for part in (*parts, _facts(results)) for line in part]
    return "\n".join(lines).strip() + "\n"


def _overview(results: Results) -> Iterator[str]:
    threads = results.threads
    yield "### Overview"
    yield ""
    yield (
        f"Medians on {' / '.join(map(str, threads))} threads. In brackets: how many times the "
        "memory limit. The speed-up is the best library's time over Kina's."
    )
    yield ""
    yield from _header(
        ["workload", "limit", "Kina", "best library", "hand-written loop", "speed-up"]
    )
    for name in results.workloads:
        cells = [_limits(results, name)]
        cells += [_bests(results, name, kind) for kind in (KINA, LIBRARY, LOOP)]
        yield _row([BY_NAME[name].title, *cells, _speedups(results, name)])
    yield ""


def _limits(results: Results, name: str) -> str:
    limits = (results.best(name, threads, LIMIT) for threads in results.threads)
    return " / ".join("–" if limit is None else duration(limit.median) for limit in limits)


def _bests(results: Results, name: str, kind: str) -> str:
    best = [results.best(name, threads, kind) for threads in results.threads]
    if not any(best):
        return _why_missing(results, name) if kind == KINA else "–"
    times = " / ".join("–" if t is None else _time_and_ratio(results, t) for t in best)
    variants = ", ".join(dict.fromkeys(t.variant for t in best if t is not None))
    return f"{variants}: {times}" if kind == LIBRARY else times


def _why_missing(results: Results, name: str) -> str:
    reasons = (m.reason for m in results.missing if m.workload == name and m.peer == "kina")
    return f"not available: {_cell(next(reasons, 'not run'))}"


def _time_and_ratio(results: Results, timing: Timing) -> str:
    ratio = results.ratio(timing)
    return duration(timing.median) + ("" if ratio is None else f" ({three_digits(ratio)})")


def _speedups(results: Results, name: str) -> str:
    """How many times as fast as the best library, per number of threads."""
    found: list[str] = []
    for threads in results.threads:
        ours, theirs = (results.best(name, threads, kind) for kind in (KINA, LIBRARY))
        found.append(f"{three_digits(theirs.median / ours.median)}x" if ours and theirs else "–")
    return f"**{' / '.join(found)}**"


def _details(results: Results) -> Iterator[str]:
    yield "### Every variant"
    yield ""
    yield (
        "The error is the largest absolute difference from float64 (for indices, the share that "
        "differs), the rounding of F16 and BF16 results included."
    )
    for name in results.workloads:
        yield ""
        yield f"#### {BY_NAME[name].title}"
        yield ""
        per_thread = [cell for t in results.threads for cell in (_threads(t), "x limit")]
        yield from _header(["variant", *per_thread, "error"])
        yield from _variants(results, name)
        yield from _absent(results, name, columns=len(per_thread))
    yield ""


def _variants(results: Results, name: str) -> Iterator[str]:
    last = results.threads[-1]
    by_variant: dict[str, dict[int, Timing]] = {}
    for timing in results.timings:
        if timing.workload == name:
            by_variant.setdefault(timing.variant, {})[timing.threads] = timing
    for variant, timings in sorted(by_variant.items(), key=lambda item: _rank(item[1], last)):
        cells: list[str] = []
        for threads in results.threads:
            timing = timings.get(threads)
            ratio = None if timing is None else results.ratio(timing)
            cells += ["–" if timing is None else duration(timing.median)]
            cells += ["–" if ratio is None else f"{ratio:.2f}"]
        errors = [timing.error for timing in timings.values() if timing.error is not None]
        shown = f"**{variant}**" if variant.startswith("kina") else variant
        yield _row([shown, *cells, f"{max(errors):.2g}" if errors else "–"])


def _rank(timings: dict[int, Timing], threads: int) -> float:
    return timings[threads].median if threads in timings else float("inf")


def _absent(results: Results, name: str, columns: int) -> Iterator[str]:
    reasons = dict.fromkeys(
        (missing.peer, missing.reason) for missing in results.missing if missing.workload == name
    )
    for peer, reason in reasons:
        yield _row([peer, f"not available: {_cell(reason)}", *[""] * columns])


def _memory(results: Results) -> Iterator[str]:
    if not results.memory:
        return
    yield "### Peak memory"
    yield ""
    yield (
        "By how much the peak memory of a fresh process rises over library, inputs and the array "
        "for out= during three calls; a compiler that runs at the first call counts."
    )
    yield ""
    yield from _header(["workload", "variant", "rise"])
    for memory in sorted(results.memory, key=lambda m: (m.workload, m.rise or 0)):
        rise = "not measured" if memory.rise is None else size(memory.rise)
        yield _row([BY_NAME[memory.workload].title, memory.variant, rise])
    yield ""


def _sizes(results: Results) -> Iterator[str]:
    if not results.sizes:
        return
    yield "### Size on disk"
    yield ""
    yield from _header(["what", "size"])
    for what, count in sorted(results.sizes.items(), key=lambda item: item[1]):
        yield _row([what, size(count)])
    yield ""


def _facts(results: Results) -> Iterator[str]:
    yield "### Machine and versions"
    yield ""
    yield from (f"- {name}: {text}" for name, text in results.facts.items())
    yield from (f"- {m.peer}: not run, {m.reason}" for m in results.missing if not m.workload)


def _header(cells: Sequence[str]) -> Iterator[str]:
    yield _row(cells)
    yield "|" + "---|" * len(cells)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _threads(count: int) -> str:
    return f"{count} thread" if count == 1 else f"{count} threads"
