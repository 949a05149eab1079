"""Programs in several files: `import "layers.kina"`.

The files are read in the order of their imports, each once, and become one source: the text of all,
with the place of every character in its own file. Paths are relative to the importing file and lead
to files in the folder of the program or below it.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from kina.errors import Diagnostic, KinaError, KinaSyntaxError, Note, Span
from kina.frontend.report import MAX_ERRORS, Report
from kina.frontend.source import IMPORT, MAX_BYTES, Source

if TYPE_CHECKING:
    from kina.frontend.lexer import Token

MAX_FILES = 1000
"""Of a program."""
MAX_CHAIN = 100
"""Files that import each the next."""
_NO_FOLDER = "a program given as text has no folder: write it to a file, and use kina.load(path)"


class LinkedSource(Source):
    """The files of a program as one text, the program's own file last."""

    def __init__(self, files: tuple[Source, ...], imports: tuple[tuple[int, ...], ...]) -> None:
        super().__init__(files[-1].name, "\n".join(file.text for file in files))
        self.files = files
        self.imports = imports
        """Of each file, which one each of its imports leads to."""
        self._starts = [0]
        for file in files[:-1]:
            self._starts.append(self._starts[-1] + len(file.text) + 1)
        self.path = files[-1].path

    @property
    def parts(self) -> tuple[tuple[int, Source], ...]:
        """The files and where each begins in the text."""
        return tuple(zip(self._starts, self.files, strict=True))

    def _part(self, offset: int) -> tuple[int, Source]:
        index = bisect_right(self._starts, offset) - 1
        return self._starts[index], self.files[index]

    def file_at(self, offset: int) -> str:
        """The name of the file that a character is in."""
        return self._part(offset)[1].name

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character in its own file."""
        start, file = self._part(offset)
        return file.position(offset - start)

    def span(self, start: int, end: int) -> Span:
        """The place of a piece of the text in its own file."""
        first, file = self._part(start)
        return file.span(start - first, end - first)

    def lines(self) -> list[str]:
        """Every line of the program's own file."""
        return self.files[-1].lines()


Stored = str | tuple[tuple[tuple[str, str], ...], tuple[tuple[int, ...], ...]]
"""A program's text; of several files, their names and texts, and what each imports."""


def stored(source: Source) -> Stored:
    """What `restored` makes the source of again, without reading a file."""
    if not isinstance(source, LinkedSource):
        return source.text
    return tuple((file.name, file.text) for file in source.files), source.imports


def restored(name: str, text: Stored) -> Source:
    """The source that `stored` wrote down."""
    if isinstance(text, str):
        return Source(name, text)
    return LinkedSource(tuple(Source(*file) for file in text[0]), text[1])


def link(source: Source) -> Source:
    """The program with all that it imports; itself if that is nothing.

    Raises `KinaSyntaxError` at every import that cannot be followed.
    """
    if isinstance(source, LinkedSource) or IMPORT not in source.text:
        return source
    linker = _Linker(source)
    linker.read(source, [])
    if linker.problems:
        raise KinaSyntaxError(*linker.shown())
    if len(linker.files) == 1:
        return source
    return LinkedSource(tuple(linker.files), tuple(linker.imports))


@dataclass
class _Linker:
    """Reads files, each after those that it imports."""

    main: Source
    files: list[Source] = field(default_factory=list[Source])
    imports: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    known: dict[Path, int] = field(default_factory=dict[Path, int])
    """Where each file that is read stands."""
    size: int = 0
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """What is wrong with imports, in the order in which they are followed."""

    def shown(self) -> list[Diagnostic]:
        """The problems; past `MAX_ERRORS`, only how many more."""
        shown, left = self.problems[:MAX_ERRORS], len(self.problems) - MAX_ERRORS
        if left > 0:
            shown.append(Diagnostic(f"{self.main.name}: and {left} more error{'s' * (left > 1)}"))
        return shown

    def read(self, source: Source, chain: list[tuple[Path, Source]]) -> int:
        """Read what `source` imports, then add it; where it stands."""
        # What is in the cache and imports nothing needs no lexer.
        from kina.frontend.lexer import paths_in, tokenize

        tokens = paths_in(tokenize(source, Report(source)))
        if source.path is not None:
            chain = [*chain, (source.path.resolve(), source)]
        wanted: list[int] = []
        for token in tokens:
            try:
                wanted.append(self._follow(token, source, chain))
            except KinaSyntaxError as error:
                self.problems += error.diagnostics
        self.files.append(source)
        self.imports.append(tuple(wanted))
        return len(self.files) - 1

    def _follow(self, token: Token, source: Source, chain: list[tuple[Path, Source]]) -> int:
        written = token.text[1:-1]
        if source.path is None or self.main.path is None:
            raise _refuse(source, token, "the import has no folder to start from", _NO_FOLDER)
        if not written or Path(written).is_absolute() or "\\" in written:
            help_ = 'write for example import "layers.kina", with `/` between folders'
            raise _refuse(source, token, "an import is a path relative to this file", help_)
        target = source.path.parent / written
        resolved = _resolved(target, token, source)
        root = self.main.path.resolve().parent
        if not resolved.is_relative_to(root):
            message = f"{written} is outside of the folder of the program, {root}"
            raise _refuse(source, token, message, "move it there, or the program further up")
        self._check_cycle(resolved, token, source, chain)
        if resolved in self.known:
            return self.known[resolved]
        name = os.path.normpath(Path(source.name).parent / written)
        if resolved.exists() and not (resolved.is_file() or resolved.is_dir()):
            # Reading a pipe or a device may never end.
            raise _refuse(source, token, f"{name} is no regular file")
        try:
            file = Source.read(target)
        except KinaSyntaxError:
            raise
        except KinaError as error:
            problem = error.diagnostics[0].message.partition(": ")[2]
            raise _refuse(source, token, f"{name}: {problem}", _like(target, written)) from None
        self._count(file, token, source)
        file.name = name
        self.known[resolved] = self.read(file, chain)
        return self.known[resolved]

    def _count(self, file: Source, token: Token, source: Source) -> None:
        self.size += len(file.text)
        if self.size > MAX_BYTES or len(self.known) >= MAX_FILES:
            limits = f"at most {MAX_BYTES} bytes in {MAX_FILES} files"
            raise _refuse(source, token, f"the program is too large, expected {limits}")

    def _check_cycle(
        self, resolved: Path, token: Token, source: Source, chain: list[tuple[Path, Source]]
    ) -> None:
        if len(chain) >= MAX_CHAIN:
            message = f"a chain of imports is longer than {MAX_CHAIN} files"
            raise _refuse(source, token, message)
        paths = [path for path, _ in chain]
        if resolved not in paths:
            return
        names = [file.name for _, file in chain[paths.index(resolved) :]]
        shown = " -> ".join([*names, names[0]])
        help_ = "put what both need into a third file"
        raise _refuse(source, token, f"the files import each other: {shown}", help_)


def _resolved(target: Path, token: Token, source: Source) -> Path:
    """Where a path leads in the end."""
    try:
        return target.resolve()
    except (OSError, RuntimeError):  # RuntimeError: what Python 3.11 and 3.12 say of such a loop
        raise _refuse(source, token, f"{target}: symbolic links lead in a circle") from None


def _like(target: Path, written: str) -> str | None:
    """The file beside a missing one that may be meant."""
    beside = [] if target.exists() else [path.stem for path in target.parent.glob("*.kina")]
    meant = get_close_matches(target.name.removesuffix(".kina"), sorted(beside), n=1)
    path = (Path(written).parent / f"{meant[0]}.kina").as_posix() if meant else None
    return f'did you mean import "{path}"?' if path else None


def _refuse(source: Source, token: Token, message: str, help: str | None = None) -> KinaSyntaxError:
    notes = () if help is None else (Note(help),)
    return KinaSyntaxError(Diagnostic(message, source.span(token.start, token.end), notes))
