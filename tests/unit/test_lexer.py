"""Tokens, their places, and text that is no token."""

import pytest

from kina.errors import Diagnostic
from kina.frontend.lexer import Token, TokenKind, tokenize
from kina.frontend.report import MAX_ERRORS, Report
from kina.frontend.source import Source


def lex(text: str) -> tuple[list[Token], list[Diagnostic]]:
    source = Source("t.kina", text)
    report = Report(source)
    return tokenize(source, report), list(report.diagnostics())


def texts(text: str) -> list[str]:
    tokens, problems = lex(text)
    assert not problems
    assert tokens[-1].kind is TokenKind.END
    return [token.text for token in tokens[:-1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("// only a comment", ""),
        ("a // comment\nb", "a b"),
        ("a\r\nb\tc", "a b c"),
        ("\ufeffa", "a"),
        ("a->b-c", "a -> b - c"),
        ("- >", "- >"),
        ("1 1.5 1e3 1.5e-3 2E+7 007", "1 1.5 1e3 1.5e-3 2E+7 007"),
        ("2.exp()", "2 . exp ( )"),
        ("x.log", "x . log"),
        ("_a1 A_", "_a1 A_"),
        ("tensor<F32,[1,B],@host>", "tensor < F32 , [ 1 , B ] , @ host >"),
        ("a*b/c+d=e:f", "a * b / c + d = e : f"),
        ("-2", "- 2"),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    assert texts(text) == expected.split()


def test_kinds() -> None:
    tokens, _ = lex("let x = 2 letx in fn tensor reverseMode")
    kinds = [token.kind for token in tokens]
    word, name, number, symbol = (
        TokenKind.KEYWORD,
        TokenKind.NAME,
        TokenKind.NUMBER,
        TokenKind.SYMBOL,
    )
    assert kinds == [word, name, symbol, number, name, word, word, word, word, TokenKind.END]


def test_the_end_stands_after_the_last_token() -> None:
    tokens, _ = lex("a b  \n\n // c\n")
    assert tokens[-1].extent == (3, 3)


@pytest.mark.parametrize(
    ("text", "column", "width", "message", "help_"),
    [
        ("a $", 3, 1, "unexpected `$`", None),
        ("a;", 2, 1, "unexpected `;`", "a binding ends with `in`"),
        ("# c", 1, 1, "unexpected `#`", "a comment starts with `//`"),
        ("x y\0", 4, 1, "unexpected character U+0000", None),
        ("é", 1, 1, "`é` is not a name: names are ASCII letters, digits and `_`", None),
        ("naïve", 1, 5, "`naïve` is not a name", None),
        ("x²", 1, 2, "`x²` is not a name", None),
        ("a \u2212 b", 3, 1, "unexpected `\u2212` U+2212 (MINUS SIGN)", "did you mean `-`?"),
        ("a\u00a0b", 2, 1, "U+00A0 (NO-BREAK SPACE)", "write a space"),
        ("a\u200bb", 2, 1, "U+200B (ZERO WIDTH SPACE)", None),
        ("a\ufeffb", 2, 1, "U+FEFF", None),
        ("\ud800", 1, 1, "U+D800", None),
        ("1_000", 1, 5, "`1_000` is not a number", "numbers are decimal"),
        ("0x1F", 1, 4, "`0x1F` is not a number", "numbers are decimal"),
        ("1e", 1, 2, "`1e` is not a number", None),
        ("1.5f", 1, 4, "`1.5f` is not a number", None),
        ("1.5.2", 1, 5, "`1.5.2` is not a number", None),
        ("a + 1. ", 5, 2, "`1.` is not a number", "write a digit after the point: 1.0"),
        (".5", 1, 2, "`.5` is not a number", "write a digit before the point: 0.5"),
        ("/* c */", 1, 2, "`/*` does not start a comment", "a comment starts with `//`"),
        ('a "b c" d', 3, 5, "there are no strings in Kina", "without quotes"),
        ('a "b c', 3, 4, "there are no strings in Kina", None),
        ("'b", 1, 2, "there are no strings in Kina", None),
    ],
)
def test_no_token(text: str, column: int, width: int, message: str, help_: str | None) -> None:
    tokens, problems = lex(text)
    first = problems[0]
    assert first.span is not None
    assert (first.span.line, first.span.column, first.span.width) == (1, column, width)
    assert message in first.message
    assert help_ is None or help_ in first.notes[0].message
    assert TokenKind.ERROR in [token.kind for token in tokens]


def test_errors_do_not_drown_the_reader() -> None:
    _, problems = lex("$" * 1000)
    assert len(problems) == MAX_ERRORS + 1
    assert problems[-1].message == f"t.kina: and {1000 - MAX_ERRORS} more errors"


def test_a_run_of_strange_characters_is_an_error_each() -> None:
    tokens, problems = lex("a $$§ b")
    assert [token.text for token in tokens] == ["a", "$$§", "b", ""]
    assert [problem.span.column for problem in problems if problem.span] == [3, 4, 5]
    _, problems = lex("a" + "$" * (MAX_ERRORS + 7))
    assert len(problems) == MAX_ERRORS + 1
    assert problems[-1].message == "t.kina: and 7 more errors"


def test_operators_of_two_signs_are_one_token() -> None:
    tokens, problems = lex("a==b!=c<=d>=e&&f||g!h = = i<j>k->l")
    signs = ["==", "!=", "<=", ">=", "&&", "||", "!", "=", "=", "<", ">", "->"]
    assert [token.text for token in tokens if not token.text.isalpha()][:-1] == signs
    assert problems == []


def test_half_an_operator_is_one_error_also_in_a_run() -> None:
    _, problems = lex("$&||&")
    assert [problem.message for problem in problems] == [
        "unexpected `$`",
        "unexpected `&`",
        "unexpected `&`",
    ]
    assert "x.bit_and(y)" in problems[1].render()
