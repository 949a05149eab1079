"""Ill-typed and broken programs: each is refused with a diagnostic, none compiles or crashes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import kina
from helpers.check_program import source
from helpers.choose import Drawn, Seeded
from helpers.ill_formed import IN_RECORDS, RIGHT, Fold, dimensions, files, fold, zero
from helpers.ill_typed import ITEMS, PIECES, Application, application, body, scramble
from helpers.programs import generate
from kina.frontend.check import check
from kina.frontend.irgen import generate as to_ir
from kina.frontend.source import Source
from kina.ops import OPS

RUN = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=300,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def assert_refused(text: str) -> None:
    """Refused with places, and with words that a person can read."""
    with pytest.raises(kina.KinaError) as caught:
        kina.compile(text, name="bad.kina")
    assert caught.value.diagnostics
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.span is not None, f"no place: {diagnostic.message}\n{text}"
        assert diagnostic.span.file == "bad.kina"
        lines = text.split("\n")
        assert 1 <= diagnostic.span.line <= len(lines) + 1
        assert diagnostic.message
        assert "object at 0x" not in diagnostic.render()


@st.composite
def applications(draw: DrawFn) -> Application | None:
    return application(Drawn(draw))


@RUN
@given(applications())
def test_every_broken_application_is_refused(broken: Application | None) -> None:
    assume(broken is not None)
    assert broken is not None
    assert_refused(broken.source)


def test_a_seeded_sample_of_broken_applications() -> None:
    broken = [application(Seeded(seed)) for seed in range(600)]
    kinds = {item.op for item in broken if item is not None}
    assert kinds == set(OPS), "the generator does not reach every operation"
    for item in broken:
        if item is not None:
            assert_refused(item.source)


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_bodies_with_one_mistake(piece: str) -> None:
    assert_refused(body(piece))


@pytest.mark.parametrize("text", ITEMS.values(), ids=ITEMS)
def test_programs_with_one_mistake(text: str) -> None:
    assert_refused(text)


def test_the_frame_of_the_mistakes_is_right() -> None:
    check(Source("good.kina", body("{ earlier(x) }")))


def survives(text: str) -> bool:
    """Whether the text is a program; anything but a diagnostic is a crash of the front end."""
    try:
        to_ir(check(Source("scrambled.kina", text))).verify()
    except kina.KinaError:
        return False
    return True


@pytest.mark.parametrize("block", range(4))
def test_scrambled_programs_never_crash_the_front_end(block: int) -> None:
    survived = 0
    for seed in range(100 * block, 100 * block + 100):
        choose = Seeded(seed)
        text = source([generate(choose, "f0", [])])
        survived += survives(scramble(choose, text))
    assert survived < 60, "most scrambled programs should be wrong"


@pytest.mark.sweep
def test_many_scrambled_programs() -> None:
    for seed in range(1000, 20000):
        choose = Seeded(seed)
        survives(scramble(choose, source([generate(choose, "f0", [])])))


@pytest.mark.sweep
def test_many_broken_applications() -> None:
    for seed in range(1000, 30000):
        broken = application(Seeded(seed))
        if broken is not None:
            assert_refused(broken.source)


GENERATORS: dict[str, Callable[[Seeded], str | None]] = {
    "folds": fold,
    "records": lambda choose: RIGHT + choose.one(IN_RECORDS),
    "dimensions": dimensions,
    "sizes of 0": zero,
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_sample_of_parts_with_one_mistake(name: str) -> None:
    refuse_all(name, range(60))


def refuse_all(name: str, seeds: range) -> None:
    texts = {GENERATORS[name](Seeded(seed)) for seed in seeds}
    assert len(texts) > len(seeds) // 4, "the generator repeats itself"
    for text in texts:
        if text is not None:
            assert_refused(text)


def test_what_the_mistakes_were_made_in_is_right() -> None:
    check(Source("good.kina", RIGHT + "let f = fn(r: R) -> R { R(a=r.a, b=r.b) }"))
    x = "tensor<F32, [3]>"
    right = Fold(x, (x, x), x, x, ("L", "L"), ((3,), (3,)), ("F32", "F32"))
    check(Source("good.kina", right.source))


def test_a_sample_of_files_with_one_mistake(tmp_path: Path) -> None:
    for seed in range(40):
        refuse_files(tmp_path / str(seed), seed)


def refuse_files(folder: Path, seed: int) -> None:
    for name, text in files(Seeded(seed)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with pytest.raises(kina.KinaError) as caught:
        kina.load(folder / "main.kina")
    assert caught.value.diagnostics
    assert all(each.span is not None and each.message for each in caught.value.diagnostics)


@pytest.mark.sweep
@pytest.mark.parametrize("name", GENERATORS)
def test_many_parts_with_one_mistake(name: str) -> None:
    for seed in range(1000, 6000):
        text = GENERATORS[name](Seeded(seed))
        if text is not None:
            assert_refused(text)


@pytest.mark.sweep
def test_many_files_with_one_mistake(tmp_path: Path) -> None:
    for seed in range(1000, 3000):
        refuse_files(tmp_path / str(seed), seed)
