"""The files for editors agree with the language."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import kina
from kina.dtypes import DTYPES

ROOT = Path(__file__).parents[2]
VSCODE = ROOT / "tools/editors/vscode"


def scopes(text: str) -> list[tuple[str, str]]:
    """What the grammar's rules, which are of one line each, make of a text."""
    grammar: dict[str, Any] = json.loads((VSCODE / "syntaxes/kina.tmLanguage.json").read_text())
    found: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        rules = [
            (re.compile(rule["match"]).search(text, place), rule) for rule in grammar["patterns"]
        ]
        matched = [
            (match.start(), n, match, rule) for n, (match, rule) in enumerate(rules) if match
        ]
        if not matched:
            break
        _, _, match, rule = min(matched, key=lambda each: each[:2])
        captures = rule.get("captures", {"0": rule})
        found += [(match[int(group)], name["name"]) for group, name in captures.items()]
        place = match.end()
    return [(piece, scope.removesuffix(".kina")) for piece, scope in found]


def test_grammar() -> None:
    assert scopes('import "a.kina"') == [
        ("import", "keyword.control.import"), ('"a.kina"', "string.quoted.double")]  # fmt: skip
    assert scopes("let f = fn(x: tensor<F32, [N], @host>) // in")[:4] == [
        ("let", "keyword.declaration"), ("f", "entity.name.function"),
        ("=", "keyword.operator.assignment"), ("fn", "keyword.declaration")]  # fmt: skip
    assert ("// in", "comment.line.double-slash") in scopes("let f = fn(x) // in")
    assert ("F32", "support.type") in scopes("tensor<F32, [N]>")
    assert scopes("x.reduce(op=sum)")[0] == ("reduce", "entity.name.function.call")
    assert ("op", "variable.parameter") in scopes("x.reduce(op=sum)")
    assert ("1.5e-3", "constant.numeric") in scopes("x * 1.5e-3")
    assert scopes("a == b") == [("==", "keyword.operator")]


def test_grammar_knows_every_dtype() -> None:
    for name in DTYPES:
        assert scopes(name) == [(name, "support.type")]


def test_extension_is_of_this_version() -> None:
    package = json.loads((VSCODE / "package.json").read_text())
    assert package["version"] == kina.__version__
    paths = [package["main"], package["contributes"]["grammars"][0]["path"]]
    assert all((VSCODE / path).is_file() for path in paths)
    assert f"kina-{kina.__version__}.vsix" in (ROOT / "docs/editors.md").read_text()


def test_helix_snippet() -> None:
    page = (ROOT / "docs/editors.md").read_text()
    settings = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    assert settings["language-server"]["kina"] == {"command": "kina", "args": ["lsp"]}
