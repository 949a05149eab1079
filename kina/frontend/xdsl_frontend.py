"""The `.kina` front end of xDSL tools: `kina-opt FILE.kina` and stock `xdsl-opt FILE.kina`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.frontend import Frontend

from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.source import Source


@dataclass(frozen=True)
class KinaFrontend(Frontend):
    """Reads a `.kina` program; a mistake in it is a `KinaError` with its diagnostics."""

    name: ClassVar[str] = "kina"

    def parse(self, ctx: Context, input: IO[bytes], input_name: str) -> ModuleOp:
        """The kina IR of the program in `input`."""
        return generate(check(Source.decode(input_name, input.read())))
