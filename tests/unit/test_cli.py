"""The `kina` command: what it prints, where it writes, and how it fails."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from kina.cli.main import main
from kina.cli.npy import read_npy
from kina.errors import KinaValueError

COMMAND = (sys.executable, "-m", "kina.cli.main")
EXAMPLES = Path(__file__).parents[2] / "examples"
NLL = EXAMPLES / "storylm0_nll.kina"
ADD = "let f = fn(x: tensor<F32, [N]>, k: tensor<I8, [N]>) -> tensor<F32, [N]> { x + k.cast(F32) }"


class Done(NamedTuple):
    """How a run ended."""

    returncode: object
    stdout: str
    stderr: str


def kina(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Done:
    """Run the command: here, or where the environment matters in a process of its own."""
    words = [str(argument) for argument in arguments]
    if env is not None:
        return kina_process(words, cwd, env)
    output, errors = StringIO(), StringIO()
    with chdir(cwd or "."), redirect_stdout(output), redirect_stderr(errors):
        try:
            main(words)
        except SystemExit as leaving:
            return Done(leaving.code, output.getvalue(), errors.getvalue())
    raise AssertionError("main returned")


def kina_process(words: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> Done:
    done = subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "KINA_DEBUG": "", **env},
        check=False,
        timeout=120,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def fails(done: Done, *parts: str) -> None:
    """The run failed with one diagnostic that says all of `parts`."""
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error: ") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "add.kina"
    path.write_text(ADD)
    return path


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


def test_run_is_reproducible_and_verified() -> None:
    first, second = kina("run", NLL, "--verify"), kina("run", NLL, "--verify")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert "F32 [1, 4]:" in first.stdout
    assert "the NumPy reference gives the same" in first.stdout
    other = kina("run", NLL, "--arg", "logits=random:1")
    assert other.stdout != first.stdout


def test_run_draws_legal_indices(tmp_path: Path) -> None:
    """Also through a call and a broadcast; every seed works."""
    path = tmp_path / "take.kina"
    path.write_text(
        """
        let take = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {
          x.take_along_axis(t, axis=1)
        }
        let g = fn(x: tensor<F32, [B, 2]>, one: tensor<I64, [1]>, table: tensor<F32, [V, D]>,
                   ids: tensor<I64, [B]>) -> (tensor<F32, [B]>, tensor<F32, [B, D]>) {
          (take(x, one.broadcast([B])), table.gather(ids))
        }
        """
    )
    for seed in range(4):
        done = kina(
            "run",
            path,
            "--arg",
            f"one=random:{seed}",
            "--arg",
            f"ids=random:{seed}",
            "--size",
            "B=50",
            "--size",
            "V=3",
            "--verify",
        )
        assert done.returncode == 0, done.stderr


def test_run_on_files_and_numbers(program: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1.5, 2.5], np.float32))
    out = tmp_path / "out" / "deep"
    done = kina("run", program, "--arg", f"x={tmp_path / 'x.npy'}", "--arg", "k=-3", "-o", out)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(out / "f.npy"), [-1.5, -0.5])


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F8E4M3", "F8E5M2", "I4"])
def test_run_saves_and_loads_small_dtypes(tmp_path: Path, dtype: str) -> None:
    """NumPy's files keep their bytes, not their dtype."""
    path = tmp_path / "f.kina"
    path.write_text(f"let f = fn(x: tensor<{dtype}, [2]>) -> tensor<{dtype}, [2]> {{ -x }}")
    assert kina("run", path, "--arg", "x=3", "-o", tmp_path).returncode == 0
    done = kina("run", path, "--arg", f"x={tmp_path / 'f.npy'}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace(".", "").endswith("\n[3 3]\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fn", "g"], "no function 'g'"),
        (["--arg", "y=1"], "no 'y' here"),
        (["--arg", "x"], "expected NAME=VALUE"),
        (["--arg", "x=abc"], "expected a number for F32"),
        (["--arg", "k=1.5"], "expected a number for I8"),
        (["--arg", "k=300"], "I8 does not hold this number"),
        (["--arg", "x=random:one"], "the seed is 'one'"),
        (["--arg", "x=nowhere.npy"], "No such file"),
        (["--arg", "x=add.npy"], "cannot read the array"),
        (["--arg", "x=wide.npy"], "expected dtype float32"),
        (["--size", "N=-1"], "at least 0"),
        (["--size", "N=4611686018427387904"], "'x' of shape [4611686018427387904] is too large"),
        (["--size", f"N={10**24}", "--arg", "x=3"], "is too large"),
        (["--size", f"N={'9' * 5000}"], "is too large"),
        (["--size", "M=2"], "no 'M' here"),
        (["--size", "N=3", "--size", "N=4"], "--size N: is given twice, as 3 and 4"),
        (["--arg", "x=1", "--arg", "x=random:1"], "--arg x: is given twice, as 1 and random:1"),
        (["--arg", "x=1e60"], "F32 does not hold this number, the nearest that it does is inf"),
        (["--arg", "x=-1e-60"], "F32 does not hold this number, the nearest that it does is -0.0"),
        (["--arg", f"x=random:{'9' * 5000}"], "expected a number of at most 19 digits"),
        (["--arg", "x=archive.npy"], "it is an .npz archive"),
        (["--arg", "x=archive.npz"], "it is an .npz archive"),
        (["--arg", "x=empty.npy"], "it is not a .npy file"),
        (["--arg", "x=folder.npy"], "Is a directory"),
        (["--arg", "x=/dev/full/x.npy"], "Not a directory"),
        (["--arg", "x=three.npy", "--size", "N=4"], "'N' is 3 in parameter 'x' and 4"),
        (["-o", "add.npy"], "cannot make the folder"),
        (["--nonsense"], "No such option"),
    ],
)
def test_wrong_arguments_of_run(program: Path, arguments: Sequence[str], said: str) -> None:
    (program.parent / "add.npy").write_text("text")
    (program.parent / "empty.npy").touch()
    (program.parent / "folder.npy").mkdir()
    np.savez(program.parent / "archive.npz", x=np.zeros(3, np.float32))
    shutil.copy(program.parent / "archive.npz", program.parent / "archive.npy")
    np.save(program.parent / "wide.npy", np.zeros(3))
    np.save(program.parent / "three.npy", np.zeros(3, np.float32))
    fails(kina("run", program.name, *arguments, cwd=program.parent), said)


NPY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
NPY = NPY.ljust(127) + b"\n" + np.arange(4, dtype=np.float32).tobytes()
DAMAGED = {
    "early end": NPY[:-1],
    "no data": NPY[:128],
    "half a header": NPY[:60],
    "no header": NPY[:8],
    "no version": NPY[:6],
    "unknown version": NPY.replace(b"\x01\x00", b"\x09\x00", 1),
    "no literal": NPY.replace(b"'descr'", b"'descr\0", 1),
    "syntax": NPY.replace(b"{", b"(", 1),
    "no key": NPY.replace(b"shape", b"shade", 1),
    "no shape": NPY.replace(b"(4,)", b"'44'", 1),
    "negative": NPY.replace(b"(4,)", b"(-4,)", 1),
    "huge": NPY.replace(b"(4,), }               ", b"(9999999999999999,), }", 1),
    "long header": NPY[:8] + b"\xff\xff" + NPY[10:60] + b" " * 70_000,
    "objects": NPY.replace(b"<f4", b"|O8", 1),
    "no dtype": NPY.replace(b"<f4", b"abc", 1),
    "latin": NPY.replace(b"descr", b"d\xe9scr", 1),
}


def test_good_npy(program: Path) -> None:
    """What the damaged ones are made of; bytes after the data are nobody's."""
    (program.parent / "x.npy").write_bytes(NPY + b"more")
    done = kina("run", program, "--arg", f"x={program.parent / 'x.npy'}", "--arg", "k=0")
    assert "[0. 1. 2. 3.]" in done.stdout


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_npy(program: Path, name: str) -> None:
    assert DAMAGED[name] != NPY
    (program.parent / "x.npy").write_bytes(DAMAGED[name])
    done = kina("run", program.name, "--arg", "x=x.npy", cwd=program.parent)
    fails(done, "--arg x=x.npy: cannot read the array: the .npy file is damaged")
    assert "pickle" not in done.stderr


@pytest.mark.sweep
def test_mutated_npy(tmp_path: Path) -> None:
    """An array, or words of our own."""
    path, seeded = tmp_path / "x.npy", random.Random(0)
    for _ in range(2000):
        data = bytearray(NPY)
        for _ in range(seeded.randint(1, 4)):
            data[seeded.randrange(len(data))] = seeded.randrange(256)
        path.write_bytes(data[: seeded.choice([len(data), seeded.randrange(len(data))])])
        with suppress(KinaValueError):
            assert isinstance(read_npy(path), np.ndarray)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("inf", "[inf"), ("-inf", "[-inf"), ("nan", "[nan"), ("1e38", "[1.e+38"), ("-0.0", "[-0.")],
)
def test_numbers_that_floats_hold(tmp_path: Path, text: str, shown: str) -> None:
    path = tmp_path / "f.kina"
    path.write_text("let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x }")
    done = kina("run", path, "--arg", f"x={text}")
    assert (done.returncode, done.stderr) == (0, "")
    assert shown in done.stdout


def test_numbers_that_small_floats_do_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "f.kina"
    path.write_text("let f = fn(x: tensor<F8E4M3, [2]>) -> tensor<F8E4M3, [2]> { x }")
    assert kina("run", path, "--arg", "x=448").returncode == 0
    for text in ("1e3", "inf", "1e-5"):
        fails(kina("run", path, "--arg", f"x={text}"), "F8E4M3 does not hold this number")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "-"], "<stdin>: ok\n  f(x: tensor<F32, [N]>"),
        (["emit", "-", "--to", "kina"], "kina.add"),
        (["run", "-", "--arg", "x=1", "--arg", "k=2"], "[3. 3. 3. 3.]"),
        (["bench", "-", "--repeat", "1"], "Kina is "),
        (["build", "-", "-o", "l.so"], "kina_f: f("),
    ],
)
def test_program_from_standard_input(tmp_path: Path, words: Sequence[str], said: str) -> None:
    def with_input(text: str) -> Done:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=tmp_path,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    # A file of that name is none of its business.
    (tmp_path / "-").write_text("wrong")
    (tmp_path / "l.so").touch()
    done = with_input(ADD)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout
    fails(with_input(ADD.replace("x +", "y +")), "<stdin>:1:", "`y`")
    fails(with_input(""), "error: ")


def test_build_from_standard_input_needs_a_name(tmp_path: Path) -> None:
    fails(kina("build", "-", cwd=tmp_path), "give -o LIBRARY.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("streams", "status", "said"),
    [
        ("check - <&-", 1, "<stdin>: cannot read the standard input: it is closed"),
        ("check - < /dev/zero", 1, "<stdin>: the file is too large"),
        ("check missing.kina 2>&-", 1, ""),
        ("check missing.kina 2> /dev/full", 1, ""),
        ("nonsense 2>&-", 1, ""),
        ("check add.kina >&-", 0, ""),
        ("--help >&-", 0, ""),
        ("--help > /dev/full", 1, "the output: No space left"),
        ("check add.kina > /dev/full", 1, "the output: No space left"),
    ],
)
def test_streams(program: Path, streams: str, status: int, said: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m kina.cli.main {streams}"],
        cwd=program.parent,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert done.stderr.count("error: ") == bool(said)
    assert "Traceback" not in done.stderr


def test_output_that_an_encoding_does_not_have(tmp_path: Path) -> None:
    """Escaped, as Python does on the standard error."""
    (tmp_path / "é.kina").write_text(ADD)
    done = kina("check", "é.kina", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("\\xe9.kina: ok")


def test_run_reports_a_bad_index() -> None:
    fails(
        kina("run", NLL, "--arg", "targets=8"),
        "storylm0_nll.kina:",
        "take_along_axis: index 8 at [0, 0]",
        "0 .. 7",
        "^",
    )


@pytest.mark.parametrize("arguments", [(), ("--help",), ("run", "--help")])
def test_help(arguments: Sequence[str]) -> None:
    done = kina(*arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: kina")
    assert not done.stderr


@pytest.mark.parametrize("arguments", [("nonsense",), ("run",), ("emit", str(NLL), "--to", "x")])
def test_wrong_usage(arguments: Sequence[str]) -> None:
    fails(kina(*arguments))


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


def tool(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("command", ["run", "build"])
def test_missing_tools(tmp_path: Path, command: str) -> None:
    env = {"KINA_CACHE": str(tmp_path / "cache")}
    missing = {**env, "KINA_MLIR_OPT": str(tmp_path / "none")}
    fails(kina(command, NLL, env=missing, cwd=tmp_path), "mlir-opt not found", "pip install")
    old = {**env, "KINA_MLIR_OPT": tool(tmp_path, "mlir-opt", "echo LLVM version 14.0.6")}
    fails(kina(command, NLL, env=old, cwd=tmp_path), "is LLVM version 14.0.6", "LLVM 22 is needed")
    without_cc = {**env, "PATH": str(tmp_path / "empty")}
    fails(kina(command, NLL, env=without_cc, cwd=tmp_path), "cc not found", "apt-get install gcc")
    broken = {**env, "KINA_CC": tool(tmp_path, "cc", "echo 'ld: no' >&2; exit 3")}
    fails(kina(command, NLL, env=broken, cwd=tmp_path), "cc failed (exit status 3)", "ld: no")
    assert not list(tmp_path.glob("*.so"))
    assert not list((tmp_path / "cache").iterdir())


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


def test_closed_pipe() -> None:
    process = subprocess.Popen(
        [*COMMAND, "emit", NLL, "--to", "asm"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=120)
    assert errors == b""
    assert process.returncode == 1


def test_closed_output() -> None:
    """As by `kina check FILE >&-`."""
    words = [*COMMAND, "check", str(NLL)]
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *words], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "emit", NLL, "--to", "kina"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "package"), [("kina", "typer"), ("kina_opt", "xdsl")])
def test_interrupt_while_it_starts(tmp_path: Path, command: str, package: str) -> None:
    """Ctrl-C while a command is imported: here, by what it imports."""
    (tmp_path / f"{package}.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"from kina.cli.start import {command}; {command}()"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=False,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("command", ["kina", "kina_opt"])
def test_interrupt_while_it_waits_for_input(command: str) -> None:
    words = ["check", "-"] if command == "kina" else []
    process = subprocess.Popen(
        [sys.executable, "-c", f"from kina.cli.start import {command}; {command}()", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdin is not None
    # More than a pipe holds: when it has gone, the command reads.
    process.stdin.write(b"// x\n" * 100_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


def test_commands_start_where_interrupts_are_quiet() -> None:
    scripts = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"kina": "kina.cli.start:kina", "kina-opt": "kina.cli.start:kina_opt"}


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C while a tool runs ends quietly with 130."""
    started = tmp_path / "started"
    slow = tool(tmp_path, "cc", f"touch '{started}'; exec sleep 60")
    process = subprocess.Popen(
        [*COMMAND, "run", NLL],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "KINA_CC": slow, "KINA_CACHE": str(tmp_path / "cache")},
        start_new_session=True,
        # A shell's background jobs ignore the signal, and so would their children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    while not started.exists():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (output, errors) == (b"", b"")
    assert not list((tmp_path / "cache").iterdir())
