"""Runs the programs in docs/: what compiles, what is refused, and what the Python shows."""

import doctest
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kina

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.glob("*.md") if "\n```kina" in page.read_text("utf-8"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@dataclass(frozen=True)
class Block:
    """A fenced block of a page and the line of its first content."""

    page: Path
    kind: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page that have a language, in order."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([a-z ]+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(page, b[1], b[2], text.count("\n", 0, b.start()) + 2) for b in found]


def groups(kind: str, follower: str) -> list[Any]:
    """Each block of `kind` with the blocks of `follower` up to the next program.

    What stands before the first program of a page belongs to each. The tutorial has programs in
    files, and a test of its own.
    """
    pairs: list[tuple[Block, list[Block]]] = []
    for page in PAGES:
        before: list[Block] = []
        target = before
        for block in blocks(page):
            if block.kind.startswith("kina"):
                target = list(before)
                pairs.append((block, target))
            elif block.kind == follower:
                target.append(block)
    return [
        pytest.param(program, after, id=f"{program.page.stem}-line{program.line}")
        for program, after in pairs
        if program.kind == kind and (kind != "kina" or program.page.stem != "tutorial")
    ]


@pytest.mark.parametrize(("program", "after"), groups("kina", "python"))
def test_a_program_compiles_and_gives_what_the_page_shows(
    program: Block, after: list[Block]
) -> None:
    names = {
        "m": kina.compile(program.text, threads=False),
        "np": np,
        "ml_dtypes": ml_dtypes,
        "kina": kina,
    }
    for block in after:
        test = doctest.DocTestParser().get_doctest(
            block.text, names, f"{block.page.name}:{block.line}", str(block.page), block.line
        )
        said: list[str] = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
        assert test.examples
        assert not said, "".join(said)
        names.update(test.globs)


@pytest.mark.parametrize(("program", "after"), groups("kina error", "text"))
def test_a_refused_program_gives_the_errors_of_the_page(program: Block, after: list[Block]) -> None:
    with pytest.raises(kina.KinaError) as caught:
        kina.compile(program.text)
    shown = str(caught.value)
    position = 0
    assert len(after) == 1
    for line in after[0].text.splitlines():
        position = shown.find(line, position)
        assert position >= 0, f"{line!r} is not in (or not in this order):\n{shown}"


@pytest.mark.parametrize(
    ("name", "good", "bad"), [("language.md", 10, 7), ("autodiff.md", 5, 2), ("idioms.md", 8, 0)]
)
def test_a_page_has_both_kinds_of_examples(name: str, good: int, bad: int) -> None:
    kinds = [block.kind for block in blocks(DOCS / name)]
    assert kinds.count("kina") >= good
    assert kinds.count("kina error") >= bad


def test_the_site_shows_every_page() -> None:
    listed = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").split()
    missing = [page.name for page in DOCS.glob("*.md") if page.name not in listed]
    assert not missing
