"""Warnings: what stops nothing, and who hears of it."""

import pickle
import warnings
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

import kina
from kina.cli.main import main
from kina.errors import KinaTypeError, Severity
from kina.frontend.check import check
from kina.frontend.report import MAX_ERRORS
from kina.frontend.source import Source

DECAY = "let f = fn(x: tensor<BF16, [N]>) -> tensor<BF16, [N]> { x * 0.999 }"
WORDS = "1:61: warning: 0.999 becomes 1 in BF16"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "decay.kina"
    path.write_text(DECAY)
    return path


def run(*words: str | Path) -> tuple[object, str, str]:
    """The status and both outputs of the command."""
    output, errors = StringIO(), StringIO()
    with redirect_stdout(output), redirect_stderr(errors), pytest.raises(SystemExit) as leaving:
        main([str(word) for word in words])
    return leaving.value.code, output.getvalue(), errors.getvalue()


def test_a_warning_is_a_diagnostic() -> None:
    (found,) = check(Source("t.kina", DECAY)).warnings
    assert found.severity is Severity.WARNING
    assert found.render().splitlines() == [
        f"t.kina:{WORDS}",
        f"  1 | {DECAY}",
        "    | " + " " * 60 + "^~~~~",
        "  help: write 1 if that is meant; or compute in F32: .cast(F32)",
    ]


def test_literals_warn_value_by_value() -> None:
    text = "let f = fn() -> tensor<BF16, [3]> { tensor<BF16, [3]>(0.999, 0.5, -0.999) }"
    found = check(Source("t.kina", text)).warnings
    assert [problem.message for problem in found] == [
        "0.999 becomes 1 in BF16",
        "-0.999 becomes -1 in BF16",
    ]


def test_many_warnings_are_counted() -> None:
    text = DECAY.replace("x * 0.999", "x" + " * 0.999" * (MAX_ERRORS + 7))
    found = check(Source("t.kina", text)).warnings
    assert len(found) == MAX_ERRORS + 1
    assert found[-1].render() == "warning: t.kina: and 7 more warnings"


def test_an_error_beside_a_warning_is_an_error() -> None:
    with pytest.raises(KinaTypeError) as caught:
        check(Source("t.kina", DECAY.replace("{ x", "{ x * 0.999 + y")))
    assert [problem.severity for problem in caught.value.diagnostics] == [Severity.ERROR]


def test_python_is_warned_by_the_compiler_and_by_the_cache(program: Path) -> None:
    for _ in range(2):
        with pytest.warns(kina.KinaWarning, match=f"{program}:{WORDS}") as found:
            kina.load(program)
        (only,) = found
        assert only.filename == __file__


def test_a_filter_of_python_makes_it_an_exception() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", kina.KinaWarning)
        with pytest.raises(kina.KinaWarning) as caught:
            kina.compile(DECAY)
    assert caught.value.diagnostic.message == "0.999 becomes 1 in BF16"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_unpickling_does_not_warn_again() -> None:
    with pytest.warns(kina.KinaWarning):
        module = kina.compile(DECAY)
    assert list(pickle.loads(pickle.dumps(module))) == ["f"]


def test_the_command_prints_warnings(program: Path) -> None:
    status, output, errors = run("check", program)
    assert (status, output.splitlines()[0]) == (0, f"{program}: ok")
    assert errors.startswith(f"{program}:{WORDS}\n")
    status, _, errors = run("run", program, "--size", "N=2")
    assert status == 0
    assert errors.startswith(f"{program}:{WORDS}\n")


@pytest.mark.parametrize("command", ["check", "build", "run"])
def test_warnings_may_be_errors_or_nothing(command: str, program: Path, tmp_path: Path) -> None:
    library = tmp_path / "x.so"
    options = {"build": ["-o", str(library), "--target", "native"], "run": ["--size", "N=2"]}
    rest = options.get(command, [])
    status, output, errors = run(command, program, *rest, "-W", "error")
    assert (status, output) == (1, "")
    assert errors.startswith(f"{program}:{WORDS.replace('warning', 'error')}\n")
    assert not library.exists()
    status, _, errors = run(command, program, *rest, "-W", "ignore")
    assert (status, errors) == (0, "")
    assert library.exists() == (command == "build")
