"""`%%kina`: the notebook of the examples, cell by cell, and what the magic takes and refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import kina

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples/notebooks").glob("*.ipynb"))
PROGRAM = "let twice = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x + x }"


class Notebook:
    """IPython's shell in a folder, within this process: no kernel, no sockets."""

    def __init__(self, folder: Path) -> None:
        settings = Config()
        settings.HistoryManager.enabled = False
        settings.InteractiveShell.colors = "nocolor"
        self._folder = folder
        self._shell = InteractiveShell(config=settings)
        self.last_error: BaseException | None = None

    def run(self, source: str) -> list[dict[str, Any]]:
        """What a cell gives, in the format of notebooks."""
        before = Path.cwd()
        os.chdir(self._folder)
        try:
            with capture_output() as said:
                done = self._shell.run_cell(source)
        finally:
            os.chdir(before)
        found = [stream(name, text) for name, text in (("stderr", said.stderr),) if text]
        error = done.error_before_exec or done.error_in_exec
        self.last_error = error
        if error is not None:
            return [*found, raised(error, said.stdout)]
        printed, mark, _ = said.stdout.rpartition("Out[")
        if not mark:
            printed = said.stdout
        found += [stream("stdout", printed)] if printed else []
        return [*found, shown(repr(done.result))] if mark else found


def stream(name: str, text: str) -> dict[str, Any]:
    """What a cell prints."""
    return {"name": name, "output_type": "stream", "text": text.splitlines(keepends=True)}


def shown(text: str) -> dict[str, Any]:
    """What a cell ends in."""
    data = {"text/plain": text.splitlines(keepends=True)}
    return {"data": data, "metadata": {}, "output_type": "execute_result"}


def raised(error: BaseException, said: str) -> dict[str, Any]:
    """An error as the shell has shown it."""
    name, lines = type(error).__name__, said.rstrip("\n").splitlines()
    return {"ename": name, "evalue": str(error), "output_type": "error", "traceback": lines}


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return Notebook(tmp_path)


@pytest.fixture
def shell(empty: Notebook) -> Notebook:
    assert empty.run("%load_ext kina") == []
    return empty


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_gives_what_it_shows(path: Path, empty: Notebook) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert sum("%%kina" in "".join(cell["source"]) for cell in cells) >= 2
    for cell in cells:
        found = empty.run("".join(cell["source"]))
        expected = [dict(output) for output in cell["outputs"]]
        for output in expected:
            assert output.pop("execution_count", 0) in (0, cell["execution_count"])
        assert found == expected
        refused = any(output["output_type"] == "error" for output in expected)
        assert refused == ("raises-exception" in cell["metadata"].get("tags", ()))


def test_functions_and_options(shell: Notebook, tmp_path: Path) -> None:
    (tmp_path / "twice.kina").write_text(PROGRAM)
    program = (
        'import "twice.kina"\nlet f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { twice(x) }'
    )
    assert shell.run(f"%%kina --as m --no-threads --plain --target x86-64-v2\n{program}") == []
    assert shell.run("import numpy as np\nf(np.ones(2, np.float32))") == [
        shown("array([2., 2.], dtype=float32)")
    ]
    assert shell.run("list(m)") == [shown("['f']")]
    assert shell.run("f.__doc__") == [shown(repr("f(x: tensor<F32, [2]>) -> tensor<F32, [2]>"))]


def test_warnings_are_shown_and_refuse_nothing(shell: Notebook) -> None:
    warned = "let g = fn(x: tensor<BF16, [2]>) -> tensor<BF16, [2]> { x * 0.999 }"
    (said,) = shell.run(f"%%kina\n{warned}")
    assert said["name"] == "stderr"
    assert said["text"][0] == "cell:2:61: warning: 0.999 becomes 1 in BF16\n"
    assert shell.run("g.type.name") == [shown("'g'")]


@pytest.mark.parametrize(
    ("cell", "kind", "message"),
    [
        ("%%kina --fast\n" + PROGRAM, "KinaValueError", "%%kina: unrecognized arguments: --fast"),
        ("%%kina --target z80\n" + PROGRAM, "KinaValueError", "z80"),
        ("%%kina\nlet f = fn", "KinaSyntaxError", "cell:2:11: error: "),
        ('%%kina\nimport "no.kina"', "KinaSyntaxError", "no.kina: cannot read the file"),
    ],
)
def test_a_mistake_is_shown_without_a_traceback(
    shell: Notebook, cell: str, kind: str, message: str
) -> None:
    (error,) = shell.run(cell)
    assert error["ename"] == kind
    assert message in error["traceback"][0]
    assert not any("Traceback" in line or ".py" in line for line in error["traceback"])
    kept: Any = shell.last_error
    assert isinstance(kept, getattr(kina, kind))
