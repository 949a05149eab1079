"""`examples/train`: it learns, a step is what it should be, and a run can be repeated."""

from __future__ import annotations

import importlib
import math
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import kina

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train"
ULP = float(np.finfo(np.float32).eps)


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the example."""
    monkeypatch.syspath_prepend(EXAMPLE)
    return importlib.import_module(name)


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return module("texts", monkeypatch)


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return module("training", monkeypatch)


@pytest.fixture
def program() -> kina.Module:
    return kina.load(EXAMPLE / "trigram.kina")


def step64(
    state: list[np.ndarray], newer: np.ndarray, older: np.ndarray, targets: np.ndarray, rate: float
) -> list[np.ndarray]:
    """A step in float64, written from the formulas of the loss, its gradient and AdamW."""
    last, before, *moments, scale_m, scale_v = (array.astype(np.float64) for array in state)
    logits = last[newer] + before[older]
    logp = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    loss = -logp[np.arange(len(targets)), targets].mean()
    d_logits = (np.exp(logp) - np.eye(256)[targets]) / len(targets)
    scale_m, scale_v = 0.9 * scale_m + 0.1, 0.999 * scale_v + 0.001
    tables, means, squares = [], [], []
    for table, rows, m, v in zip(
        (last, before), (newer, older), moments[:2], moments[2:], strict=True
    ):
        gradient = np.zeros_like(table)
        np.add.at(gradient, rows, d_logits)
        means.append(0.9 * m + 0.1 * gradient)
        squares.append(0.999 * v + 0.001 * gradient**2)
        update = means[-1] / scale_m / (np.sqrt(squares[-1] / scale_v) + 1e-8)
        tables.append(table * (1 - 0.01 * rate) - rate * update)
    return [loss, *tables, *means, *squares, scale_m, scale_v]


def test_a_step_is_that_of_float64(program: kina.Module) -> None:
    random = np.random.RandomState(2)
    tables = random.normal(size=(2, 256, 256)).astype(np.float32)
    means = random.normal(scale=1e-2, size=(2, 256, 256)).astype(np.float32)
    squares = random.uniform(1e-5, 1e-3, (2, 256, 256)).astype(np.float32)
    scales = np.float32([0.5, 0.2])
    state = [*tables, *means, *squares, *(scale.reshape(()) for scale in scales)]
    batch = random.randint(0, 8, (3, 100))
    got = program.step(*state, *batch, np.float32(0.03))
    expected = step64(state, *batch, 0.03)
    for index, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        small = ULP * np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, 8 * ULP, small, err_msg=f"result {index}")


def test_the_loss_before_training_is_that_of_256_alike(
    program: kina.Module, texts: ModuleType, training: ModuleType
) -> None:
    positions = texts.Positions.of(texts.read()[1])
    assert len(positions) % training.CHUNK != 0
    loss = training.mean_loss(program, training.initial(), positions)
    assert loss == pytest.approx(math.log(256), abs=5e-5)


def test_a_run_learns_and_can_be_repeated(
    program: kina.Module, texts: ModuleType, training: ModuleType
) -> None:
    text, held_out = (texts.Positions.of(part) for part in texts.read())
    plan = training.Plan(steps=8, batch=512)
    once, again = (list(training.train(program, text, plan)) for _ in range(2))
    losses = [loss for loss, _ in once]
    assert all(after < before for before, after in pairwise(losses))
    assert losses == [loss for loss, _ in again]
    state = once[-1][1]
    for first, second in zip(state, again[-1][1], strict=True):
        np.testing.assert_array_equal(first, second)
    seen = [training.mean_loss(program, at, held_out) for at in (training.initial(), state)]
    assert seen[1] < seen[0] - 0.5


def test_the_same_seed_samples_the_same_text(program: kina.Module, training: ModuleType) -> None:
    random = np.random.RandomState(4)
    state = tuple(random.normal(size=(2, 256, 256)).astype(np.float32))
    how = training.Sampling(size=20)
    once, again = (training.sample(program, state, b"The ", how) for _ in range(2))
    assert once == again
    assert (once[:4], len(once)) == (b"The ", 24)
    assert once != training.sample(program, state, b"The ", training.Sampling(size=20, seed=8))


def test_a_cold_model_follows_its_tables(program: kina.Module, training: ModuleType) -> None:
    last, before = np.zeros((2, 256, 256), np.float32)
    last[ord("a"), ord("b")] = last[ord("b"), ord("a")] = 5
    before[ord("b"), ord("c")] = 9
    text = training.sample(
        program, (last, before), b"xa", training.Sampling(size=3, temperature=0.01)
    )
    assert text == b"xabac"


def test_the_last_chapters_are_held_out(texts: ModuleType) -> None:
    train, held_out = texts.read()
    headings = [b"8. After This, and After This\n", b"8. The Map on the Wall\n"]
    assert all(heading in held_out and heading not in train for heading in headings)
    assert (train.count(b"\n1. "), train.count(b"\n7. ")) == (2, 2)
    assert held_out.count(b"\n\n") > 20
    assert b"\n" not in held_out.replace(b"\n\n", b"")


def test_a_position_is_a_byte_and_the_two_before_it(texts: ModuleType) -> None:
    positions = texts.Positions.of(b"heron")
    assert [bytes(array.tolist()) for array in positions.arrays] == [b"ero", b"her", b"ron"]
    chosen = positions.at(np.array([2, 0]))
    assert [bytes(array.tolist()) for array in chosen.arrays] == [b"oe", b"rh", b"nr"]


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What `train.py` prints."""
    monkeypatch.setattr("sys.argv", ["train.py", *options])
    module("train", monkeypatch).main()
    return capsys.readouterr().out


def test_the_script_draws_and_prints_the_same_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    curve = tmp_path / "new" / "loss.png"
    options = ("--steps=12", "--batch=256", "--size=40", f"-o{curve}")
    once, again = (run(monkeypatch, capsys, *options) for _ in range(2))
    assert once == again
    assert "5.5452  8.0000  before training" in once
    assert "  The heron " in once
    assert curve.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "option", ["--steps=0", "--rate=0", "--temperature=nan", "--seed=-1", "--prompt=x"]
)
def test_the_script_refuses_options_without_meaning(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(monkeypatch, capsys, option)
    assert "expected" in capsys.readouterr().err


def test_the_script_says_at_once_that_matplotlib_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module("train", monkeypatch), "find_spec", lambda _name: None)
    with pytest.raises(SystemExit, match="matplotlib draws the curve"):
        run(monkeypatch, capsys)
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("torch")
def test_pytorch_comes_to_the_same_losses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comparison = module("compare_torch", monkeypatch)
    plan = module("training", monkeypatch).Plan(steps=20, batch=512)
    assert comparison.compare(plan) < comparison.TOLERANCE
    assert "held-out text" in capsys.readouterr().out
