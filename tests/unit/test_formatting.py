"""`kina fmt`: the layout, and that nothing but the layout changes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kina.cli.main import main
from kina.errors import KinaError, KinaSyntaxError
from kina.frontend.formatting.document import WIDTH
from kina.frontend.formatting.program import format_program
from kina.frontend.lexer import tokenize
from kina.frontend.report import Report
from kina.frontend.source import Source

ROOT = Path(__file__).parents[2]
HEAD = "let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {"
LONG = "a_name_of_many_letters_that_fills_the_line"

LAID_OUT = {
    "spaces": (
        "let f=fn( x:tensor<F32,[ N,2*M+1 ],@host> )->tensor<F32,[N]>{x*-2+(x)}",
        "let f = fn(x: tensor<F32, [N, 2 * M + 1], @host>) -> tensor<F32, [N]> { x * -2 + (x) }\n",
    ),
    "a body on its own line stays there": (HEAD + "\nx}", HEAD + "\n  x\n}\n"),
    "bindings have a line each": (
        HEAD + "let a=x in let (b,c)=g(a,axis=0) in !b&&c==1 }",
        HEAD + "\n  let a = x in\n  let (b, c) = g(a, axis=0) in\n  !b && c == 1\n}\n",
    ),
    "comments": (
        f"// top\n\n\n{HEAD} // head\n\n// a\nlet a=x in// b\n// last\na}} // end\n\n// tail",
        f"// top\n\n{HEAD}  // head\n\n  // a\n  let a = x in  // b\n  // last\n  a\n}}  // end\n\n"
        "// tail\n",
    ),
    "a comment where no line may begin moves on": (
        HEAD + "let /**/".replace("/**/", "// c\n") + "a = x in a }",
        HEAD + "\n  let a = x in\n  // c\n  a\n}\n",
    ),
    "long parameters": (
        f"let f = fn({LONG}: tensor<F32, [N]>, y: tensor<F32, [N]>, n: size,) -> L<D=4> {{ y }}",
        f"let f = fn(\n  {LONG}: tensor<F32, [N]>,\n  y: tensor<F32, [N]>,\n  n: size,\n"
        ") -> L<D=4> {\n  y\n}\n",
    ),
    "arguments on one line further in": (
        HEAD + f" let a = g({LONG}, {LONG}, x) in a }}",
        HEAD + f"\n  let a = g(\n    {LONG}, {LONG}, x\n  ) in\n  a\n}}\n",
    ),
    "arguments on lines of their own": (
        HEAD + f" g({LONG}, {LONG}, {LONG}) }}",
        HEAD + f"\n  g(\n    {LONG},\n    {LONG},\n    {LONG}\n  )\n}}\n",
    ),
    "operators begin a line": (
        HEAD + f" let a = {LONG} * {LONG} - {LONG} / {LONG} in a }}",
        HEAD + f"\n  let a =\n    {LONG} * {LONG}\n    - {LONG} / {LONG} in\n  a\n}}\n",
    ),
    "dots begin a line": (
        HEAD + f" {LONG}.reshape([B, T, H, 2 * R]).transpose([0, 2, 1, 3]).{LONG}(axis=1) }}",
        HEAD + f"\n  {LONG}.reshape([B, T, H, 2 * R])\n    .transpose([0, 2, 1, 3])\n    .{LONG}"
        "(axis=1)\n}\n",
    ),
    "inner bindings": (
        HEAD + " let a = let b = x in b in (let c = a in c) }",
        HEAD + "\n  let a =\n    let b = x in\n    b in\n  (let c = a in c)\n}\n",
    ),
    "literals fill their lines": (
        HEAD + "x + tensor<F32, [30]>(" + ", ".join(["-inf"] * 30) + ") }",
        HEAD + "\n  x\n    + tensor<F32, [30]>(\n      " + ", ".join(["-inf"] * 15) + ",\n      "
        + ", ".join(["-inf"] * 15) + "\n    )\n}\n",
    ),
    "records, imports, derivatives": (
        'import   "a b.kina"\ntype L={w:tensor<F32,[D]>,\n}let df=reverseMode(f,wrt=[p.w,x])',
        'import "a b.kina"\ntype L = { w: tensor<F32, [D]>, }\n'
        "let df = reverseMode(f, wrt=[p.w, x])\n",
    ),
    "a record on lines": ("type L = {\nw: M<D = 4> }", "type L = {\n  w: M<D=4>\n}\n"),
    "folds": (
        HEAD + " fold(f, init=x, over=[w , p.b], n=2).a }",
        HEAD + " fold(f, init=x, over=[w, p.b], n=2).a }\n",
    ),
    "line ends": ("\ufeff" + HEAD + "\r\n  x // c\r\n}\r\n", HEAD + "\n  x  // c\n}\n"),
    "nothing but comments": ("\n// a\n\n\n// b", "// a\n\n// b\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAID_OUT)
def test_layout(name: str) -> None:
    written, expected = LAID_OUT[name]
    assert format_program(Source("p", written)) == expected
    assert format_program(Source("p", expected)) == expected


def programs() -> dict[Path, str]:
    """The programs of the repository that can be parsed, laid out."""
    folders = [ROOT / name for name in ("examples", "benchmarks", "tests")]
    found: dict[Path, str] = {}
    for path in sorted(file for folder in folders for file in folder.rglob("*.kina")):
        try:
            found[path] = format_program(Source.read(path))
        except KinaSyntaxError:
            assert "invalid" in path.name or "errors" in path.parts, path
    return found


PROGRAMS = programs()
ERRORS = {path for path in PROGRAMS if "errors" in path.parts}


def test_the_repository_is_laid_out() -> None:
    """But for the tests of messages, which show lines as they are."""
    other = [path for path in PROGRAMS.keys() - ERRORS if path.read_text() != PROGRAMS[path]]
    assert not other, "run `kina fmt` on them"


def pieces(source: Source) -> tuple[list[str], list[str]]:
    """The tokens and the comments of a program, whatever stands between them."""
    tokens = [token.text for token in tokenize(source, Report(source))]
    lines = [line.partition("//") for line in source.text.split("\n")]
    return tokens, [f"//{comment}".strip() for _, slashes, comment in lines if slashes]


def scramble(source: Source, random_: random.Random) -> str:
    """The program with other spaces and with comments anywhere; its own comments stay."""
    tokens = tokenize(source, Report(source))
    out: list[str] = []
    end = 0
    for number, token in enumerate(tokens):
        gap = source.text[end : token.start]
        space = "".join(random_.choices([" ", "\n", "\t", f"// {number}\n"], [9, 3, 1, 1], k=2))
        out += [gap, space, token.text]
        end = token.end
    return "".join([*out, source.text[end:]])


@pytest.mark.parametrize("seed", range(4))
def test_only_the_layout_changes(seed: int) -> None:
    random_ = random.Random(seed)
    for path in random_.sample(sorted(PROGRAMS), 30):
        source = Source("p", scramble(Source.read(path), random_))
        text = format_program(source)
        assert pieces(Source("p", text)) == pieces(source)
        assert format_program(Source("p", text)) == text
        assert not [line for line in text.split("\n") if line != line.rstrip()]


def test_lines_are_short() -> None:
    """Only what has no place to break is longer: comments, types, names."""
    for path in PROGRAMS.keys() - ERRORS:
        for line in PROGRAMS[path].split("\n"):
            assert len(line) <= WIDTH or "//" in line, (path, line)


def test_deep_and_long_programs() -> None:
    deep = HEAD + " " + "(" * 250 + "x" + ")" * 250 + " }"
    assert format_program(Source("p", deep)).count("(") == 251
    long = HEAD + " x" + " + x" * 20_000 + " }"
    assert format_program(Source("p", long)).count("+ x\n") == 20_000


def run(*words: str | Path) -> object:
    with pytest.raises(SystemExit) as leaving:
        main([str(word) for word in words])
    return leaving.value.code


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".venv").mkdir()
    untidy, tidy, hidden = tmp_path / "a/u.kina", tmp_path / "t.kina", tmp_path / ".venv/h.kina"
    for path in (untidy, hidden):
        path.write_text(HEAD + "x}")
    untidy.chmod(0o640)
    tidy.write_text(HEAD + " x }\n")
    assert run("fmt", "--check", tmp_path) == 1
    assert capsys.readouterr().out == f"{untidy}: would be laid out anew\n"
    assert untidy.read_text() == HEAD + "x}"
    assert run("fmt", tmp_path) == 0
    assert capsys.readouterr().out == f"{untidy}: laid out anew\n"
    assert untidy.read_text() == tidy.read_text()
    assert untidy.stat().st_mode & 0o777 == 0o640
    assert hidden.read_text() == HEAD + "x}"
    assert run("fmt", "--check", tmp_path) == 0


def test_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "w.kina"
    wrong.write_text(HEAD + "x")
    assert run("fmt", wrong, tmp_path / "none.kina") == 1
    errors = capsys.readouterr().err
    assert "w.kina:1:55: error: expected an operator or `}`" in errors
    assert "none.kina: cannot read the file" in errors
    assert wrong.read_text() == HEAD + "x"
    (tmp_path / "empty").mkdir()
    assert run("fmt", "") == 1
    assert "the path of a program is empty" in capsys.readouterr().err
    assert run("fmt", tmp_path / "empty") == 1
    assert "no .kina file" in capsys.readouterr().err
    with pytest.raises(KinaError):
        format_program(Source("p", "let"))
