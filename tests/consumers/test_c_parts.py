"""The C files that libraries contain, under sanitizers: memory that stays, and WebAssembly's."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kina.backend.compilation import HELD
from kina.backend.toolchain import ZIG, find, is_there

HERE = Path(__file__).parent
WASM = HELD.with_name("wasm.c")
POOL_SCENARIOS = (
    *("parts", "together", "callers", "asleep", "nested", "forks", "limited", "settings"),
    *("signals", "cancelled", "exits"),
)
WARNINGS = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread")
SANITIZERS = {
    "address,undefined": ["cc"],
    "thread": ["cc"],
    # It knows more that is undefined, and needs no library to stop.
    "undefined": ["zig", "cc", "-fsanitize-trap=undefined"],
}


def compiler(name: str, folder: Path) -> list[str | Path]:
    """The command; skips where it is not there, or has no such sanitizer."""
    first, *rest = SANITIZERS[name]
    if first == "zig" and not is_there(ZIG):
        pytest.skip("zig is not installed (pip install 'kina[cross]'): not run")
    program = find(ZIG).path if first == "zig" else first
    command = [program, *rest, *WARNINGS, f"-fsanitize={name}", "-I", HELD.parent]
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    empty = [*command, "-o", folder / "empty", folder / "empty.c"]
    done = subprocess.run(empty, capture_output=True, check=False)
    if done.returncode or subprocess.run([folder / "empty"], check=False).returncode:
        pytest.skip(f"{first} has no sanitizer for {name} here: not run")
    return command


def made(command: Sequence[str | Path], program: Path) -> Path:
    """The program, compiled without a warning."""
    subprocess.run([*command, "-o", program], check=True, capture_output=True, text=True)
    return program


def run(program: Path, *words: str) -> str:
    """What it prints; nothing is complained of."""
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_memory_that_stays_with_a_call(sanitizer: str, tmp_path: Path) -> None:
    command = compiler(sanitizer, tmp_path)
    assert run(made([*command, HERE / "held_stress.c"], tmp_path / "held")) == ""


@pytest.mark.parametrize("sanitizer", [name for name in SANITIZERS if name != "thread"])
def test_memory_of_webassembly(sanitizer: str, tmp_path: Path) -> None:
    """It has one thread."""
    undefined = sanitizer.rpartition(",")[2]
    command = [
        *(word for word in compiler(sanitizer, tmp_path) if word != f"-fsanitize={sanitizer}"),
        *(f"-fsanitize={undefined}", "-fno-pie", "-no-pie", "-include", HERE / "wasm_memory.h"),
    ]
    refused = run(made([*command, WASM, HERE / "wasm_memory.c"], tmp_path / "memory"))
    assert 0 < int(refused) < 1000


def test_threads_by_zig(tmp_path: Path) -> None:
    """What `test_pool.py` runs, with all that its compiler calls undefined."""
    command = [*compiler("undefined", tmp_path), HERE / "pool_stress.c"]
    program = made(command, tmp_path / "pool")
    for scenario in POOL_SCENARIOS:
        assert run(program, scenario) == ""
