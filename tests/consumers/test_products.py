"""What `kina build` writes is what the name says, and every kind of it links and runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kina.backend.targets import host_machine

NLL = Path(__file__).parent / "nll.kina"
FAT = ("native", "x86-64") if host_machine() == "x86_64" else ("native",)
USE = """\
#include <stdio.h>
#include "{prefix}.h"
static float logits[64 * 100000], loss[64];
static int64_t targets[64];
/* Large enough for threads. */
int {prefix}use(void) {{
    int32_t threads = {prefix}set_threads(2);
    int32_t status = {prefix}nll(64, 100000, logits, targets, loss);
    printf("{prefix} %d %d %.4f ", (int)status, (int)threads, loss[63]);
    printf("%s\\n", {prefix}nll_message(1));
    return status;
}}
"""
MAIN = "int a_use(void), b_use(void);\nint main(void) { return a_use() || b_use(); }\n"


def kina(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kina.cli.main", "build", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def built(folder: Path, output: str, *arguments: str) -> Path:
    done = kina(folder, NLL, "-o", output, *arguments)
    assert done.returncode == 0, done.stderr
    return folder / output


def linked(folder: Path, *arguments: object) -> list[str]:
    """What the program that uses both libraries prints, run from another folder."""
    (folder / "main.c").write_text(MAIN)
    for prefix in ("a_", "b_"):
        (folder / f"{prefix}.c").write_text(USE.format(prefix=prefix))
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "main", "main.c", "a_.c"]
    subprocess.run([*command, "b_.c", *map(str, arguments)], cwd=folder, check=True)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [folder / "main"], cwd=elsewhere, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def check_lines(lines: list[str]) -> None:
    wanted = ["0", "2", "11.5129"]
    assert [line.split()[:4] for line in lines] == [["a_", *wanted], ["b_", *wanted]]
    assert all("take_along_axis: index out of range" in line for line in lines)


@pytest.mark.parametrize("target", FAT)
@pytest.mark.parametrize("kind", [".a", ".o"])
def test_two_of_a_kind_in_one_program(kind: str, target: str, tmp_path: Path) -> None:
    """With one program's functions in both: what they share inside is local to each."""
    files = [
        built(tmp_path, f"{prefix}{kind}", "--prefix", prefix, "--target", target)
        for prefix in ("a_", "b_")
    ]
    head = files[0].read_bytes()[:8]
    assert head == b"!<arch>\n" if kind == ".a" else head.startswith(b"\x7fELF")
    shown = subprocess.run(["nm", "-g", files[0]], capture_output=True, text=True, check=True)
    defined = {line.split()[-1] for line in shown.stdout.splitlines() if " T " in line}
    assert {name.partition("_")[0] for name in defined} == {"a"}
    assert {"a_nll", "a_scalar", "a_kinds"} <= defined
    check_lines(linked(tmp_path, *files, "-pthread"))


def test_shared_libraries_are_found_beside_the_program(tmp_path: Path) -> None:
    """As the README links them; the program asks for a name, not for a path."""
    for prefix in ("a_", "b_"):
        built(tmp_path, f"lib{prefix}.so", "--prefix", prefix)
        (tmp_path / f"lib{prefix}.h").rename(tmp_path / f"{prefix}.h")
    check_lines(linked(tmp_path, "-L.", "-la_", "-lb_", "-Wl,-rpath,$ORIGIN"))
    shown = subprocess.run(
        ["readelf", "-d", tmp_path / "main"], capture_output=True, text=True, check=True
    ).stdout
    assert "NEEDED" in shown
    assert "[liba_.so]" in shown


@pytest.mark.parametrize("name", ["libx.so", "x,y z.so", "libx.so.1.2"])
def test_a_shared_library_knows_its_name(name: str, tmp_path: Path) -> None:
    library = built(tmp_path, name, "--target", "native")
    shown = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True)
    assert f"soname: [{name}]" in shown.stdout
    assert library.with_name(f"{name.partition('.so')[0]}.h").is_file()


@pytest.mark.parametrize("kind", [".so", ".a"])
def test_pkg_config(kind: str, tmp_path: Path) -> None:
    """It gives all that a program needs, wherever the folder is moved to."""
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed here")
    before, folder = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    for prefix in ("a_", "b_"):
        built(before, f"lib{prefix}{kind}", "--prefix", prefix, "--pkg-config")
        (before / f"lib{prefix}.h").rename(before / f"{prefix}.h")
    before.rename(folder)
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "liba_", "libb_"],
        capture_output=True,
        text=True,
        check=True,
        env={"PKG_CONFIG_PATH": str(folder), "PATH": "/usr/bin:/bin:/usr/local/bin"},
    ).stdout.split()
    check_lines(linked(tmp_path, *flags))


@pytest.mark.parametrize(
    ("arguments", "said", "advice"),
    [
        (["-o", "x"], "the name does not say what to write", ".a (static library)"),
        (["-o", "x.dll"], "the name does not say what to write", ".so (shared library)"),
        (["-o", "x.c"], "the name does not say what to write", ".o (object file)"),
        (["-o", "x.o", "--pkg-config"], "this is an object file", "give the library .so or .a"),
        (["-o", "x y.so", "--pkg-config"], "pkg-config cannot use", "letters, digits"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str, advice: str, tmp_path: Path) -> None:
    done = kina(tmp_path, NLL, *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {arguments[1]}: ")
    assert said in done.stderr
    assert advice in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINA_LLVM_AR", "/nowhere/ar")
    done = kina(tmp_path, NLL, "-o", "x.a", "--target", "native", "--prefix", "none_")
    assert done.returncode == 1
    assert done.stderr.startswith("error: llvm-ar not found: LLVM 22 is needed")
    assert list(tmp_path.iterdir()) == []
