"""Which program links for a target: the machine's C compiler, or zig, which links for every one.

Nothing of the compiler is imported here: the cache asks, to know what a library was made with.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from kina.backend.targets import LINUX, Target, single_targets
from kina.backend.toolchain import CC, ZIG, Tool, cross_cc, identity, is_there

# The C files of Kina's must run on every CPU of the architecture, and bring in nothing that starts
# up. They hand out work and do none. Nothing is thrown through them, and what they call has no
# tables either.
C_FLAGS = ("-Os", "-fvisibility=hidden", "-fno-asynchronous-unwind-tables", "-Wall", "-Wextra")
OWN_ATOMICS = "-mno-outline-atomics"
"""For aarch64: without a library's help."""


def linker(target: Target) -> Tool:
    """The tool that compiles C and links for `target`; whoever runs it finds it missing."""
    if target.clang is None:
        if target.is_host:
            return CC if is_there(CC) or not is_there(ZIG) else ZIG
        if target.system.name == LINUX:
            cross = cross_cc(target.machine)
            if cross.variable in os.environ or (is_there(cross) and not is_there(ZIG)):
                return cross
    return ZIG


def identities(name: str) -> Iterator[str]:
    """What changes when the tools do that only the target called `name` needs."""
    target = single_targets(name)[0]
    yield identity(linker(target))
