"""Files that can and cannot be read, and places in them."""

from pathlib import Path

import pytest

from kina.errors import KinaError, KinaSyntaxError, KinaValueError
from kina.frontend.source import MAX_BYTES, Source


def read(path: Path) -> KinaError:
    with pytest.raises(KinaError) as caught:
        Source.read(path)
    return caught.value


def test_a_file_is_named_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ä b.kina").write_text("let", encoding="utf-8")
    source = Source.read("ä b.kina")
    assert (source.name, source.text) == ("ä b.kina", "let")


def test_a_byte_order_mark_moves_no_column(tmp_path: Path) -> None:
    file = tmp_path / "bom.kina"
    file.write_bytes(b"\xef\xbb\xbflet")
    source = Source.read(file)
    assert source.text == "let"
    assert source.span(0, 3).column == 1


def test_a_missing_file(tmp_path: Path) -> None:
    error = read(tmp_path / "none.kina")
    assert isinstance(error, KinaValueError)
    assert str(error).endswith("none.kina: cannot read the file: No such file or directory")


def test_a_directory(tmp_path: Path) -> None:
    assert "cannot read the file: Is a directory" in str(read(tmp_path))


def test_a_path_with_a_nul_character() -> None:
    with pytest.raises(KinaValueError, match=r"the path of the program is empty, expected that"):
        Source.read("")
    with pytest.raises(KinaValueError, match="cannot read the file: embedded null byte"):
        Source.read("a\0b.kina")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "latin.kina"
    file.write_bytes("let f\n// caf\xe9\n".encode("latin-1"))
    error = read(file)
    assert isinstance(error, KinaSyntaxError)
    assert ":2:7: error: not UTF-8 text: byte 0xe9 cannot be decoded" in str(error)


def test_a_binary_file(tmp_path: Path) -> None:
    file = tmp_path / "a.out"
    file.write_bytes(b"\x7fELF\0\0\0")
    error = read(file)
    assert isinstance(error, KinaSyntaxError)
    assert ":1:5: error: not a text file: it holds a NUL byte" in str(error)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    file = tmp_path / "large.kina"
    file.write_bytes(b" " * (MAX_BYTES + 1))
    error = read(file)
    assert isinstance(error, KinaValueError)
    assert f"too large for a program, expected at most {MAX_BYTES} bytes" in str(error)
    file.write_bytes(b" " * MAX_BYTES)
    assert len(Source.read(file).text) == MAX_BYTES


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("ab\ncd", (3, 5), (2, 1, 2, "cd")),
        ("ab\r\ncd\r\n", (5, 6), (2, 2, 1, "cd")),
        ("ab\ncd", (0, 5), (1, 1, 2, "ab")),
        ("ab\r\ncd", (0, 6), (1, 1, 2, "ab")),
        ("ab", (2, 2), (1, 3, 1, "ab")),
        ("ab\n", (3, 3), (2, 1, 1, "")),
        ("a\tb", (2, 3), (1, 3, 1, "a\tb")),
        ("", (0, 0), (1, 1, 1, "")),
        ("a\x1b[31mb\x85", (1, 2), (1, 2, 1, "a\ufffd[31mb\ufffd")),
    ],
)
def test_spans(text: str, place: tuple[int, int], expected: tuple[int, int, int, str]) -> None:
    span = Source("t.kina", text).span(*place)
    assert (span.line, span.column, span.width, span.line_text) == expected


def test_the_caret_stands_under_the_place_behind_tabs() -> None:
    _, marks = Source("t.kina", "\tx").span(1, 2).render().splitlines()
    assert marks == "    |     ^"


def test_of_a_long_line_only_a_piece_is_shown() -> None:
    text = "a" * 500 + "!" + "b" * 500
    line, marks = Source("t.kina", text).span(500, 501).render().splitlines()
    assert line[marks.index("^")] == "!"
    assert len(line) < 200
    assert line.count("…") == 2
