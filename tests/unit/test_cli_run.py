"""`kina run`: its inputs, files of arrays, numbers, and what it prints."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from helpers.command import ADD, NLL, fails, kina
from kina.cli.npy import read_npy
from kina.errors import KinaValueError


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "add.kina"
    path.write_text(ADD)
    return path


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
        (["--arg", "x=1e400"], "F32 does not hold this number, the nearest that it does is inf"),
        (["--arg", "x=1e-400"], "F32 does not hold this number, the nearest that it does is 0.0"),
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


def test_run_reports_a_bad_index() -> None:
    fails(
        kina("run", NLL, "--arg", "targets=8"),
        "storylm0_nll.kina:",
        "take_along_axis: index 8 at [0, 0]",
        "0 .. 7",
        "^",
    )
