"""A program may lie in a folder of any name: calls, errors and the reference know its place."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import kina

PROGRAM = """\
let pick = fn(x: tensor<F32, [1, 3]>, i: tensor<I64, [1]>) -> tensor<F32, [1]> {
  x.take_along_axis(i, axis=1)
}
"""


@pytest.mark.parametrize("folder", ["two words", "Größe", 'a "quoted" one', 'é "both" \\'])
def test_a_failed_check_names_the_file(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "pick.kina"
    path.parent.mkdir()
    path.write_text(PROGRAM, encoding="utf-8")
    pick = kina.load(path).pick
    x = np.array([[1, 2, 3]], np.float32)
    for call in (pick, pick.reference):
        with pytest.raises(kina.KinaIndexError) as raised:
            call(x, np.array([3]))
        assert str(raised.value).startswith(f"{path}:2:")
        assert call(x, np.array([2])) == [3]


def test_a_name_need_not_be_utf_8(tmp_path: Path) -> None:
    """It is shown with escapes; in an ASCII locale, Python reads any `é` so."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.kina"))
    path.write_text(PROGRAM, encoding="utf-8")
    for pick in (kina.load(path).pick, kina.compile(PROGRAM, name=str(path)).pick):
        with pytest.raises(kina.KinaIndexError) as raised:
            pick(np.ones((1, 3), np.float32), np.array([3]))
        assert str(raised.value).startswith(f"{tmp_path}/\\udcff.kina:2:")


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\f", "\v", "\x1c", "\r"])
def test_only_line_feeds_end_a_line(character: str) -> None:
    pick = kina.compile(f"// {character} comment\n{PROGRAM}").pick
    with pytest.raises(kina.KinaIndexError) as raised:
        pick(np.ones((1, 3), np.float32), np.array([3]))
    assert "  3 |   x.take_along_axis(i, axis=1)" in str(raised.value)
