"""What is known of a program, right or wrong, after each change of its text."""

from __future__ import annotations

from pathlib import Path

from kina.errors import Diagnostic, KinaError
from kina.frontend.check import imports_of, parse_files
from kina.frontend.imports import link
from kina.frontend.lexer import Token, tokenize
from kina.frontend.meaning import Meaning, TupleValue, type_of
from kina.frontend.report import Report
from kina.frontend.source import Extent, Source
from kina.frontend.typecheck import typecheck
from kina.frontend.typed import TypedProgram
from kina.frozen import frozen
from kina.garbage import seldom_collected
from kina.lsp.names import Definition, Names, collect


@frozen(slots=True)
class Analysis:
    """A program as far as it can be understood."""

    source: Source
    """With all that it imports."""
    diagnostics: tuple[Diagnostic, ...]
    observed: dict[Extent, Meaning]
    """What each expression means."""
    typed: TypedProgram
    """The functions without errors."""
    names: Names
    parsed: bool
    """Whether all of it could be read."""

    @property
    def base(self) -> int:
        """Where the program's own file begins in the source."""
        return self.source.parts[-1][0]

    @property
    def text(self) -> str:
        """The program's own file."""
        return self.source.parts[-1][1].text

    def tokens(self) -> list[Token]:
        """Those of the program's own file, places counted from its begin."""
        own = self.source.parts[-1][1]
        return tokenize(own, Report(own))

    def file_of(self, extent: Extent) -> tuple[Path | None, Extent, Source]:
        """The file that a place is in, and where in it."""
        base, file = next(part for part in reversed(self.source.parts) if part[0] <= extent.start)
        return file.path, Extent(extent.start - base, extent.end - base), file

    def type_text(self, definition: Definition) -> str | None:
        """The type of a variable or a parameter."""
        if definition.value is None:
            return self._parameter_type(definition)
        meaning = self.observed.get(definition.value.extent)
        if not definition.alone:
            items = meaning.items if isinstance(meaning, TupleValue) else ()
            meaning = items[definition.position] if definition.position < len(items) else None
        type_ = None if meaning is None else type_of(meaning)
        return None if type_ is None else str(type_)

    def _parameter_type(self, definition: Definition) -> str | None:
        for function in self.names.functions.values():
            for parameter in getattr(function, "parameters", ()):
                if parameter.name.extent == definition.extent:
                    start, end = parameter.type.extent
                    return self.source.text[start:end]
        return None


def analyse(source: Source) -> Analysis:
    """All that can be known of a program; its errors are among it."""
    with seldom_collected():
        return _analyse(source)


def _analyse(source: Source) -> Analysis:
    problems: tuple[Diagnostic, ...] = ()
    try:
        source = link(source)
    except KinaError as error:
        problems = error.diagnostics
    report = Report(source)
    files = parse_files(source, report)
    if report.failed:
        problems += report.diagnostics()
    # What depends on a piece that could not be read is not worth an error of its own.
    checked = Report(source) if problems else report
    imports = imports_of(source)
    observed: dict[Extent, Meaning] = {}
    typed = typecheck(files, imports, checked, observed)
    if not problems:
        problems = (*checked.diagnostics(), *checked.warnings())
    names = collect(files, imports, observed)
    return Analysis(source, problems, observed, typed, names, parsed=checked is report)
