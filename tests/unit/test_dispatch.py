"""Fat libraries: which code a CPU gets, and that all of it gives the same bits."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.replay import host_levels
from kina.backend import dispatch
from kina.backend.targets import FAT, host_machine
from kina.dtypes import F32
from kina.types import Parameter, Signature, TensorType

LEVELS = FAT["x86-64"]
PROGRAM = """\
let nll = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>)
  -> (tensor<F32, [B]>, tensor<F16, [B, V]>) {
  let logp = x.log_softmax(axis=1) in
  (-logp.take_along_axis(t, axis=1), logp.cast(F16))
}
let exp = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x.exp() }
"""
# Prints the bits of the results, and the status of a bad index.
SCRIPT = """\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
x = (ctypes.c_float * 600)(*((i * 7919 % 1000) / 97 - 5 for i in range(600)))
t = (ctypes.c_int64 * 3)(0, 199, 77)
loss, logp, exp = (ctypes.c_float * 3)(), (ctypes.c_uint16 * 600)(), (ctypes.c_float * 600)()
size = ctypes.c_int64
for _ in range(2):
    assert library.kina_nll(size(3), size(200), x, t, loss, logp) == 0
    assert library.kina_exp(size(600), x, exp) == 0
print(bytes(loss).hex(), bytes(logp).hex(), bytes(exp).hex())
t[1] = 200
print(library.kina_nll(size(3), size(200), x, t, loss, logp))
"""

pytestmark = pytest.mark.skipif(host_machine() != "x86_64", reason="levels are those of x86-64")


@pytest.fixture(scope="module")
def chooser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that prints which level's function was called, twice."""
    folder = tmp_path_factory.mktemp("dispatch")
    type_ = TensorType(F32, ("N",))
    signature = Signature("f", (Parameter("x", type_),), type_)
    variants = "".join(
        f"int {dispatch.variant('kina_f', level)}(void) {{ return {number}; }}\n"
        for number, level in enumerate(LEVELS)
    )
    (folder / "choice.c").write_text(dispatch.c_source([("kina_f", signature)], LEVELS))
    (folder / "main.c").write_text(
        f"{variants}#include <stdint.h>\n#include <stdio.h>\n"
        "int32_t kina_f(int64_t n, const void *x, void *out);\n"
        'int main(void) { printf("%d %d", kina_f(1, 0, 0), kina_f(1, 0, 0)); return 0; }\n'
    )
    program = folder / "chooser"
    files = [folder / "choice.c", folder / "main.c"]
    flags = ["-Wall", "-Wextra", "-Werror", "-march=x86-64"]
    subprocess.run(["cc", *flags, "-o", program, *files], check=True)
    return program


def chosen(program: Path, variable: str | None, *before: str) -> str:
    """The level that runs."""
    environment = {key: value for key, value in os.environ.items() if key != "KINA_CPU"}
    if variable is not None:
        environment["KINA_CPU"] = variable
    done = subprocess.run(
        [*before, program], capture_output=True, text=True, check=True, env=environment
    )
    first, second = done.stdout.split()
    assert first == second
    return LEVELS[int(first)]


def test_best_level(chooser: Path) -> None:
    for variable in (None, "", "nonsense", "x86-64"):
        assert chosen(chooser, variable) == host_levels()[-1]


@pytest.mark.parametrize("level", LEVELS)
def test_forced_level(chooser: Path, level: str) -> None:
    """A level that the CPU lacks is never used."""
    expected = level if level in host_levels() else host_levels()[-1]
    assert chosen(chooser, level) == expected


@pytest.mark.parametrize(
    ("model", "level"),
    [("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3"), ("Haswell,-avx2", "x86-64-v2")],
)
def test_other_cpus(chooser: Path, model: str, level: str) -> None:
    qemu = shutil.which("qemu-x86_64")
    if qemu is None:
        pytest.skip("qemu-x86_64 is not installed here")
    assert chosen(chooser, None, qemu, "-cpu", model) == level
    assert chosen(chooser, "x86-64-v4", qemu, "-cpu", model) == level


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program for every level, and with the fat library."""
    folder = tmp_path_factory.mktemp("fat")
    (folder / "p.kina").write_text(PROGRAM)
    for target in (*LEVELS, "x86-64"):
        command = [sys.executable, "-m", "kina.cli.main", "build", "p.kina", "-o", f"{target}.so"]
        subprocess.run([*command, "--target", target], check=True, cwd=folder, capture_output=True)
    return folder


def output(library: Path, variable: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, library],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "KINA_CPU": variable},
    )
    return done.stdout


def test_every_level_gives_the_same_bits(libraries: Path) -> None:
    singles = {output(libraries / f"{level}.so") for level in host_levels()}
    fat = {output(libraries / "x86-64.so", level) for level in LEVELS}
    assert len(singles | fat) == 1
    assert singles.pop().endswith("\n1\n")


def test_fat_library_exports_the_same(libraries: Path) -> None:
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", libraries / "x86-64.so"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    exported = {line.split()[-1] for line in shown.splitlines()}
    assert exported == {"kina_nll", "kina_exp", "kina_set_threads"}


def reached(bodies: Mapping[int, str], end: str) -> str:
    """The code of the functions whose header ends like this, and of what these call or jump to."""
    todo = [place for place, body in bodies.items() if end in body]
    seen: dict[int, str] = {}
    while todo:
        place = todo.pop()
        if place in bodies and place not in seen:
            body = seen[place] = bodies[place]
            targets = re.findall(r"\b(?:call|jmp)q?\s+([0-9a-f]+) <", body)
            todo += [int(target, 16) for target in targets]
    return "".join(seen.values())


def test_fat_library_holds_every_level(libraries: Path) -> None:
    shown = subprocess.run(
        ["objdump", "-d", libraries / "x86-64.so"], capture_output=True, text=True, check=True
    ).stdout
    bodies = {
        int(header[1], 16): body
        for body in shown.split("\n\n")
        if (header := re.match(r"\n*([0-9a-f]+) <", body))
    }
    parts = {level: reached(bodies, f"${level.replace('-', '_')}>:") for level in LEVELS}
    assert "%ymm" not in parts["x86-64-v2"]
    assert "vfmadd" not in parts["x86-64-v2"]
    assert "vfmadd" in parts["x86-64-v3"]
    assert "%zmm" not in parts["x86-64-v3"]
    assert "%zmm" in parts["x86-64-v4"]


def test_emit_wants_one_level(libraries: Path) -> None:
    command = [sys.executable, "-m", "kina.cli.main", "emit", libraries / "p.kina", "--to", "asm"]
    done = subprocess.run(
        [*command, "--target", "x86-64"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "choose one of x86-64-v2, x86-64-v3, x86-64-v4" in done.stderr
