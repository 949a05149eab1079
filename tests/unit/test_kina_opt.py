"""`kina-opt`: whatever the input, one diagnostic with its place; whatever it prints, it reads."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from xdsl.utils.exceptions import ParseError

from helpers.kina_opt import ROOT, Done, fails, opt, opt_text
from kina.frontend.mlir_text import check_strings
from kina.frontend.source import Source

PLACED = re.compile(r"[^\n]+:\d+:\d+: error: ")

ADD = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n"


def deep(start: str, end: str, middle: str = "") -> str:
    return f'"test.x"() {{a = {start * 3000}{middle}{end * 3000}}} : () -> ()'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"' + "a" * 5000, ":1:1: error: the string has no end"),
        ('// "\n  "' + "a" * 5000 + '\n"', ":2:3: error: the string has no end"),
        ('"test.x"() {a = "' + "a" * 5000 + r"\q" + '"}', "error: no such escape"),
        ("%0 = linalg.fill x", "t.mlir:1:"),
        (
            "%0 = arith.constant 1 : i8\n%1 = tensor.empty() : tensor<i8>\n"
            "%2 = linalg.fill tensor<(%0 : i8) outs(%1 : tensor<i8>) -> tensor<i8>",
            "t.mlir:3:1: error: this is no valid operation: IndexError",
        ),
        ("builtin.module {" * 3000 + "}" * 3000, "nested too deeply"),
        (deep("[", "]"), "nested too deeply"),
        (deep("tuple<", ">", "i32"), "nested too deeply"),
        (deep("affine_map<(d0) -> (" + "(" * 3000, "", "d0"), "nested too deeply"),
        ("%0 = arith.constant dense<1.0> : tensor<9000000000000000xf32>", "memory"),
        ("%0 = arith.constant " + "9" * 6000 + " : i64", "t.mlir:1:1: error: "),
        ("func.func @f(%x: f32) -> i32 {\n  func.return %x : f32\n}", "t.mlir:2:3: error: "),
        ("func.func @f(", "t.mlir:1:14: error: "),
        ("", "t.mlir:1:1: error: "),
        (" \n// nothing\n", "t.mlir:3:1: error: "),
        (b"\x7fELF\x00\x01", "t.mlir:1:5: error: not a text file: it holds a NUL byte"),
        (b"func.func\xff", "t.mlir:1:10: error: not UTF-8 text: byte 0xff"),
        ("/" * 100_000, "error: "),
        ('""' * 10_000, "t.mlir:1:3: error: "),
    ],
)
def test_wrong_text(tmp_path: Path, text: str | bytes, said: str) -> None:
    done = opt_text(tmp_path, text, "--allow-unregistered-dialect")
    fails(done, said)
    assert PLACED.match(done.errors), done.errors
    assert max(map(len, done.errors.splitlines())) < 400


@pytest.mark.parametrize("text", [f"\ufeff{ADD}", ADD.replace("\n", "\r\n"), f"// é \x01\n{ADD}"])
def test_unusual_text(tmp_path: Path, text: str) -> None:
    assert opt_text(tmp_path, text).output == opt_text(tmp_path, ADD).output != ""


def test_place_in_a_later_part(tmp_path: Path) -> None:
    wrong = "func.func @g(%x: f32) -> i32 {\n  func.return %x : f32\n}\n"
    parts = f"{ADD}// -----\n{wrong}"
    fails(opt_text(tmp_path, parts, "--split-input-file"), "t.mlir:6:3: error: ")
    parts = f"{ADD}// -----\nfunc.func @g("
    fails(opt_text(tmp_path, parts, "--split-input-file"), "t.mlir:5:14: error: ")


def test_place_of_a_part_of_a_program(tmp_path: Path) -> None:
    good = "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x }\n"
    (tmp_path / "t.kina").write_text(f"{good}// -----\n{good.replace('{ x', '{ y')}")
    fails(opt(tmp_path / "t.kina", "--split-input-file"), "t.kina:3:55: error: ")


def test_place_of_what_a_pass_refuses(tmp_path: Path) -> None:
    done = opt_text(tmp_path, f"\n\n{ADD}", "--pass", "canonicalize", "--pass", "export-c")
    fails(done, "t.mlir:3:1: error: export-c: @f has no parameter_dims")


def test_ir_that_names_a_device(tmp_path: Path) -> None:
    """A message shows the line of a file, but never reads a device for it."""
    text = ADD.rstrip() + ' loc("/dev/zero":7:1)'
    fails(opt_text(tmp_path, text, "--pass", "export-c"), "/dev/zero:7:1: error: export-c")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["."], "no front end reads a file that ends in '.'"),
        (["a.txt"], "no front end reads a file that ends in '.txt'"),
        (["missing.mlir"], "missing.mlir: cannot read the file: No such file"),
        (["folder.mlir"], "folder.mlir: cannot read the file: Is a directory"),
        (["/dev/zero", "-f", "mlir"], "/dev/zero: the file is too large"),
        (["/dev/zero", "-f", "kina"], "/dev/zero: the file is too large"),
        (["a.mlir", "--pass", "inline"], "inline"),
        (["a.mlir", "--pass", "lower-kina{"], "error: "),
        (["a.mlir", "--pass", "lower-kina{fast}"], "error: "),
        (["a.mlir", "-o", "folder.mlir"], "folder.mlir: "),
        (["a.mlir", "-o", "nowhere/x.mlir"], "nowhere/x.mlir: cannot write"),
        (["a.mlir", "-o", "/dev/full"], "/dev/full: "),
        (["a.mlir", "-o", "/proc/x.mlir"], "/proc/x.mlir: cannot write"),
    ],
)
def test_wrong_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Sequence[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.mlir").mkdir()
    (tmp_path / "a.mlir").write_text(ADD)
    fails(opt(*words), said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mlir", "folder.mlir"]


@pytest.mark.parametrize("target", ["nowhere/x.mlir", "/dev/full", "."])
def test_output_has_no_place_in_the_program(target: str) -> None:
    """It is not the program that is wrong."""
    result = opt(ROOT / "examples" / "storylm0_nll.kina", "-o", target)
    fails(result, target)
    assert result.errors.startswith(f"error: {target}: ")
    assert "storylm0" not in result.errors


@pytest.mark.parametrize("words", [["--nope"], ["-o"], ["a", "b"], ["-t", "nope"], ["-f", "nope"]])
def test_wrong_options_show_no_list_of_all(words: Sequence[str]) -> None:
    result = opt(*words)
    fails(result, "--help")
    assert result.errors.count("\n") == 2


def test_functions_made_anew_keep_their_place(tmp_path: Path) -> None:
    """Text without locations: where the function was read."""
    text = ADD.replace(
        "func.return %x", "%y = kina.neg %x : tensor<2xf32> -> tensor<2xf32>\n  func.return %y"
    )
    done = opt_text(tmp_path, "// A line.\n" + text, "--pass", "lower-kina,assert-to-status")
    fails(done, "t.mlir:2:1: error: assert-to-status: @f returns tensors")


def test_dash_is_the_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = ROOT / "examples" / "storylm0_nll.kina"
    shown = opt(program, "-o", "-")
    assert "kina.log_softmax" in shown.output
    assert shown == opt(program)
    assert not list(tmp_path.iterdir())


def test_passes_add_up(tmp_path: Path) -> None:
    """In the order given, whichever spelling each has."""
    program = ROOT / "examples" / "storylm0_nll.kina"
    joined = opt(program, "-p", "decompose-kina,lower-kina,export-c")
    spellings = ["-p", "decompose-kina", "--pass=lower-kina", "--passes", "export-c"]
    assert opt(program, *spellings) == joined
    assert "func.func @kina_nll(" in joined.output
    wrong_order = opt(program, "--pass", "export-c", "--pass", "lower-kina")
    fails(wrong_order, "export-c: @nll has no parameter_dims")


def test_output_file(tmp_path: Path) -> None:
    """It is written at once and only if nothing failed, so that it may be the input."""
    path = tmp_path / "a.mlir"
    path.write_text(ADD)
    expected = opt(path).output
    assert opt(path, "-o", path) == Done(0, "", "")
    assert path.read_text() == expected
    fails(opt(path, "--pass", "export-c", "-o", path), "export-c")
    assert path.read_text() == expected
    assert opt(path, "-o", "-").output == expected
    assert opt(path, "-o", "/dev/null") == Done(0, "", "")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("streams", "status", "said"),
    [
        ("< a.mlir", 0, ""),
        ("- < a.mlir > out", 0, ""),
        ("a.mlir >&-", 0, ""),
        ("<&-", 1, "<stdin>: "),
        ("< /dev/zero", 1, "<stdin>: the file is too large"),
        ("a.mlir > /dev/full", 1, "the output: No space left"),
        ("missing.mlir 2>&-", 1, ""),
        ("missing.mlir 2> /dev/full", 1, ""),
    ],
)
def test_streams(tmp_path: Path, streams: str, status: int, said: str) -> None:
    (tmp_path / "a.mlir").write_text(ADD)
    command = f"'{sys.executable}' -m kina.cli.opt {streams}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert done.stderr.count("error: ") == bool(said)
    assert "Traceback" not in done.stderr


def test_closed_pipe(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(ADD)
    process = subprocess.Popen(
        [sys.executable, "-m", "kina.cli.opt", tmp_path / "a.mlir"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate()
    assert (process.returncode, errors) == (1, b"")


@pytest.mark.parametrize(
    "text", ["", "x", '"a"', r'"\"\\\n\t\0A"', '"a" // "\n"b"', '//"', '@"a//b" "c"', '/ / "//"']
)
def test_good_strings(text: str) -> None:
    check_strings(Source("t.mlir", text))


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ('"', 0),
        (' "a\n"', 1),
        (r'"a\"', 0),
        (r'"\x"', 1),
        (r'"\0"', 1),
        ('// "\n"', 5),
        ('"\v"', 0),
    ],
)
def test_bad_strings(text: str, start: int) -> None:
    with pytest.raises(ParseError) as caught:
        check_strings(Source("t.mlir", text))
    assert caught.value.span.start == start
