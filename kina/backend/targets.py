"""The machines that Kina compiles for, and what LLVM must be told for each: one row per target."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from kina.errors import Diagnostic, KinaValueError, Note
from kina.frozen import frozen
from kina.machine import AVX2, AVX2_VNNI, MACHINES, OLD, SCALAR, SIMD128, USUAL, WIDE, WIDE_VNNI

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_CPUINFO = Path("/proc/cpuinfo")
# x86 and Arm lines that say what the CPU can do; the first core's stand for all.
_CPUINFO_KEYS = ("model name", "flags", "CPU part", "Features")


@frozen(slots=True)
class System:
    """An operating system, or what takes its place."""

    name: str
    triple: str
    """The LLVM triple, the machine left open."""
    suffix: str
    """That of a shared library."""
    is_static: bool = False
    """Whether static libraries and object files are made."""
    has_team: bool = True
    """Whether large calls may run on several threads."""


LINUX, MACOS, WINDOWS, WASM = "linux", "macos", "windows", "wasm"
SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System(LINUX, "{}-unknown-linux-gnu", ".so", is_static=True),
        System(MACOS, "{}-apple-macosx11.0.0", ".dylib"),
        System(WINDOWS, "{}-pc-windows-gnu", ".dll", has_team=False),
        System(WASM, "{}-unknown-unknown", ".wasm", has_team=False),
    )
}
_APPLE = {"aarch64": "arm64"}


@frozen(slots=True)
class Clang:
    """What zig's clang is told of a machine for which our own LLVM makes no code."""

    layout: str
    """The data layout, for our `opt`."""
    flags: tuple[str, ...]


@frozen(slots=True)
class Target:
    """Code of one kind."""

    name: str
    architecture: str
    """As LLVM spells it; empty means the host's."""
    cpu: str
    features: tuple[str, ...] = ()
    kernels: str = USUAL
    """The machine that kernels are built for; empty: what the host's CPU is."""
    on: str = ""
    """The system; empty means the host's."""
    clang: Clang | None = None
    """None: `llc` makes the code."""

    @property
    def machine(self) -> str:
        """The architecture."""
        return self.architecture or host_machine()

    @property
    def system(self) -> System:
        """The operating system."""
        return SYSTEMS[self.on or host_system()]

    @property
    def triple(self) -> str:
        """The LLVM triple; without one, nothing vectorises."""
        spelled = _APPLE if self.system.name == MACOS else {}
        return self.system.triple.format(spelled.get(self.machine, self.machine))

    @property
    def is_host(self) -> bool:
        """Whether libraries of this target can be loaded here, if the CPU is new enough."""
        return (self.machine, self.system.name) == (host_machine(), host_system())

    @property
    def emulates(self) -> bool:
        """True without fused multiply-add and exact conversions of F16."""
        machine = MACHINES[self.model]
        return not (machine.has_fma and machine.has_halves)

    @property
    def model(self) -> str:
        """The name of the machine that kernels are built for (`kina/machine.py`)."""
        return self.kernels or _host_model()

    @property
    def flags(self) -> list[str]:
        """The arguments that `opt` and `llc` share."""
        if self.clang is not None:
            return [f"-data-layout={self.clang.layout}"]
        attributes = [f"-mattr={','.join(self.features)}"] if self.features else []
        return [f"-mtriple={self.triple}", f"-mcpu={self.cpu}", *attributes]


_MODELS = (
    (WIDE_VNNI, "avx512f avx512bw avx512_vnni"),
    (WIDE, "avx512f avx512bw"),
    (AVX2_VNNI, "avx2 avx_vnni"),
    (AVX2, "avx2"),
)
"""What a machine must have, as /proc/cpuinfo spells it, the best one first."""
_WIDE = ("-prefer-256-bit",)
_LEVELS = (("v2", (), OLD), ("v3", (), AVX2), ("v4", _WIDE, WIDE))


def _x86_64(name: str, on: str = "") -> tuple[Target, ...]:
    """The levels of x86-64, lowest first; the CPU chooses when a library runs."""
    return tuple(
        Target(f"{name}-{level}", "x86_64", f"x86-64-{level}", features, kernels, on)
        for level, features, kernels in _LEVELS
    )


_FAT: dict[str, tuple[Target, ...]] = {
    "x86-64": _x86_64("x86-64"),
    "x86_64-windows": _x86_64("x86_64-windows", WINDOWS),
    "x86_64-macos": _x86_64("x86_64-macos", MACOS),
}
FAT: dict[str, tuple[str, ...]] = {
    name: tuple(target.name for target in levels) for name, levels in _FAT.items()
}
"""Targets that hold the code of several, lowest first; the CPU chooses when it runs."""

_RISCV64 = Clang("e-m:e-p:64:64-i64:64-i128:128-n32:64-S128", ("-march=rv64gc", "-fPIC"))
_WASM32 = Clang(
    "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20",
    ("-msimd128", "-mbulk-memory"),
)
TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("native", "", "native", _WIDE if platform.machine() == "x86_64" else (), kernels=""),
        *_FAT["x86-64"],
        Target("aarch64-linux", "aarch64", "generic", on=LINUX),
        Target("riscv64-linux", "riscv64", "generic", kernels=SCALAR, on=LINUX, clang=_RISCV64),
        *_FAT["x86_64-windows"],
        Target("aarch64-macos", "aarch64", "apple-m1", on=MACOS),
        *_FAT["x86_64-macos"],
        Target("wasm32", "wasm32", "generic", kernels=SIMD128, on=WASM, clang=_WASM32),
    )
}
"""Every single target by its name."""
TARGETS["aarch64"] = TARGETS["aarch64-linux"]


def single_targets(name: str) -> list[Target]:
    """The targets that the target called `name` holds."""
    return [TARGETS[single] for single in FAT.get(name, (name,))]


def host_machine() -> str:
    """The host's architecture in LLVM's spelling."""
    machine = platform.machine().lower()
    return _MACHINES.get(machine, machine)


def host_system() -> str:
    """The host's system."""
    return MACOS if sys.platform == "darwin" else LINUX


def _host_model() -> str:
    """The machine that is most like this one."""
    if host_machine() != "x86_64":
        return USUAL
    features = set(host_cpu().split())
    if not {"fma", "f16c"} <= features:
        return OLD
    found = (name for name, needed in _MODELS if set(needed.split()) <= features)
    return next(found, USUAL)


def default_build_target() -> str:
    """What `kina build` makes without `--target`: a library for more than this machine."""
    return "x86-64" if host_machine() == "x86_64" else "native"


def check_target(name: str) -> None:
    """Raise `KinaValueError` for a name that is no target."""
    if name not in TARGETS and name not in FAT:
        known = ", ".join([*FAT, *TARGETS])
        raise KinaValueError(
            Diagnostic(f"unknown target '{name}'", notes=(Note(f"known targets: {known}"),))
        )


def check_loadable(name: str) -> None:
    """Raise `KinaValueError` for a target whose libraries this machine cannot load."""
    check_target(name)
    target = single_targets(name)[0]
    if not target.is_host:
        here = f"{host_machine()} on {host_system()}"
        notes = (
            Note(f"kina build --target {name} writes a library to take there"),
            Note(f"what runs here is native, the default: {here}"),
        )
        message = f"the target '{name}' cannot be loaded on this machine"
        raise KinaValueError(Diagnostic(message, notes=notes))


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
