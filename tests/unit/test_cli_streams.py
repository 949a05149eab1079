"""The `kina` command as a process: streams, pipes, full disks, interrupts, encodings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from helpers.command import ADD, COMMAND, EXAMPLES, NLL, Done, fails, kina, tool


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "add.kina"
    path.write_text(ADD)
    return path


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
