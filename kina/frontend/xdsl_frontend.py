"""The `.kina` front end of xDSL tools: `kina-opt FILE.kina` and stock `xdsl-opt FILE.kina`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError
from xdsl.utils.frontend import Frontend
from xdsl.utils.lexer import Input, Span

from kina.errors import KinaError
from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.source import Source


class ProgramError(ParseError):
    """What is wrong with a program, as the parse error that xDSL's tools know how to report.

    Its text is all of Kina's diagnostics; its span is the place of the first.
    """

    def __init__(self, problem: KinaError, source: Source) -> None:
        super().__init__(_span(problem, source), problem.diagnostics[0].message)
        self.problem = problem

    def __str__(self) -> str:
        return str(self.problem)


def _span(problem: KinaError, source: Source) -> Span[str]:
    place = problem.diagnostics[0].span
    text = Input(source.text, source.name)
    if place is None:
        return Span(0, 0, text)
    before = source.text.split("\n")[: place.line - 1]
    start = sum(len(line) + 1 for line in before) + place.column - 1
    return Span(start, start + place.width, text)


@dataclass(frozen=True)
class KinaFrontend(Frontend):
    """Reads a `.kina` program; a mistake in it is a `ProgramError`."""

    name: ClassVar[str] = "kina"

    def parse(self, ctx: Context, input: IO[bytes], input_name: str) -> ModuleOp:
        """The kina IR of the program in `input`."""
        source = Source.decode(input_name, input.read())
        file = Path(input_name)
        source.path = file if file.is_file() else None
        try:
            return generate(check(source))
        except KinaError as problem:
            raise ProgramError(problem, source) from None
