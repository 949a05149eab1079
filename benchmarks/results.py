"""What a run found: plain records that are stored as JSON and turned into tables and the plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.peers import LIMIT, PEERS


@dataclass(frozen=True, slots=True)
class Timing:
    """One variant of one workload; `error` is against float64, as `workloads.error` says."""

    workload: str
    threads: int
    peer: str
    variant: str
    seconds: Sequence[float]
    error: float | None

    @property
    def median(self) -> float:
        """Seconds per call."""
        return median(self.seconds)

    @property
    def kind(self) -> str:
        """What sort of peer it is."""
        return PEERS[self.peer].kind


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer that could not run a workload (or any, where `workload` is empty), and why."""

    workload: str
    threads: int
    peer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Memory:
    """How many bytes the peak memory of a fresh process rises by; None where that failed."""

    workload: str
    variant: str
    rise: int | None


@dataclass(slots=True)
class Results:
    """Everything; sizes are in bytes, by what they are of."""

    facts: dict[str, str] = field(default_factory=dict[str, str])
    timings: list[Timing] = field(default_factory=list[Timing])
    missing: list[Missing] = field(default_factory=list[Missing])
    memory: list[Memory] = field(default_factory=list[Memory])
    sizes: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def threads(self) -> list[int]:
        """The numbers of threads that were run."""
        return sorted({timing.threads for timing in self.timings})

    @property
    def workloads(self) -> list[str]:
        """The names of the workloads that were run, in order."""
        names = (item.workload for item in (*self.timings, *self.missing))
        return list(dict.fromkeys(name for name in names if name))

    def of(self, workload: str, threads: int, kind: str | None = None) -> Iterator[Timing]:
        """The timings of a workload, without the limit unless asked for."""
        for timing in self.timings:
            same = timing.workload == workload and timing.threads == threads
            if same and (timing.kind == kind if kind else timing.kind != LIMIT):
                yield timing

    def best(self, workload: str, threads: int, kind: str) -> Timing | None:
        """The fastest variant of a kind."""
        return min(self.of(workload, threads, kind), key=lambda t: t.median, default=None)

    def ratio(self, timing: Timing) -> float | None:
        """How many times the limit's time it takes; None where memory is not what limits."""
        limit = self.best(timing.workload, timing.threads, LIMIT)
        return None if limit is None else timing.median / limit.median
