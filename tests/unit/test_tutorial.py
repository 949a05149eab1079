"""docs/tutorial.md from top to bottom, as a reader would do it."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kina

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
NAME = re.compile(r"// (\S+)\n")


def commands(text: str) -> list[tuple[str, str]]:
    """Each command of a block with what it prints."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    split = (part.partition("\n") for part in parts)
    return [(command, expected) for command, _, expected in split]


def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {"kina": kina, "np": np}
    done: dict[str, int] = {}
    for found in re.finditer(r"^```(\w+)( error)?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        kind, block = found[1] + (found[2] or ""), found[3]
        done[kind] = done.get(kind, 0) + 1
        if kind in ("kina", "c"):
            name = NAME.match(block)
            assert name, f"a {kind} block without a name"
            Path(name[1]).write_text(block, encoding="utf-8")
        elif kind == "console":
            for command, expected in commands(block):
                shell(command, expected)
        elif kind == "python":
            line = text.count("\n", 0, found.start()) + 1
            python(block, names, line)
        else:  # refused programs and their messages: test_language_page.py
            assert kind in ("kina error", "text")
    assert done == {"kina": 2, "kina error": 1, "text": 1, "console": 4, "python": 7, "c": 1}


def shell(command: str, expected: str) -> None:
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    said = ran.stdout + ran.stderr
    assert doctest.OutputChecker().check_output(expected, said, FLAGS), f"{command}\n{said}"
    assert ran.returncode == 0


def python(block: str, names: dict[str, object], line: int) -> None:
    test = doctest.DocTestParser().get_doctest(block, names, "tutorial", str(PAGE), line)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    assert test.examples
    assert not said, "".join(said)
    names.update(test.globs)
