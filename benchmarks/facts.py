"""What the figures depend on: the machine, the versions, and what each peer takes on a disk."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import kina
from benchmarks.peers import PEERS
from benchmarks.workloads import BY_NAME

SIZED_PROGRAM = BY_NAME["nll_1x1024x50257"]


def facts(peers: Sequence[str]) -> dict[str, str]:
    """Machine, settings and versions, as text."""
    names = ["numpy", *(name for peer in peers for name in PEERS[peer].distributions)]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": f"{_cpu()}, {len(os.sched_getaffinity(0))} cores",
        "system": f"{platform.system()} {platform.machine()}, huge pages: {_huge_pages()}",
        "python": platform.python_version(),
        "kina": kina.__version__,
        **{name: version(name) for name in dict.fromkeys(names)},
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _huge_pages() -> str:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    text = setting.read_text() if setting.exists() else "[unknown]"
    return text[text.index("[") + 1 : text.index("]")]


def sizes(peers: Sequence[str]) -> dict[str, int]:
    """Bytes of what computes NLL: Kina's library, and each peer's installed distributions."""
    found: dict[str, int] = {}
    if "kina" in peers:
        for text, threads in (("one thread", False), ("with threads", True)):
            module = kina.load(SIZED_PROGRAM.program, threads=threads)
            found[f"Kina, library of NLL, {text}"] = module.library_path.stat().st_size
    for peer in peers:
        names = PEERS[peer].distributions
        if names:
            found[" + ".join(names)] = sum(_installed_size(name) for name in names)
    return found


def _installed_size(name: str) -> int:
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return 0
    paths = (Path(str(file.locate())) for file in files)
    return sum(path.stat().st_size for path in paths if path.exists())
