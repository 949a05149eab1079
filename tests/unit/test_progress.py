"""The line of a long compilation."""

from __future__ import annotations

import threading
import time
from io import StringIO
from pathlib import Path

import pytest

from kina.backend.activity import Activity
from kina.backend.build import build
from kina.backend.options import Options
from kina.cli.progress import compiling
from kina.frontend.source import Source


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def lines(terminal: Terminal) -> list[str]:
    return terminal.getvalue().split("\r\x1b[K")[1:]


def wait_for(terminal: Terminal, text: str) -> None:
    while text not in terminal.getvalue():
        time.sleep(0.005)


def test_a_long_compilation_counts_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    with compiling(Path("model.kina"), terminal, patience=0.01) as activity:
        wait_for(terminal, "0 s\r")
        first, second = activity.parts(2)
        with first("llc for x86-64-v3"), second("passes"):
            wait_for(terminal, "0 s: llc for x86-64-v3 (part 1 of 2), passes (part 2 of 2)\r")
    assert lines(terminal)[0] == "kina: compiling model.kina … 0 s"
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert str(activity) == ""


@pytest.mark.parametrize(("name", "kept"), [("m" * 60, 23), ("漢" * 60, 11)])
def test_no_line_is_wider_than_the_terminal(
    name: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that wraps, only the end would be erased."""
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    with compiling(Path(name), terminal, patience=0.01):
        wait_for(terminal, "compiling")
    assert lines(terminal)[0] == f"kina: compiling {name[:kept]}"


def test_a_short_one_says_nothing() -> None:
    terminal = Terminal()
    with compiling(Path("model.kina"), terminal, patience=60):
        pass
    assert terminal.getvalue() == ""


def test_a_file_or_a_pipe_gets_nothing() -> None:
    stream = StringIO()
    with compiling(Path("model.kina"), stream, patience=0.0):
        time.sleep(0.02)
    assert stream.getvalue() == ""


def test_a_compilation_tells_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tool by its name and target, and of several parts which one."""

    class Noted(Activity):
        """Remembers each step."""

        def step(self, what: str):
            with lock:
                steps.add(what)
            return super().step(what)

    steps: set[str] = set()
    lock = threading.Lock()
    monkeypatch.setenv("KINA_CACHE", str(tmp_path))
    body = "let x = x.exp() * 2.0 in " * 40
    text = "".join(
        f"let {name} = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {{ {body} x }}\n"
        for name in ("f", "g")
    )
    for target, parts in (("x86-64-v3", 2), ("x86-64", 4)):
        steps.clear()
        build(Source("t.kina", text), Options(target), activity=Noted())
        levels = ["x86-64-v3"] if parts == 2 else ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
        tools = ["passes", "mlir-opt", "mlir-translate", *(f"opt for {x}" for x in levels)]
        for part in range(1, parts + 1):
            where = f" (part {part} of {parts})"
            assert {f"passes{where}", f"mlir-opt{where}", f"mlir-translate{where}"} <= steps
        for tool in [*tools, *(f"llc for {level}" for level in levels)]:
            assert any(step.startswith(f"{tool} (part ") for step in steps), tool
        assert {"front end", "passes", "cc"} <= steps
