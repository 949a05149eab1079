"""`kina-opt`: whatever it prints, it reads; whatever it is given, one diagnostic with its place."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from helpers.kina_opt import PASSES, ROOT, fails, is_read_back, opt, opt_text
from kina.errors import KinaError
from kina.frontend.check import check
from kina.frontend.source import Source

PROGRAMS = sorted([*(ROOT / "examples").rglob("*.kina"), *(ROOT / "tests").rglob("*.kina")])
IR_FILES = sorted((ROOT / "tests" / "filecheck").rglob("*.mlir"))
PLACED = re.compile(r"[^\n]+:\d+:\d+: error: ")


SAMPLED = {
    *("argmax", "choice", "elementwise", "fold", "gumbel", "kv_cache", "reductions", "scan"),
    *("shapes", "size_parameters"),
}
"""Programs that together make every operation but those of the one below."""
GRADIENTS = """
let pick = fn(x: tensor<F32, [V, 3]>, i: tensor<I64, [N]>, t: tensor<I64, [N]>)
    -> tensor<F32, [N]> {
  let y = x.gather(i) in
  let kept = t != 2 in
  y.take_along_axis(kept.select(t, 0), axis=1) / (y * y).reduce(op=sum, axis=1).sqrt()
}
let dpick = reverseMode(pick)
let flags = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { (x > 0).cast(F32) }
"""


def programs() -> Iterator[object]:
    """Those that are right; most are left to the sweep."""
    for path in PROGRAMS:
        with suppress(KinaError):
            check(Source.read(path))
            marks = () if path.stem in SAMPLED else pytest.mark.sweep
            yield pytest.param(path, id=path.stem, marks=marks)


def test_every_output_of_gradients_is_an_input(tmp_path: Path) -> None:
    (tmp_path / "gradients.kina").write_text(GRADIENTS)
    test_every_output_is_an_input(tmp_path, tmp_path / "gradients.kina")


@pytest.mark.parametrize("program", [*programs()])
def test_every_output_is_an_input(tmp_path: Path, program: Path) -> None:
    """After the front end and after each pass of the pipeline."""
    path, before = program, ""
    for name in ("", *PASSES[:-2]):
        done = opt(path, "--pass", name)
        if name == "lower-kina" and "@device" in program.read_text():
            fails(done, "@device has no code generator")
            return
        assert (done.status, done.errors) == (0, ""), name
        if done.output != before:
            is_read_back(tmp_path, done.output)
        path, before = tmp_path / "t.mlir", done.output


@cache
def corpus(*, examples: bool) -> list[str]:
    """The IR of the tests, and what the passes make of the examples."""
    parts = [text for path in IR_FILES for text in path.read_text().split("// -----")]
    for program in sorted((ROOT / "examples").glob("*.kina")) if examples else ():
        lowered = opt(program, "--pass", "inline-calls,transform-ad,simplify-kina,lower-kina")
        parts += [done.output for done in (opt(program), lowered) if done.output]
    return parts


_TOKENS = r"""
" { } ( ) < > [ ] , : = -> -1 0 1 99999999999999999999 i64 f32 bf16 x ? # ! ^bb0 // \
%0 @f tensor< memref< dense< affine_map< loc( linalg.generic func.func kina.
"""
WORDS = [*_TOKENS.split(), "\n", "\r\n", "\t", "\0", "é"]


def mutated(text: str, seeded: random.Random) -> str:
    """`text` with some pieces dropped, doubled, moved or replaced."""
    for _ in range(seeded.choice([1, 1, 1, 2, 4])):
        start = seeded.randrange(len(text) or 1)
        end = start + seeded.choice([1, 1, 2, 5, 20, 100])
        other = seeded.randrange(len(text) or 1)
        piece = text[start:end]
        moved = text[other : other + len(piece)]
        words = [seeded.choice(WORDS), seeded.choice(text.split() or [""])]
        character = seeded.choice(string.printable)
        replacement = seeded.choice(["", piece * 2, moved, character, *words])
        text = text[:start] + replacement + text[end:]
    return text


def survives(folder: Path, seed: int, *, examples: bool) -> bool:
    """Whether a mutated module goes through some passes; if not, the message must say where."""
    seeded = random.Random(seed)
    text = mutated(seeded.choice(corpus(examples=examples)), seeded)
    passes = seeded.sample(PASSES, seeded.choice([0, 1, 1, 2, 3]))
    done = opt_text(folder, text, *(f"--pass={name}" for name in passes))
    if done.status == 0:
        is_read_back(folder, done.output)
        return True
    fails(done)
    assert PLACED.match(done.errors), (seed, done.errors)
    return False


def test_mutated_sample(tmp_path: Path) -> None:
    assert {survives(tmp_path, seed, examples=False) for seed in range(60)} == {True, False}


@pytest.mark.sweep
@pytest.mark.parametrize("block", range(20))
def test_mutated(tmp_path: Path, block: int) -> None:
    seeds = range(100 * block + 100, 100 * block + 200)
    assert {survives(tmp_path, seed, examples=True) for seed in seeds} == {True, False}
