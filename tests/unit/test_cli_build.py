"""`kina build`: what it writes, where, and what it refuses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from helpers.command import ADD, NLL, fails, kina, tool


def test_build_from_standard_input_needs_a_name(tmp_path: Path) -> None:
    fails(kina("build", "-", cwd=tmp_path), "give -o LIBRARY.so")
    assert not list(tmp_path.iterdir())


def test_build(tmp_path: Path) -> None:
    done = kina("build", NLL, "-o", "lib nll.so", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lib nll.h", "lib nll.so"]
    assert os.access(tmp_path / "lib nll.so", os.X_OK)
    assert "kina_nll: nll(" in done.stdout
    # Again, over the old one.
    assert kina("build", NLL, "-o", "lib nll.so", cwd=tmp_path).returncode == 0


def test_build_names_the_library_after_the_program(tmp_path: Path) -> None:
    assert kina("build", NLL, cwd=tmp_path).returncode == 0
    assert (tmp_path / "storylm0_nll.so").exists()


def test_build_in_an_awkward_folder(tmp_path: Path) -> None:
    """Spaces, quotes, a dollar and other scripts, under a C locale."""
    folder = tmp_path / "kina tést 漢 it's $HOME"
    folder.mkdir()
    path = folder / "añadir x.kina"
    path.write_text(ADD, encoding="utf-8")
    plain = {"LC_ALL": "C", "KINA_CACHE": str(folder / "caché"), "TMPDIR": str(folder)}
    done = kina("build", path.name, "-o", "bíb lio.so", cwd=folder, env=plain)
    assert done.returncode == 0, done.stderr
    assert (folder / "bíb lio.h").exists()
    done = kina("run", path.name, "--arg", "x=1", "--arg", "k=2", cwd=folder, env=plain)
    assert done.returncode == 0, done.stderr
    assert "[3. 3. 3. 3.]" in done.stdout


def test_build_prefix_and_target(tmp_path: Path) -> None:
    library = tmp_path / "l.so"
    done = kina("build", NLL, "-o", library, "--prefix", "mine_", "--target", "x86-64-v2")
    assert done.returncode == 0, done.stderr
    names = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in names.splitlines()] == ["mine_nll"]
    assert "int32_t mine_nll(\n    const float * /* logits" in (tmp_path / "l.h").read_text()


def test_single_target_holds_no_other_code(tmp_path: Path) -> None:
    library = tmp_path / "l.so"
    assert kina("build", NLL, "-o", library, "--target", "x86-64-v3").returncode == 0
    shown = subprocess.run(
        ["objdump", "-d", library], capture_output=True, text=True, check=True
    ).stdout
    assert "%ymm" in shown
    assert "%zmm" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "."], "is a folder"),
        (["-o", "nowhere/l.so"], "the folder nowhere does not exist"),
        (["-o", "l.h"], "this is where the header goes"),
        (["-o", "p.kina"], "is the program itself"),
        (["-o", "../{folder}/p.kina"], "is the program itself"),
        (["-o", "l.so", "--target", "avr"], "unknown target 'avr'"),
        (["-o", "l.so", "--prefix", "9"], "expected a C identifier"),
        (["-o", "l.so", "--prefix", "mall"], "'malloc', which is a name of the C library"),
        (["-o", "l.so", "--prefix", "_"], "C keeps names that start with '_' for itself"),
        (["-o", "l.so", "--prefix", "p" * 64], "has 64 characters, expected 63 at most"),
        (["-o", "l.so", "--function", "co"], "it has: oc"),
        (["-o", "/proc/l.so"], "/proc/l.so: cannot write"),
    ],
)
def test_wrong_build(tmp_path: Path, arguments: Sequence[str], said: str) -> None:
    path = tmp_path / "p.kina"
    path.write_text("let oc = fn(x: tensor<F32, []>) -> tensor<F32, []> { x }")
    words = [argument.replace("{folder}", tmp_path.name) for argument in arguments]
    fails(kina("build", path, *words, cwd=tmp_path), said)
    assert [item.name for item in tmp_path.iterdir()] == ["p.kina"]
    assert path.read_text().startswith("let oc")


@pytest.mark.parametrize("name", ["l.so", "l.h"])
def test_build_replaces_regular_files_only(tmp_path: Path, name: str) -> None:
    """A rename over a device would take it away from the whole machine, if root asks for it."""
    os.mkfifo(tmp_path / name)
    fails(kina("build", NLL, "-o", "l.so", cwd=tmp_path), f"{name}: is not a regular file")
    assert [item.name for item in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).is_fifo()


@pytest.mark.parametrize("command", ["run", "build"])
def test_missing_tools(tmp_path: Path, command: str) -> None:
    env = {"KINA_CACHE": str(tmp_path / "cache")}
    missing = {**env, "KINA_MLIR_OPT": str(tmp_path / "none")}
    fails(kina(command, NLL, env=missing, cwd=tmp_path), "mlir-opt not found", "pip install")
    old = {**env, "KINA_MLIR_OPT": tool(tmp_path, "mlir-opt", "echo LLVM version 14.0.6")}
    fails(kina(command, NLL, env=old, cwd=tmp_path), "is LLVM version 14.0.6", "LLVM 22 is needed")
    without_cc = {**env, "PATH": str(tmp_path / "empty"), "KINA_ZIG": str(tmp_path / "none")}
    fails(kina(command, NLL, env=without_cc, cwd=tmp_path), "cc not found", "apt-get install gcc")
    broken = {**env, "KINA_CC": tool(tmp_path, "cc", "echo 'ld: no' >&2; exit 3")}
    fails(kina(command, NLL, env=broken, cwd=tmp_path), "cc failed (exit status 3)", "ld: no")
    assert not list(tmp_path.glob("*.so"))
    assert not list((tmp_path / "cache").iterdir())
