"""A C program that uses a built library: strict C99, C++, sanitizers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("consumer")
    command = [sys.executable, "-m", "kina.cli.main", "build", "nll.kina", "-o", path / "nll.so"]
    subprocess.run(command, check=True, cwd=HERE, capture_output=True)
    return path


def compiled(folder: Path, name: str, *arguments: str) -> Path:
    """The program, linked with the library."""
    program = folder / name
    command = [*arguments, "-I", folder, "-o", program, HERE / "nll.c", folder / "nll.so"]
    done = subprocess.run(
        [*command, f"-Wl,-rpath,{folder}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return program


def test_c_program(folder: Path) -> None:
    program = compiled(folder, "strict", "cc", *STRICT)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    first, second, *rest = done.stdout.splitlines()
    assert first == "0 ok 0.407606 1.098612"
    assert second.startswith("1 nll.kina:3:")
    assert "take_along_axis: index out of range" in second
    assert rest == ["0 9 1", "0 -3.5 unknown status"]


def test_header_alone(folder: Path) -> None:
    """The header needs nothing before it and may come twice."""
    (folder / "alone.c").write_text('#include "nll.h"\n#include "nll.h"\nint x;\n')
    command = ["cc", *STRICT, "-I", folder, "-fsyntax-only", folder / "alone.c"]
    subprocess.run(command, check=True)


def test_header_in_cpp(folder: Path) -> None:
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler here")
    (folder / "main.cpp").write_text(
        '#include "nll.h"\n'
        "int main() { float x = 2, y = 0; return kina_scalar(&x, &y) != 0 || y != -2; }\n"
    )
    program = folder / "cpp"
    files = [folder / "main.cpp", folder / "nll.so", f"-Wl,-rpath,{folder}"]
    flags = ["-Wall", "-Wextra", "-Werror", "-I", folder, "-o", program]
    subprocess.run(["c++", *flags, *files], check=True)
    subprocess.run([program], check=True)


def test_header_text(folder: Path) -> None:
    text = (folder / "nll.h").read_text()
    assert arguments(text, "nll") == [
        "int64_t /* B */",
        "int64_t /* V */",
        "const float * /* logits: F32 [B, V] */",
        "const int64_t * /* targets: I64 [B] */",
        "float * /* out: F32 [B] */",
    ]
    assert arguments(text, "clash")[2:] == [
        "int32_t * /* out0: I32 [1] */",
        "uint8_t * /* out1: Bool [1] */",
    ]
    kinds = [argument.split()[1] for argument in arguments(text, "kinds")[1:-1]]
    assert kinds == [
        *("uint16_t", "uint16_t", "uint8_t", "uint8_t"),
        *("int16_t", "int8_t", "int8_t", "uint8_t"),
    ]
    assert "static inline const char *kina_scalar_message_(int32_t kina_status)" in text


def arguments(text: str, name: str) -> list[str]:
    """The arguments of a function in a header."""
    listed = text.partition(f"int32_t kina_{name}(\n")[2].partition("\n);")[0]
    return [line.strip().removesuffix(",") for line in listed.splitlines()]


def needed(library: Path) -> set[str]:
    """The libraries that a library asks the loader for; it runs nothing when it is loaded."""
    command = ["readelf", "-d", library]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "INIT" not in shown
    assert "PATH" not in shown
    return {line.split("[")[1].rstrip("]") for line in shown.splitlines() if "NEEDED" in line}


@pytest.mark.parametrize("option", ["--no-threads", "--threads"])
def test_what_a_library_needs(option: str, tmp_path: Path) -> None:
    """libc, and no folder of the machine that it was built on."""
    library = tmp_path / "nll.so"
    command = [sys.executable, "-m", "kina.cli.main", "build", "nll.kina", option, "-o", library]
    subprocess.run(command, check=True, cwd=HERE, capture_output=True)
    assert needed(library) <= {"libc.so.6"}
