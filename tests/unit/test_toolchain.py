"""Finding and running the tools."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

import kina
from kina.backend import linking, pipeline, toolchain
from kina.backend.options import Options
from kina.backend.targets import TARGETS, Target, host_cpu
from kina.backend.toolchain import CC, LLC, MLIR_OPT, TOOLS, Tool, find, run
from kina.errors import KinaToolchainError, KinaValueError


def fake(folder: Path, name: str, version: str) -> Path:
    """A program that only knows its version."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No wheels, no variables, and this folder as PATH."""
    monkeypatch.setattr(toolchain, "_package_folders", lambda _package: ())
    for tool in TOOLS:
        monkeypatch.delenv(tool.variable, raising=False)
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    return path


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_found_here(tool: Tool) -> None:
    assert find(tool).path.is_file()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_missing(tool: Tool, bare: Path) -> None:
    with pytest.raises(KinaToolchainError) as caught:
        find(tool)
    text = str(caught.value)
    assert text.startswith(f"{tool.name} not found")
    assert tool.variable in text
    assert "PATH" in text
    assert tool.install in text
    assert isinstance(caught.value, RuntimeError)


def test_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake(tmp_path, "mine", "LLVM version 22.1.0")
    monkeypatch.setenv("KINA_MLIR_OPT", str(path))
    assert find(MLIR_OPT).path == path
    assert find(MLIR_OPT).origin == "variable"


@pytest.mark.parametrize("value", ["/nowhere/mlir-opt", "no-such-command"])
def test_variable_that_names_nothing(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong variable is an error, not a reason to look elsewhere."""
    monkeypatch.setenv("KINA_MLIR_OPT", value)
    with pytest.raises(KinaToolchainError, match=f"{value} is not an executable file"):
        find(MLIR_OPT)


def test_wrong_version(bare: Path) -> None:
    old = fake(bare, "llc", "Debian LLVM version 14.0.6")
    with pytest.raises(KinaToolchainError, match=f"{old} is LLVM version 14.0.6") as caught:
        find(LLC)
    assert "LLVM 22 is needed" in str(caught.value)


def test_old_tool_in_path_is_passed_over(bare: Path) -> None:
    fake(bare, "llc", "LLVM version 14.0.6")
    new = fake(bare, "llc-22", "LLVM version 22.1.8")
    assert find(LLC).path == new


def test_tool_that_says_nothing(bare: Path) -> None:
    fake(bare, "llc", "hello")
    with pytest.raises(KinaToolchainError, match="does not say which LLVM version"):
        find(LLC)


def test_failing_tool() -> None:
    with pytest.raises(KinaToolchainError) as caught:
        run(MLIR_OPT, ["--canonicalize"], "this is no MLIR\n")
    text = str(caught.value)
    assert text.startswith("mlir-opt failed (exit status 1)")
    assert "<stdin>:1:1: error:" in text
    assert "please report it" in text
    kept = text.partition("kept in ")[2].split()[0]
    assert Path(kept).read_text() == "this is no MLIR\n"
    Path(kept).unlink()


def test_tool_killed_by_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cc"
    path.write_text("#!/bin/sh\nkill -SEGV $$\n")
    path.chmod(0o755)
    monkeypatch.setenv("KINA_CC", str(path))
    with pytest.raises(KinaToolchainError, match=r"cc failed \(signal 11\)"):
        run(CC, [])


def test_tool_that_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cc"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    monkeypatch.setenv("KINA_CC", str(path))
    with pytest.raises(KinaToolchainError, match=r"cc does not start.*\n.*no program for this"):
        run(CC, [])


def test_more_arguments_than_the_system_takes(tmp_path: Path) -> None:
    """Each has what a file of arguments must escape."""
    folder = tmp_path / ('it\'s "the" back\\slash ' + "x" * 200)
    folder.mkdir()
    source, made, merged = folder / "empty.c", folder / "a b.o", folder / "merged.o"
    source.write_text("")
    run(CC, ["-c", "-o", made, source])
    objects = [made] * 12_000
    assert sum(len(str(path)) for path in objects) > os.sysconf("SC_ARG_MAX")
    run(CC, ["-r", "-nostdlib", "-o", merged, *objects])
    assert merged.stat().st_size > 0
    with pytest.raises(KinaToolchainError, match=r"does not start: .*\n.*too large together"):
        run(LLC, objects)


def test_a_tool_that_finds_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's mistake: nothing to report, and nothing is kept on that disk."""
    path = tmp_path / "cc"
    path.write_text("#!/bin/sh\necho 'cannot write: No space left on device' >&2\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setenv("KINA_CC", str(path))
    with pytest.raises(KinaToolchainError) as caught:
        run(CC, [], "text")
    text = str(caught.value)
    assert "TMPDIR" in text
    assert "KINA_CACHE" in text
    assert "report" not in text


def test_an_input_that_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool's own message stays the first."""

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(KinaToolchainError) as caught:
        run(MLIR_OPT, ["--canonicalize"], "this is no MLIR\n")
    text = str(caught.value)
    assert text.startswith("mlir-opt failed (exit status 1)")
    assert f"its input could not be kept: {tmp_path}: No space left" in text
    assert "TMPDIR" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("prefix", ["1x", "a-b", "é", "a b", "a\n", "9", "µ", "a$"])
def test_bad_prefix(prefix: str) -> None:
    with pytest.raises(KinaValueError, match="expected a C identifier"):
        Options(prefix=prefix)


def test_length_of_a_prefix() -> None:
    assert Options(prefix="").prefix == ""
    assert Options(prefix="p" * 63).prefix == "p" * 63
    with pytest.raises(KinaValueError, match="has 1000000 characters, expected 63") as raised:
        Options(prefix="p" * 1_000_000)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("prefix", ["_", "__kmpc_", "_Z"])
def test_prefix_that_c_keeps(prefix: str) -> None:
    with pytest.raises(KinaValueError, match="C keeps names that start with '_' for itself"):
        Options(prefix=prefix)


def test_bad_target() -> None:
    with pytest.raises(KinaValueError, match="unknown target 'avr'") as caught:
        Options(target="avr")
    for known in ("x86-64-v3", "aarch64-linux", "x86_64-windows", "wasm32"):
        assert known in str(caught.value)


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_targets_have_a_triple(target: Target) -> None:
    """Without one LLVM vectorises nothing; zig's clang has its own, and `opt` the layout of it."""
    given = "-data-layout=" if target.clang else "-mtriple="
    assert any(flag.startswith(given) for flag in target.flags)
    assert target.triple.startswith((target.machine, "arm64"))


def test_host_cpu_tells_features() -> None:
    assert len(host_cpu()) > 10


def test_order_of_the_last_passes() -> None:
    """The bare-pointer option is silently ignored if another pass converts functions first."""
    passes = pipeline.TO_LLVM
    names = [item.name for item in passes]
    functions = names.index("convert-func-to-llvm")
    assert "use-bare-ptr-memref-call-conv=true" in passes[functions].argument
    before = {"finalize-memref-to-llvm", "convert-cf-to-llvm", "convert-arith-to-llvm"}
    assert before <= set(names[:functions])
    assert "convert-to-llvm" not in names
    assert "reconcile-unrealized-casts" in names[functions:]


@pytest.mark.parametrize("target", ["aarch64-linux", "x86_64-windows-v2", "wasm32"])
def test_other_machine_without_what_links_for_it(bare: Path, target: str) -> None:
    """The error says how to get it."""
    objects = [bare / "f.o"]
    with pytest.raises(KinaToolchainError, match="zig not found") as caught:
        linking.link(objects, bare / "f.so", TARGETS[target])
    assert "pip install 'kina[cross]'" in str(caught.value)


@pytest.mark.parametrize("target", ["wasm32", "x86_64-windows", "riscv64-linux", "aarch64-macos"])
def test_what_cannot_be_loaded_here(target: str) -> None:
    with pytest.raises(KinaValueError, match="cannot be loaded on this machine") as caught:
        kina.compile("let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x }", target=target)
    assert f"kina build --target {target} writes a library to take there" in str(caught.value)
