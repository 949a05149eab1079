"""The front end in one call: text to typed program, or every error at once."""

from __future__ import annotations

from kina.errors import KinaSyntaxError, KinaTypeError
from kina.frontend.ast import Program
from kina.frontend.imports import LinkedSource, link
from kina.frontend.lexer import Token, tokenize
from kina.frontend.parser import parse
from kina.frontend.report import Report
from kina.frontend.requirements import report_broken
from kina.frontend.source import Source
from kina.frontend.typecheck import typecheck
from kina.frontend.typed import TypedProgram
from kina.garbage import seldom_collected
from kina.types import is_private


def check(source: Source) -> TypedProgram:
    """The typed program of `source`.

    Raises `KinaSyntaxError` with every place that does not follow the grammar, else
    `KinaTypeError` with every broken type rule.
    """
    with seldom_collected():
        return _check(source)


def _check(source: Source) -> TypedProgram:
    source = link(source)
    report = Report(source)
    files = parse_files(source, report)
    if report.failed:
        raise KinaSyntaxError(*report.diagnostics())
    typed = typecheck(files, imports_of(source), report)
    if not report.failed:
        report_broken(typed, report)
    if report.failed:
        raise KinaTypeError(*report.diagnostics())
    return typed


def parse_files(source: Source, report: Report) -> list[Program]:
    """The syntax tree of each file of a linked source; what cannot be parsed is left out."""
    return [
        parse(tokens, report, is_main=file is source.parts[-1][1])
        for tokens, (_, file) in zip(_tokens(source, report), source.parts, strict=True)
    ]


def imports_of(source: Source) -> tuple[tuple[int, ...], ...]:
    """Of each file of a linked source, which ones it imports."""
    return source.imports if isinstance(source, LinkedSource) else ((),)


def _tokens(source: Source, report: Report) -> list[list[Token]]:
    """The tokens of each file; private names that two files share are told apart."""
    files = [tokenize(file, report, base) for base, file in source.parts]
    if len(files) == 1:
        return files
    bound = [_private_names(tokens) for tokens in files]
    for number, tokens in enumerate(files[:-1]):
        others = set[str]().union(*(names for other, names in enumerate(bound) if other != number))
        shared = bound[number] & others
        if shared:
            files[number] = [
                token._replace(text=f"{token.text}.{number}") if token.text in shared else token
                for token in tokens
            ]
    return files


_HEADS = {("let", "fn"), ("let", "reverseMode"), ("type", "{")}
"""The first and the fourth token of what a file binds."""


def _private_names(tokens: list[Token]) -> set[str]:
    """The names of the private functions and records of a file."""
    heads = zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
    return {
        name.text
        for let, name, equals, word in heads
        if (let.text, word.text) in _HEADS and equals.text == "="
        if is_private(name.text)
    }
