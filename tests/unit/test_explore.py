"""`kina explore`: the page holds every stage, each line with the place that it comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kina.cli.main import main

ROWS = """\
// {{title}} & <b>
let double = fn(x: tensor<F32, [N, 8]>) -> tensor<F32, [N, 8]> {
  x + x
}
"""
PROGRAM = """\
import "rows.kina"
let nll = fn(logits: tensor<F32, [B, 300]>, targets: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -logits.log_softmax(axis=1).take_along_axis(targets, axis=1)
}
let _layer = fn(x: tensor<F32, [R, 8]>, w: tensor<F32, [8]>) -> tensor<F32, [R, 8]> {
  (x * w.reshape([1, 8]).broadcast([R, 8])).softmax(axis=1)
}
let layers = fn(x: tensor<F32, [2, 8]>, w: tensor<F32, [5, 8]>) -> tensor<F32, [2, 8]> {
  double(fold(_layer, x, over=[w]))
}
"""


class Page(HTMLParser):
    """The panes of a page: of each line its text, key and column; and of marked words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.panes: dict[str, list[tuple[str, str | None, str | None]]] = {}
        self.words: list[tuple[str, str | None]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        self._open.append(tag)
        if tag == "section":
            self.panes[found["data-title"] or ""] = []
        elif tag == "p" and self.panes:
            self._lines.append(("", found.get("data-k"), found.get("data-c")))
        elif tag == "b":
            self.words.append(("", found["data-c"]))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if "p" in self._open and self.panes:
            text, *place = self._lines[-1]
            self._lines[-1] = text + data, *place
        if self._open[-1:] == ["b"]:
            self.words[-1] = self.words[-1][0] + data, self.words[-1][1]
        if self._open[-1:] == ["script"] and not self.data:
            self.data = data

    @property
    def _lines(self) -> list[tuple[str, str | None, str | None]]:
        return list(self.panes.values())[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("explored ü")
    (made / "rows.kina").write_text(ROWS)
    (made / "program.kina").write_text(PROGRAM)
    return made


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    output = folder / "page.html"
    run("explore", folder / "program.kina", "-o", output, "--target", "x86-64-v3")
    return Page(output.read_text(encoding="utf-8"))


def run(*words: str | Path, status: int = 0) -> None:
    with pytest.raises(SystemExit) as leaving:
        main([str(word) for word in words])
    assert leaving.value.code == status


def keys(page: Page, pane: str) -> set[tuple[str | None, str | None]]:
    return {(key, column) for _, key, column in page.panes[pane] if key is not None}


def test_stages_side_by_side(page: Page) -> None:
    assert list(page.panes) == ["source", "kina IR", "linalg", "kernels", "assembly"]
    texts = {pane: "\n".join(text for text, _, _ in page.panes[pane]) for pane in page.panes}
    assert texts["source"] == PROGRAM + "\n" + ROWS
    for pane, expected in {
        "kina IR": "kina.log_softmax",
        "linalg": "linalg.generic",
        "kernels": "vector.load",
        "assembly": "vaddps",
    }.items():
        assert expected in texts[pane]
    for text in texts.values():
        assert "loc(" not in text
    for directive in (".cfi_", ".loc", ".file", ".debug"):
        assert directive not in texts["assembly"]


def test_places_of_one_operation_are_found_in_every_stage(page: Page) -> None:
    """The key is the number of a line through all files; those that are imported come first."""
    imported = len(ROWS.split("\n"))
    for line, word, length in (
        (imported + 2, "log_softmax", 2),
        (imported + 5, "softmax", 2),
        (2, "+", 1),
    ):
        text = (ROWS + "\n" + PROGRAM).split("\n")[line]
        place = str(line), str(text.index(word) + 1)
        for pane in ("kina IR", "linalg", "kernels", "assembly"):
            found = [text for text, *at in page.panes[pane] if tuple(at) == place]
            assert len(found) >= length or pane == "kina IR", (word, pane)
            assert found, (word, pane)
        assert (word, place[1]) in page.words
    known = {key for _, key, _ in page.panes["source"]}
    for pane in ("kina IR", "linalg", "kernels", "assembly"):
        assert {key for key, _ in keys(page, pane)} <= known


def test_lines_of_the_program_change_no_instruction(
    page: Page, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("emit", folder / "program.kina", "--to", "asm", "--target", "x86-64-v3")
    shown = [text.split("#")[0].split() for text, _, _ in page.panes["assembly"]]
    emitted = [line.split("#")[0].split() for line in capsys.readouterr().out.splitlines()]
    for unshown in (".cfi", ".p2align", ".type", ".size", ".globl", ".section", ".text", ".file"):
        emitted = [words for words in emitted if words and not words[0].startswith(unshown)]
    assert [words for words in shown if words] == emitted


def test_bytes(page: Page) -> None:
    functions: list[dict[str, Any]] = json.loads(page.data)
    found = {
        each["name"]: (
            {tuple(symbols): count for count, symbols in each["moved"]},
            {tuple(symbols): count for count, symbols in each["needed"]},
        )
        for each in functions
    }
    assert found["nll"] == (
        # Its rows are walked twice, for the maximum and for the sum, the indices to check them too.
        {("B",): 2 * 4 * 300 + 2 * 8 + 4, (): 1},
        {("B",): 4 * 300 + 8 + 4},
    )
    assert found["layers"] == (
        # Five layers, each of which walks x and w three times and writes; then in and out.
        {(): 5 * 4 * (3 * 16 + 3 * 8 + 16) + 2 * 64},
        {(): 4 * (16 + 40 + 16)},
    )
    assert set(found) == {"nll", "layers"}


def test_page_stands_alone(page: Page) -> None:
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe")
        assert not {"src", "href"} & set(attributes)
    policy = next(each for tag, each in page.tags if "http-equiv" in each)
    assert (policy["content"] or "").startswith("default-src 'none'")


def test_refusals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = folder / "program.kina"
    for words, message in (
        (["-"], "a program from the standard input has no name: give -o PAGE.html"),
        ([program, "-o", program], f"{program}: is the program itself"),
        ([program, "-o", folder], f"{folder}: is a folder"),
        ([program, "-o", folder / "x.html", "--target", "x86-64"], "holds several: choose one"),
    ):
        run("explore", *words, status=1)
        assert message in capsys.readouterr().err
    assert not (folder / "x.html").exists()
