"""How fast tokens come."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def rates(work: Callable[[], int], times: int) -> tuple[float, float]:
    """Tokens per second of wall time and of CPU time; medians."""
    wall: list[float] = []
    cpu: list[float] = []
    for _ in range(times):
        began, used = time.perf_counter(), time.process_time()
        count = work()
        wall.append(count / (time.perf_counter() - began))
        cpu.append(count / (time.process_time() - used))
    return statistics.median(wall), statistics.median(cpu)
