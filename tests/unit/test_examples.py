"""The examples do what they say: programs, their calls, the story, the demo, the validate tools."""

from __future__ import annotations

import doctest
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import kina
from kina.types import TensorType

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
INVALID = sorted(EXAMPLES.glob("invalid_*.kina"))
PROGRAMS = sorted(set(EXAMPLES.rglob("*.kina")) - set(INVALID))
OWN_TESTS = {"losses", "blocks", "sampling", "storylm0", "smollm2"}
CALLED = [path for path in PROGRAMS if path.parent.name not in OWN_TESTS]
"""Those with inputs from here; the others have tests of their own."""
ULP = float(np.finfo(np.float32).eps)

WRONG_PROGRAMS = {
    "nll": ("-logits.log", "logits.log"),
    "greedy": ("logits.reduce", "(-logits).reduce"),
    "sample": ("logits / t_b", "logits * t_b"),
}
"""By validate tool: a piece of its program, and what makes the program wrong."""


def by_name(path: Path) -> str:
    return path.stem


def make_input(type_: TensorType, random: np.random.RandomState) -> np.ndarray[Any, Any]:
    """An argument that every example admits: positive floats below 1, and indices 0 and 1."""
    shape = tuple(3 if isinstance(dim, str) else dim for dim in type_.dims)
    if type_.dtype.is_float:
        return random.uniform(0.05, 0.95, shape).astype(type_.dtype.numpy.split(".")[-1])
    return random.randint(0, 2, shape).astype(type_.dtype.numpy.split(".")[-1])


@pytest.mark.parametrize("path", CALLED, ids=by_name)
def test_programs_agree_with_their_reference(path: Path) -> None:
    module = kina.load(path)
    random = np.random.RandomState(1)
    for name in module:
        function = module[name]
        inputs = [make_input(parameter.type, random) for parameter in function.type.parameters]
        got, expected = function(*inputs), function.reference(*inputs)
        if not isinstance(got, tuple):
            got, expected = (got,), (expected,)
        for ours, theirs in zip(got, expected, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=4 * ULP, atol=1e-6)


@pytest.mark.parametrize("path", INVALID, ids=by_name)
def test_invalid_programs_are_refused_with_a_place(path: Path) -> None:
    with pytest.raises((kina.KinaTypeError, kina.KinaSyntaxError)) as refused:
        kina.load(path)
    spans = [diagnostic.span for diagnostic in refused.value.diagnostics]
    assert spans
    assert all(span is not None and span.file == str(path) for span in spans)


def test_the_calls_in_the_readme_print_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(EXAMPLES / "README.md"), module_relative=False, optionflags=flags)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_readme_names_every_example() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    missing = [path.name for path in PROGRAMS if path.name not in text]
    assert not missing


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the project with this Python, in the project's folder."""
    return subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        check=False,
    )


def test_the_demo_prints_the_same_twice(tmp_path: Path) -> None:
    cold, cached = (run("tools/demo.py", KINA_CACHE=str(tmp_path)) for _ in range(2))
    assert (cold.returncode, cold.stderr) == (0, "")
    assert cold.stdout == cached.stdout
    for line in ("8.000  uniform", "index out of range", "compared with NumPy"):
        assert line in cold.stdout


@pytest.mark.parametrize("option", ["--prompt=", "--context=0", "--temperature=0"])
def test_the_story_refuses_options_without_meaning(option: str) -> None:
    done = run("examples/story/tell.py", option)
    assert done.returncode == 2
    assert "expected a prompt" in done.stderr


def test_the_story_refuses_a_file_that_holds_no_logits(tmp_path: Path) -> None:
    small = tmp_path / "small.npy"
    np.save(small, np.zeros((3, 256), np.float32))
    for path, why in ((small, "[256, 256]"), (tmp_path / "none.npy", "No such file")):
        done = run("examples/story/tell.py", f"--logits={path}")
        assert done.returncode == 1
        assert why in done.stderr
        assert "Traceback" not in done.stderr
    assert run("examples/story/count.py", str(tmp_path / "none.txt")).returncode == 2


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLES / "story")
    return importlib.import_module("model")


def test_a_bigram_is_counted_as_it_says(story: ModuleType) -> None:
    text = b"abababac"
    model = story.count(text)
    assert (model.logits.shape, model.logits.dtype) == ((256, 256), np.float32)
    after_a = np.full(256, 1 / 256) + np.bincount(list(text), minlength=256)
    after_a *= story.PRIOR_WEIGHT / after_a.sum()
    after_a[[ord("b"), ord("c")]] += 3, 1
    np.testing.assert_allclose(model.logits[ord("a")], np.log(after_a), rtol=4 * ULP)


def test_the_row_is_that_of_the_longest_known_context(story: ModuleType) -> None:
    model = story.count(b"the heron and the mill", 3)
    assert model.row(b"said the") == model.rows[b"the"]
    assert model.row(b"xhe") == model.rows[b"he"]
    assert model.row(b"xyz") == ord("z")


def tool(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The validate tool of this name, as a module."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module(name)


@pytest.mark.parametrize("name", WRONG_PROGRAMS)
def test_validate_tools_find_a_wrong_program(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    right, wrong = WRONG_PROGRAMS[name]
    source = f"storylm0_{name}.kina"
    text = (EXAMPLES / source).read_text(encoding="utf-8")
    assert text.count(right) == 1
    (tmp_path / source).write_text(text.replace(right, wrong), encoding="utf-8")
    validate = tool(f"validate_{'argmax' if name == 'greedy' else name}", monkeypatch)
    monkeypatch.setattr(sys.modules["validation"], "EXAMPLES", tmp_path)
    with pytest.raises(sys.modules["validation"].Mismatch):
        validate.validate(0)


def test_validate_argmax_finds_the_higher_index_of_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    validate = tool("validate_argmax", monkeypatch)

    class LastWins:
        def call(self, function: str, logits: Any, tokens: Any) -> None:
            tokens[...] = 7 - np.argmax(logits[..., ::-1], axis=2)

    logits = np.arange(32, dtype=np.float32).reshape(1, 4, 8)
    validate.check(LastWins(), logits, None)
    logits[0, 2, 3] = logits.max()
    logits[0, 2, 5] = logits.max()
    with pytest.raises(sys.modules["validation"].Mismatch):
        validate.check(LastWins(), logits, None)


def test_validate_nll_finds_an_unchecked_index(monkeypatch: pytest.MonkeyPatch) -> None:
    validate = tool("validate_nll", monkeypatch)

    class Unchecked:
        def status(self, function: str, *arrays: Any) -> int:
            return 0

    with pytest.raises(sys.modules["validation"].Mismatch):
        validate.check_bad_index(Unchecked(), 0, 8)


def test_validate_nll_finds_a_written_input(monkeypatch: pytest.MonkeyPatch) -> None:
    validate = tool("validate_nll", monkeypatch)

    class Writes:
        def status(self, function: str, logits: Any, targets: Any, out: Any) -> int:
            targets[...] = 0
            return 1

    with pytest.raises(sys.modules["validation"].Mismatch):
        validate.check_bad_index(Writes(), 0, 8)
