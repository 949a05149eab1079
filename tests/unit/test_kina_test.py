"""`kina test`: examples beside the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina.cli.expectations import Equal, Fails, Hash, Random, expectations
from kina.cli.main import main
from kina.errors import KinaSyntaxError
from kina.frontend.source import Source

ROOT = Path(__file__).parents[2]
PROGRAM = """
type Pair = { a: tensor<F32, [N]>, b: tensor<I64, [N]> }
let add = fn(x: tensor<F32, [N]>, y: tensor<F32, [N]>) -> tensor<F32, [N]> { x + y }
let third = fn(x: tensor<F32, []>) -> (tensor<F32, []>, tensor<Bool, []>) { (x / 3, x > 0) }
let pick = fn(x: tensor<F32, [N]>, t: tensor<I64, [1]>) -> tensor<F32, [1]> {
  x.reshape([1, N]).take_along_axis(t, axis=1)
}
let swap = fn(p: Pair, K: size) -> Pair { Pair(b=p.b + 1, a=-p.a) }
let ones = fn(K: size) -> tensor<I32, [K]> { tensor<I32, [K]>(1) }
let bits = fn(x: tensor<F8E4M3, [N]>) -> tensor<F8E4M3, [N]> { x }
"""


def run(
    folder: Path, capsys: pytest.CaptureFixture[str], *tests: str
) -> tuple[object, str, list[str]]:
    """The exit status, the output, and the errors without their places."""
    path = folder / "p.kina"
    path.write_text(PROGRAM + "".join(f"// test: {test}\n" for test in tests))
    with pytest.raises(SystemExit) as leaving:
        main(["test", str(path)])
    output = capsys.readouterr()
    errors = [line for line in output.err.split("\n") if ": error: " in line]
    return leaving.value.code, output.out.strip(), [e.partition("error: ")[2] for e in errors]


def test_right_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = [
        "add([1, 2], [3, 4]) == [4, 6]",
        "add([1, inf], y=[nan, -inf]) == [nan, nan]",
        "add(random:1, 0, N=3) == [0.3456, 0.8216, 0.330]",
        "add(x=[1.5], y=1) == 2.5",
        "third(2) == (0.667, true)",
        "third(-2) == (-6.67e-1, false)",
        'pick([1, 2], 2) fails "index 2"',
        "swap({b: [1, 2], a: [0.5, 1]}, K=3) == {a: [-0.5, -1], b: [2, 3]}",
        "ones(3) == [1, 1, 1]",
        "ones(K=2) == 1",
        "bits([448, 0.0625]) == [448, 0.0625]",
        'ones(2) hash "64ed86b909d6d050"',
        "add(\n//   [1, 2],\n//   [1, 2]) == [2,\n// 4]",
    ]
    status, output, errors = run(tmp_path, capsys, *tests)
    assert not errors
    assert output.endswith(f"p.kina: {len(tests)} of {len(tests)} tests passed")
    assert status == 0


WRONG = {
    "add([1, 2], [3, 4]) == [4, 7]": "out is 6.0 at [1], expected 7",
    "third(2) == (0.666, true)": "out0 is 0.66",
    "third(2) == 0.667": "gives 2 results, expected 1",
    "add([1], [2]) == [3, 3]": "out has shape [1], expected [2]",
    'add([1], [2]) fails "index"': 'did not fail, expected an error with "index"',
    "pick([1, 2], 2) == 1": "failed: ",
    "add([1], [1, 2]) == 1": "failed: ",
    "add([1]) == 1": "no value for `y`",
    "add([1], z=[1]) == 1": "`z` is none of x, y, N",
    "add([1], [1], 2) == 1": "3 arguments, expected 2",
    "add(1, 1) == 1": "the size N is not known: give it by name, N=4",
    "add([[1], [1, 2]], 1) == 1": "a list whose items have different shapes is no tensor",
    "ones(2) == [[1], 1]": "what is expected is a list whose items have different shapes",
    "pick([1], 0.5) == 1": "`t`: 0.5 is no value of I64",
    "swap({a: [1]}, K=2) == 1": "`p` has the fields a, b",
    "swap([1], K=2) == 1": "`p` is a record",
    "swap({a: [1], b: [1]}, K=1) == {a: 1}": "no record with the fields a, b",
    'ones(2) hash "64ed86b909d6d051"': 'the hash is "64ed86b909d6d050", expected',
    'ones(2) hash ""': "the hash is",
    "none(1) == 1": "no function 'none' in this program",
}


def test_wrong_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output, errors = run(tmp_path, capsys, *WRONG)
    assert status == 1
    assert output.endswith(f"0 of {len(WRONG)} tests passed")
    for message in WRONG.values():
        assert any(message in error for error in errors), message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add", "expected `(`, found the end of the line"),
        ("add(1 2) == 3", "expected `,`, found `2`"),
        ("add(x=1, 2) == 3", "positional ones come first"),
        ("add(1) = 3", "expected `==`, `fails` or `hash`, found `=`"),
        ("add(1) == 3 4", "expected the end of the line, found `4`"),
        ("add(1) fails index", "expected a text in quotes, found `index`"),
        ("add(random:x) == 1", "expected a seed such as random:0, found `x`"),
        ("add([1, 2) == 1", "expected `,`, found `)`"),
        ("(1) == 1", "expected the name of a function, found `(`"),
        ("add(1.) == 1", "expected `,`"),
    ],
)
def test_unreadable_examples(text: str, message: str) -> None:
    with pytest.raises(KinaSyntaxError) as error:
        list(expectations(Source("p", f"// a\n// test: {text}\n")))
    assert message in str(error.value)
    assert str(error.value).startswith("p:2:")


def test_what_is_read() -> None:
    text = (
        '// test: f([1, -2.5e3], k={w: [], v: inf}, r=random:7) == ([1], 2)\n//test:g() fails "a"'
    )
    first, second = expectations(Source("p", text))
    assert (first.function, first.positional) == ("f", [["1", "-2.5e3"]])
    assert first.named == {"k": {"w": [], "v": "inf"}, "r": Random(7)}
    assert first.outcome == Equal([["1"], "2"])
    assert (second.function, second.outcome) == ("g", Fails("a"))
    (third,) = expectations(Source("p", '  // test: h(1) hash "ab"'))
    assert third.outcome == Hash("ab")
    assert not list(expectations(Source("p", "// tests: f(1)\n// a test: f(1)")))


def with_tests() -> dict[str, str]:
    """The examples that have tests, and the block of the page that shows them."""
    files = sorted((ROOT / "examples").rglob("*.kina"))
    page = (ROOT / "docs/language.md").read_text()
    blocks = [block.partition("\n```")[0] for block in page.split("```kina\n")[1:]]
    found = {str(path.relative_to(ROOT)): path.read_text() for path in files}
    found |= {f"page{number}": block for number, block in enumerate(blocks)}
    return {name: text for name, text in found.items() if "// test:" in text}


TESTED = with_tests()


@pytest.mark.parametrize("name", TESTED)
def test_the_examples_hold(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / name
    if not path.is_file():
        path = tmp_path / "page.kina"
        path.write_text(TESTED[name])
    with pytest.raises(SystemExit) as leaving:
        main(["test", str(path)])
    assert leaving.value.code == 0, capsys.readouterr().err


def test_examples_and_page_have_tests() -> None:
    assert sum(name.startswith("page") for name in TESTED) == 1
    assert len(TESTED) > 5


def test_program_without_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, capsys)[:2] == (0, f"{tmp_path}/p.kina: no tests")
