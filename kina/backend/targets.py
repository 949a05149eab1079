"""The CPUs that Kina compiles for, and what LLVM must be told for each."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from kina.errors import Diagnostic, KinaValueError, Note
from kina.machine import AVX2, AVX2_VNNI, OLD, USUAL, WIDE, WIDE_VNNI

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_CPUINFO = Path("/proc/cpuinfo")
# x86 and Arm lines that say what the CPU can do; the first core's stand for all.
_CPUINFO_KEYS = ("model name", "flags", "CPU part", "Features")


@dataclass(frozen=True, slots=True)
class Target:
    """One value of `--target`."""

    name: str
    machine: str
    """The architecture as LLVM spells it; empty means the host's."""
    cpu: str
    features: tuple[str, ...] = ()

    @property
    def triple(self) -> str:
        """The LLVM triple; without one, nothing vectorises."""
        machine = self.machine or host_machine()
        if sys.platform == "darwin":
            return f"{'arm64' if machine == 'aarch64' else machine}-apple-macosx11.0.0"
        return f"{machine}-unknown-linux-gnu"

    @property
    def emulates(self) -> bool:
        """True for x86 without FMA and F16C, whose exact instructions Kina then does without."""
        if not self.triple.startswith("x86_64"):
            return False
        if self.cpu != "native":
            return self.cpu == "x86-64-v2"
        return not {"fma", "f16c"} <= set(host_cpu().split())

    @property
    def model(self) -> str:
        """The name of the machine that kernels are built for (`kina/machine.py`)."""
        if self.emulates:
            return OLD
        has = set(host_cpu().split()) if self.cpu == "native" else _OF_LEVEL.get(self.cpu, set())
        found = (name for name, needed in _MODELS if set(needed.split()) <= has)
        return next(found, USUAL)

    @property
    def flags(self) -> list[str]:
        """The arguments that `opt` and `llc` share."""
        attributes = [f"-mattr={','.join(self.features)}"] if self.features else []
        return [f"-mtriple={self.triple}", f"-mcpu={self.cpu}", *attributes]


_OF_LEVEL = {"x86-64-v3": {"avx2"}, "x86-64-v4": {"avx2", "avx512f", "avx512bw"}}
"""What the levels of x86-64 have that models ask for."""
_MODELS = (
    (WIDE_VNNI, "avx512f avx512bw avx512_vnni"),
    (WIDE, "avx512f avx512bw"),
    (AVX2_VNNI, "avx2 avx_vnni"),
    (AVX2, "avx2"),
)
"""What a machine must have, as /proc/cpuinfo spells it, the best one first."""
_WIDE = ("-prefer-256-bit",)

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("native", "", "native", _WIDE if platform.machine() == "x86_64" else ()),
        Target("x86-64-v2", "x86_64", "x86-64-v2"),
        Target("x86-64-v3", "x86_64", "x86-64-v3"),
        Target("x86-64-v4", "x86_64", "x86-64-v4", _WIDE),
        Target("aarch64", "aarch64", "generic"),
    )
}
"""Every single target by its name."""


FAT: dict[str, tuple[str, ...]] = {"x86-64": ("x86-64-v2", "x86-64-v3", "x86-64-v4")}
"""Targets that hold the code of several, lowest first; the CPU chooses when it runs."""


def single_targets(name: str) -> list[Target]:
    """The targets that the target called `name` holds."""
    return [TARGETS[single] for single in FAT.get(name, (name,))]


def host_machine() -> str:
    """The host's architecture in LLVM's spelling."""
    machine = platform.machine().lower()
    return _MACHINES.get(machine, machine)


def default_build_target() -> str:
    """What `kina build` makes without `--target`: a library for more than this machine."""
    return "x86-64" if host_machine() == "x86_64" else "native"


def check_target(name: str) -> None:
    """Raise `KinaValueError` for a name that is no target."""
    if name not in TARGETS and name not in FAT:
        known = ", ".join([*TARGETS, *FAT])
        raise KinaValueError(
            Diagnostic(f"unknown target '{name}'", notes=(Note(f"known targets: {known}"),))
        )


def host_cpu() -> str:
    """What tells this CPU from others: native code must never reach a machine that lacks it."""
    if not _CPUINFO.exists():
        return f"{platform.machine()} {platform.processor()} {platform.node()}"
    found: dict[str, str] = {}
    with _CPUINFO.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            found.setdefault(key.strip(), value.strip())
            if not key.strip():
                break
    return "|".join(found[key] for key in _CPUINFO_KEYS if key in found)
