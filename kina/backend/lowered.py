"""What lowering makes of a program, or of a part of it; loads nothing of xDSL."""

from __future__ import annotations

from kina.backend.metadata import CompiledFunction
from kina.frozen import frozen


@frozen(slots=True)
class Lowered:
    """A program, or a part of it, after the passes."""

    code: str
    kernels: tuple[str, ...]
    """What the kernels are, in words: lines."""
    functions: tuple[CompiledFunction, ...]
    holds: bool
    """Whether it needs what holds memory from call to call."""
