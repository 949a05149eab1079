"""Where libraries for other machines run: an emulator for each, and what it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from helpers import replay
from helpers.replay import Runner
from kina.backend.import_library import import_library
from kina.backend.toolchain import ZIG, find

WASM_DRIVER = Path(replay.__file__).with_name("replay_wasm.py")
QUIET = {"WINEDEBUG": "-all"}


class Emulator(Runner, Protocol):
    """A machine that may be missing."""

    @property
    def missing(self) -> str | None:
        """What is not installed here."""
        ...


def zig(*arguments: str | Path) -> None:
    """Run zig, as a C compiler or a linker."""
    subprocess.run([find(ZIG).path, *arguments], check=True, capture_output=True)


def compiled(folder: Path, target: str, *flags: str | Path) -> Path:
    """The driver as an object or a program for a machine."""
    path = folder / f"replay-{target}"
    if not path.exists():
        warned = ["-O1", "-Wall", "-Wextra", "-Werror"]
        zig("cc", "-target", target, *warned, "-o", path, replay.DRIVER, *flags)
    return path


@dataclass(frozen=True)
class Qemu:
    """Linux on another processor; its C library lies in a folder of Debian's cross packages."""

    processor: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def _root(self) -> Path:
        return Path(f"/usr/{self.processor}-linux-gnu")

    @property
    def missing(self) -> str | None:
        """What is not installed here."""
        emulator = f"qemu-{self.processor}"
        if shutil.which(emulator) is None:
            return emulator
        return None if (self._root / "lib").exists() else f"the C library in {self._root}"

    def driver(self, folder: Path) -> list[str | Path]:
        """The driver, linked for it."""
        program = compiled(folder, f"{self.processor}-linux-gnu.2.36", "-ldl")
        return [f"qemu-{self.processor}", "-L", self._root, program]


@dataclass(frozen=True)
class Wine:
    """Windows on this processor."""

    level: str = ""

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing but results is printed; one of the levels of x86-64 is chosen."""
        return QUIET | ({"KINA_CPU": self.level} if self.level else {})

    @property
    def missing(self) -> str | None:
        """What is not installed here."""
        return None if shutil.which("wine") else "wine"

    def driver(self, folder: Path) -> list[str | Path]:
        """The driver, linked with what is a part of Windows."""
        program = folder / "replay.exe"
        if not program.exists():
            made = compiled(folder, "x86_64-windows-gnu", "-c", "-fno-stack-protector")
            libraries = [folder / "kernel32.lib", folder / "ucrtbase.lib"]
            kernel = ("LoadLibraryA", "GetProcAddress")
            libraries[0].write_bytes(import_library("kernel32.dll", kernel))
            libraries[1].write_bytes(import_library("ucrtbase.dll", _UCRT))
            flags = ["-entry:start", "-subsystem:console", "-machine:x64", "-nodefaultlib"]
            zig("lld-link", *flags, f"-out:{program}", made, *libraries)
        return ["wine", program]


_UCRT = (
    *("fopen", "fclose", "fread", "fwrite", "exit", "malloc", "free", "memset", "memcpy"),
    *("strlen", "__stdio_common_vfscanf", "__acrt_iob_func"),
    *("__p___argc", "__p___argv", "_configure_narrow_argv"),
)


@dataclass(frozen=True)
class Wasm:
    """WebAssembly in wasmtime."""

    environment: Mapping[str, str] = field(
        default_factory=lambda: {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    )

    @property
    def missing(self) -> str | None:
        """What is not installed here."""
        return None if find_spec("wasmtime") else "wasmtime (pip install wasmtime)"

    def driver(self, _folder: Path) -> list[str | Path]:
        """The driver in Python."""
        return [sys.executable, WASM_DRIVER]
