"""Whatever the text, the front end gives a program or diagnostics, and nothing else."""

import random
import string
from pathlib import Path

import pytest

from kina.errors import KinaSyntaxError, KinaTypeError
from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.report import MAX_ERRORS
from kina.frontend.source import Source

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.kina"))
_TOKENS = r"""
let in fn tensor reverseMode wrt inf nan true false host device F32 I64 Bool F64 B T
x y f log exp reduce argmax axis op cast broadcast gather take_along_axis softmax
( ) { } [ ] < > , : = . @ + - * / ->
0 1 2 2.5 1e3 300 99999999999999999999 // /* $ é
"""
WORDS = [
    *_TOKENS.split(),
    "\n",
    "\r\n",
    "\t",
    "let f = fn(x: tensor<F32, [2, B]>) -> tensor<F32, [2, B]> {",
    "tensor<F32, [2]>",
    "let a = x in",
    "}",
]


def survives(text: str) -> bool:
    """Whether the program is valid; anything but a diagnostic with places fails the test."""
    try:
        program = check(Source("t.kina", text))
    except (KinaSyntaxError, KinaTypeError) as error:
        problems = error.diagnostics
    else:
        generate(program).verify()
        return True
    assert problems
    assert all(problem.span and problem.render() for problem in problems[:MAX_ERRORS])
    return False


def mutated(text: str, seeded: random.Random) -> str:
    """`text` with some pieces dropped, doubled, swapped or replaced."""
    for _ in range(seeded.randint(1, 4)):
        start = seeded.randrange(len(text))
        end = min(len(text), start + seeded.choice([1, 1, 2, 5, 20]))
        piece = text[start:end]
        replacement = seeded.choice(
            ["", piece * 2, piece[::-1], seeded.choice(WORDS), seeded.choice(string.printable)]
        )
        text = text[:start] + replacement + text[end:]
        if not text:
            return " "
    return text


def test_token_soups() -> None:
    seeded = random.Random(1)
    for _ in range(1000):
        assert not survives(" ".join(seeded.choices(WORDS, k=seeded.randint(1, 60))))


def test_character_soups() -> None:
    seeded = random.Random(2)
    for _ in range(500):
        characters = [chr(seeded.choice([seeded.randrange(128), seeded.randrange(0x3000)]))]
        characters += seeded.choices(string.printable, k=seeded.randint(0, 60))
        assert not survives("".join(characters))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_mutated_programs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    seeded = random.Random(path.stem)
    valid = [survives(mutated(text, seeded)) for _ in range(60)]
    assert not all(valid)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_beginning_of_a_program(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for length in range(0, len(text), max(1, len(text) // 60)):
        survives(text[:length])
    # A text has no folder, so that one which imports is refused.
    assert survives(text) == (not path.stem.startswith("invalid") and "import" not in text)
