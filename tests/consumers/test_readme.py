"""Runs what the README shows: its program, its Python, its C and its error."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    """The fenced block of a language with a text in it."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return next(text for text in found if containing in text)


def kina(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line, run in the project's folder as the README says."""
    command = [sys.executable, "-m", "kina.cli.main", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")


def test_the_first_program_is_the_example() -> None:
    shown = block("(?:kina)?", "let nll")
    lines = (ROOT / "examples/storylm0_nll.kina").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("//")] == shown.splitlines()


def test_the_layers_are_those_of_the_example() -> None:
    folder = ROOT / "examples/storylm0"
    programs = [(folder / f"{name}.kina").read_text() for name in ("layers", "storylm0_forward")]
    functions = block("kina", "let forward").strip().split("\n\n")
    assert len(functions) == 2
    for function, program in zip(functions, programs, strict=True):
        assert f"{function}\n" in program


def test_the_pretrained_layer_is_that_of_the_example() -> None:
    program = (ROOT / "examples/smollm2/f32.kina").read_text(encoding="utf-8")
    page = (ROOT / "docs/smollm2.md").read_text(encoding="utf-8")
    layer = block("kina", "gated(")
    assert layer in program
    assert layer in page


def test_the_python_runs_and_prints_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(block("python", "kina.load"), names)
    np.testing.assert_allclose(names["loss"], names["exact"], rtol=1e-6)  # pyright: ignore
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "[[2.0794415 2.0794415 2.0794415 2.0794415]]"
    assert printed[1].startswith("nll(logits: tensor<F32, [1, 4, 8]>, targets: ")


def test_the_c_program_compiles_without_a_warning_and_prints_what_it_says(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None, "Kina links with cc, so the tests need it as well"
    built = kina("build", "examples/storylm0_nll.kina", "-o", str(tmp_path / "libnll.so"))
    assert built.returncode == 0, built.stderr
    (tmp_path / "main.c").write_text(block("c", "int main"), encoding="utf-8")
    (line,) = re.findall(r"^    (cc .*main\.c.*) && \./main$", README, re.MULTILINE)
    command = [compiler, *shlex.split(line)[1:]]
    subprocess.run(command, cwd=tmp_path, check=True)
    # From any folder, and with the library moved along.
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("main", "libnll.so"):
        (tmp_path / name).rename(moved / name)
    done = subprocess.run([moved / "main"], capture_output=True, text=True, check=True)
    assert done.stdout == block("text", "status 0")


@pytest.mark.parametrize("file", ["invalid_axis_negative"])
def test_the_error_reads_as_shown(file: str) -> None:
    done = kina("check", f"examples/{file}.kina")
    assert done.returncode == 1
    assert block("text", file) in done.stderr


def test_libraries_have_the_sizes_that_it_says(tmp_path: Path) -> None:
    small, large = (
        re.search(pattern, README)
        for pattern in (
            r"fixed sizes has (\d+) to (\d+) KB",
            r"gradient together have about (\d+) KB",
        )
    )
    assert small is not None
    assert large is not None
    sizes = {}
    for name in ("storylm0_nll", "recipes/loss"):
        library = tmp_path / "library.so"
        built = kina("build", f"examples/{name}.kina", "-o", str(library))
        assert built.returncode == 0, built.stderr
        sizes[name] = library.stat().st_size / 1000
    assert int(small[1]) <= sizes["storylm0_nll"] <= int(small[2])
    assert sizes["recipes/loss"] == pytest.approx(int(large[1]), rel=0.15)
