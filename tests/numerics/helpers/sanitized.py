"""Compiled code with a sanitizer inside: every access of memory that it makes is looked at.

LLVM's own passes instrument the optimised code of a program; the runtime is that of the C
compiler, whose interface is the same. Kina's C parts and the driver are compiled with it as well.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers.replay import DRIVER
from kina.backend import codegen
from kina.backend.compilation import HELD
from kina.backend.options import Options
from kina.backend.stages import emit
from kina.backend.targets import TARGETS
from kina.backend.threads import POOL
from kina.backend.toolchain import OPT, run
from kina.frontend.source import Source

PARTS = (POOL, HELD)
"""The C files of a library that uses threads and folds."""


@dataclass(frozen=True, eq=False)
class Sanitizer:
    """One of the C compiler's, and what `opt` does for it."""

    name: str
    attribute: str
    passes: Sequence[str]
    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def flags(self) -> list[str]:
        """For the C compiler; nothing is passed over."""
        return [f"-fsanitize={self.name}", "-fno-sanitize-recover=all", "-O1", "-g"]

    def is_there(self, folder: Path) -> bool:
        """Whether the compiler has its library, and the system runs it."""
        (folder / "empty.c").write_text("int main(void) { return 0; }\n")
        try:
            self.compile(folder / "empty", folder / "empty.c")
        except (OSError, subprocess.CalledProcessError):
            return False
        return subprocess.run([folder / "empty"], capture_output=True, check=False).returncode == 0

    def library(self, source: Source, target: str, folder: Path) -> Path:
        """A program's functions for a target, instrumented."""
        llvm_ir = emit(source, "llvm", Options(target))
        passes = f"-passes={','.join(['forceattrs', *self.passes])}"
        instrumented = run(
            OPT, ["-S", passes, f"-force-attribute={self.attribute}", *self.options], llvm_ir
        )
        code, library = folder / f"{target}.o", folder / f"{target}.so"
        codegen.to_object(instrumented, TARGETS[target], code)
        self.compile(library, code, *PARTS, "-shared", "-fPIC", "-pthread")
        return library

    def driver(self, folder: Path) -> list[str | Path]:
        """The program that calls functions of a library."""
        path = folder / f"replay-{self.attribute}"
        if not path.exists():
            self.compile(path, DRIVER, "-ldl")
        return [path]

    def compile(self, path: Path, *words: str | Path) -> None:
        """Let the C compiler make a program or a library with it."""
        command = ["cc", *self.flags, "-o", path, *words]
        subprocess.run(command, check=True, capture_output=True, text=True)


ADDRESS = Sanitizer(
    "address,undefined",
    "sanitize_address",
    ("asan",),
    environment={"ASAN_OPTIONS": "detect_stack_use_after_return=1", "KINA_NUM_THREADS": "3"},
)
THREAD = Sanitizer(
    "thread",
    "sanitize_thread",
    # It looks at no access of more than 16 bytes: vectors become their elements first, and masked
    # ones do where the processor has none, as on x86-64-v2.
    ("scalarize-masked-mem-intrin", "scalarizer<load-store>", "tsan-module", "tsan"),
    # Older runtimes lack these functions, and see memset and memcpy anyway.
    ("-tsan-instrument-memintrinsics=false",),
    {"KINA_NUM_THREADS": "3"},
)
