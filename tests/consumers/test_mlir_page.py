"""Runs docs/mlir_by_hand.md: writes its files, runs its commands, compares what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "mlir_by_hand.md"
BLOCK = re.compile(r"(?:^`([\w.]+)`:\n\n)?^```([a-z]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "== end of block =="
LANGUAGES = {"kina", "mlir", "sh", "text"}


class Block(NamedTuple):
    """A fenced block, and the file that it is if a line before it names one."""

    file: str
    language: str
    text: str


BLOCKS = [Block(*found) for found in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
COMMANDS = [index for index, block in enumerate(BLOCKS) if block.language == "sh"]


def environment() -> dict[str, str]:
    """As after `. .venv/bin/activate`."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": tools}


def expected(index: int) -> str:
    """What the page says that a block of commands prints: nothing, if it says nothing."""
    after = BLOCKS[index + 1 :]
    return after[0].text if after and after[0].language == "text" else ""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each block of commands prints, all of them run by one shell in one folder."""
    folder = tmp_path_factory.mktemp("by_hand")
    for block in BLOCKS:
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    script = "".join(f"{BLOCKS[index].text}echo '{MARK}'\n" for index in COMMANDS)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail"],
        input=script,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(f"{MARK}\n")[:-1]


@pytest.mark.parametrize("number", range(len(COMMANDS)))
def test_commands_print_what_the_page_says(printed: list[str], number: int) -> None:
    assert printed[number] == expected(COMMANDS[number])


def test_every_block_is_used() -> None:
    assert {block.language for block in BLOCKS} == LANGUAGES
    assert [block.file for block in BLOCKS if block.file] == ["nll.kina", "main.mlir"]
    results = [index for index, block in enumerate(BLOCKS) if block.language == "text"]
    assert {index - 1 for index in results} <= set(COMMANDS)
    assert len(COMMANDS) == 5
