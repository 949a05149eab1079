"""A program's text in the one layout."""

from __future__ import annotations

from kina.errors import KinaSyntaxError
from kina.frontend.formatting.comments import attach, comments_of
from kina.frontend.formatting.document import render
from kina.frontend.formatting.layout import Layout
from kina.frontend.lexer import Token, tokenize
from kina.frontend.parser import parse
from kina.frontend.report import Report
from kina.frontend.source import Source


def format_program(source: Source) -> str:
    """The program with the same tokens and comments, laid out anew; its types are not looked at.

    Raises `KinaSyntaxError` for a text that cannot be parsed.
    """
    tokens = _parsed(source)
    layout = Layout(source.text, tokens)
    document = layout.program()
    text = render(document, attach(source.text, tokens, layout.places)).strip("\n") + "\n"
    _check_same(source, tokens, text)
    return text


def _parsed(source: Source) -> list[Token]:
    report = Report(source)
    tokens = tokenize(source, report)
    parse(tokens, report, is_main=False)
    if report.failed:
        raise KinaSyntaxError(*report.diagnostics())
    return tokens


def _check_same(source: Source, tokens: list[Token], text: str) -> None:
    """A layout that loses something must never reach a file."""
    result = Source(source.name, text)
    again = tokenize(result, Report(result))
    assert [token.text for token in again] == [token.text for token in tokens]
    assert _comments(text, again) == _comments(source.text, tokens)


def _comments(text: str, tokens: list[Token]) -> list[str]:
    starts = [0, *(token.end for token in tokens[:-1])]
    ends = [*(token.start for token in tokens[:-1]), len(text)]
    gaps = zip(starts, ends, strict=True)
    return [each for start, end in gaps for each in comments_of(text[start:end])]
