"""The `kina` command: what it prints, and how it fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from helpers.command import EXAMPLES, NLL, fails, kina


def test_check() -> None:
    done = kina("check", NLL, EXAMPLES / "storylm0_greedy.kina")
    assert done.returncode == 0
    assert f"{NLL}: ok\n  nll(logits: tensor<F32, [1, 4, 8]>" in done.stdout
    assert "greedy(" in done.stdout


def test_check_reports_every_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.kina"
    bad.write_text("let f = fn(x: tensor<F64, [1]>) -> tensor<F64, [1]> { x }")
    done = kina("check", bad, NLL, tmp_path / "missing.kina")
    assert done.returncode == 1
    assert f"{bad}:1:22: error: " in done.stderr
    assert "missing.kina: cannot read the file" in done.stderr
    assert f"{NLL}: ok" in done.stdout


def awkward_files(folder: Path) -> dict[str, tuple[Path, str]]:
    """Files that are no programs, and what to say."""
    files = {
        "empty": (b"", "error: "),
        "blank": (b" \n// nothing\n", "error: "),
        "binary": (b"\x7fELF\x00\x01", "error: "),
        "latin": (b"// caf\xe9\n", "not UTF-8"),
        "large": (b"// x\n" * 2_000_000, "too large"),
        "truncated": (b"let f = fn(x", "error: "),
    }
    for name, (data, _) in files.items():
        (folder / f"{name}.kina").write_bytes(data)
    result = {name: (folder / f"{name}.kina", said) for name, (_, said) in files.items()}
    return {
        **result,
        "missing": (folder / "missing.kina", "No such file"),
        "folder": (folder, "Is a directory"),
        "device": (Path("/dev/full/x"), "Not a directory"),
        "endless": (Path("/dev/zero"), "too large"),
    }


@pytest.mark.parametrize("command", ["check", "emit", "build", "run", "bench"])
@pytest.mark.parametrize(
    "name",
    [
        "empty",
        "blank",
        "binary",
        "latin",
        "large",
        "truncated",
        "missing",
        "folder",
        "device",
        "endless",
    ],
)
def test_awkward_files(tmp_path: Path, command: str, name: str) -> None:
    path, said = awkward_files(tmp_path)[name]
    fails(kina(command, path, cwd=tmp_path), path.name, said)


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ("kina", "kina.log_softmax"),
        ("linalg", "linalg.generic"),
        ("schedule", "vector.load"),
        ("llvm", "i32 @kina_nll("),
        ("asm", "kina_nll:"),
    ],
)
def test_emit(stage: str, part: str) -> None:
    done = kina("emit", NLL, "--to", stage)
    assert done.returncode == 0, done.stderr
    assert part in done.stdout
    assert ("kina.log_softmax" in done.stdout) == (stage == "kina")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("run", "--help")])
def test_help(arguments: Sequence[str]) -> None:
    done = kina(*arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: kina")
    assert not done.stderr


@pytest.mark.parametrize("arguments", [("nonsense",), ("run",), ("emit", str(NLL), "--to", "x")])
def test_wrong_usage(arguments: Sequence[str]) -> None:
    fails(kina(*arguments))


@pytest.mark.parametrize(
    ("words", "said", "command"),
    [
        (["chekc"], "No such command 'chekc'. Did you mean 'check'?", "kina"),
        (["check"], "Missing argument 'FILE...'.", "kina check"),
        (["build", NLL, "--traget", "v3"], "No such option: --traget", "kina build"),
        (["run", NLL, "--fn"], "Option '--fn' requires an argument.", "kina run"),
        (["emit", NLL, "--to", "c"], "'c' is not one of 'kina', 'linalg',", "kina emit"),
    ],
)
def test_wrong_words_name_the_help_of_their_command(
    words: Sequence[str | Path], said: str, command: str
) -> None:
    fails(kina(*words), said, f"help: see {command} --help")


def test_check_needs_no_tools(tmp_path: Path) -> None:
    none = {"KINA_MLIR_OPT": str(tmp_path / "none"), "PATH": str(tmp_path)}
    assert kina("check", NLL, env=none).returncode == 0


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = kina("run", tmp_path / "missing.kina", env={"KINA_DEBUG": "1"})
    assert "Traceback" in done.stderr
    assert "KinaValueError" in done.stderr


def test_version(tmp_path: Path) -> None:
    done = kina("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"kina \d\S*, xdsl 0\.75\S*, LLVM version 22\.\S+\n", done.stdout)
    done = kina("--version", env={"KINA_MLIR_OPT": str(tmp_path / "none")})
    assert done.returncode == 0
    assert done.stdout.endswith(", no LLVM (kina doctor says more)\n")


def test_doctor(tmp_path: Path) -> None:
    done = kina("doctor")
    assert done.returncode == 0, done.stderr
    for part in ("mlir-opt: LLVM version 22", "llc", "cc", "xdsl", "cache", "everything is there"):
        assert part in done.stdout
    done = kina("doctor", env={"KINA_LLC": str(tmp_path / "none")})
    assert done.returncode == 1
    assert "llc not found" in done.stdout
    assert "missing: llc" in done.stdout
    assert not done.stderr
