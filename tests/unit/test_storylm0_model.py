"""`examples/storylm0`, at a tiny size: the model, a training step, its caches, and the host."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import kina

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE, TOOLS = ROOT / "examples" / "storylm0", ROOT / "tools"
TINY = {
    "L=5, D=128, H=4, K=32, M=512": "L=2, D=16, H=2, K=8, M=24",
    "[5, B, 4, S, 32]": "[2, B, 2, S, 8]",
    "128": "16",
}
LAYERS, WIDTH, HEADS, COLUMNS, HIDDEN, TOKENS = 2, 16, 2, 8, 24, 256
SIZES = dict(LAYERS=LAYERS, WIDTH=WIDTH, HEADS=HEADS, COLUMNS=COLUMNS, HIDDEN=HIDDEN)
EVERYTHING = """
import "model.kina"
import "storylm0_forward.kina"
import "storylm0_loss.kina"
import "storylm0_train.kina"
let logits = fn(p: Model, tokens: tensor<I64, [B, T]>) -> tensor<F32, [B, T, 256]> {
  forward(p, tokens)
}
let losses = fn(
  p: Model,
  tokens: tensor<I64, [B, T]>,
  targets: tensor<I64, [B, T]>
) -> tensor<F32, [B, T]> {
  nll(p, tokens, targets)
}
let descend = fn(
  p: Model,
  state: State,
  tokens: tensor<I64, [B, T]>,
  targets: tensor<I64, [B, T]>,
  rate: tensor<F32, []>,
  decay: tensor<F32, []>
) -> (Model, State, tensor<F32, []>) {
  train(p, state, tokens, targets, rate, decay)
}
"""
Array = np.ndarray
Record = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs at a tiny size."""
    made = tmp_path_factory.mktemp("storylm0")
    for program in EXAMPLE.glob("*.kina"):
        text = program.read_text(encoding="utf-8")
        for old, new in TINY.items():
            text = text.replace(old, new)
        (made / program.name).write_text(text, encoding="utf-8")
    (made / "everything.kina").write_text(EVERYTHING, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def training(folder: Path) -> kina.Module:
    return kina.load(folder / "everything.kina", threads=False)


@pytest.fixture(scope="module")
def decoding(folder: Path) -> kina.Module:
    return kina.load(folder / "storylm0_step.kina", threads=False)


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)


def module(name: str) -> ModuleType:
    """A module of the example."""
    return importlib.import_module(name)


@pytest.fixture
def weights(training: kina.Module) -> dict[str, Array]:
    """Random parameters, norms too, far from where training begins."""
    parameters = module("parameters")
    made = parameters.initial(parameters.shapes(training.logits, "p"), 3)
    random = np.random.RandomState(5)
    return {
        name: array + random.normal(scale=0.1, size=array.shape).astype(np.float32)
        for name, array in made.items()
    }


def nested(weights: dict[str, Array]) -> Record:
    return module("parameters").nested(weights)


def text(*shape: int, seed: int = 4) -> Array:
    return np.random.RandomState(seed).randint(0, TOKENS, shape, np.int64)


def meaning(w: dict[str, Array], tokens: Array) -> Array:
    """The logits, by NumPy in float64."""

    def norm(x: Array, weight: Array) -> Array:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * weight

    w = {name: array.astype(np.float64) for name, array in w.items()}
    batch, length = tokens.shape
    x = w["embedding"][tokens]
    distance = np.arange(length)[:, None] - np.arange(length)
    bias = distance * 4.0 ** -(1 + np.arange(HEADS))[:, None, None]
    gelu = np.vectorize(lambda v: v * (1 + math.erf(v / math.sqrt(2))) / 2)
    for layer in range(LAYERS):
        part = {n.removeprefix("layers."): a[layer] for n, a in w.items() if "layers." in n}
        rows = np.einsum("btd,dnhk->nbhtk", norm(x, part["attention_norm"]), part["qkv"])
        scores = rows[0] @ rows[1].swapaxes(-1, -2) / math.sqrt(COLUMNS) - bias
        scores = np.where(distance >= 0, scores, -np.inf)
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        x = x + np.einsum("bhtk,hkd->btd", p @ rows[2], part["out"])
        x = x + gelu(norm(x, part["mlp_norm"]) @ part["up"]) @ part["down"]
    assert x.shape == (batch, length, WIDTH)
    return norm(x, w["norm"]) @ w["head"]


def mean_loss(w: dict[str, Array], tokens: Array, targets: Array) -> float:
    logits = meaning(w, tokens)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    logp = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -float(np.take_along_axis(logp, targets[..., None], axis=-1).mean())


def test_logits_and_losses_are_those_of_numpy(
    training: kina.Module, weights: dict[str, Array]
) -> None:
    tokens, p = text(2, 9), nested(weights)
    expected = meaning(weights, tokens)
    np.testing.assert_allclose(training.logits(p, tokens), expected, rtol=1e-4, atol=1e-5)
    losses = training.losses(p, tokens, text(2, 9, seed=6))
    assert losses.mean() == pytest.approx(mean_loss(weights, tokens, text(2, 9, seed=6)), rel=1e-5)


def test_a_training_step_follows_the_slope(
    training: kina.Module, weights: dict[str, Array]
) -> None:
    """Gradients are those of float64 differences along random ways; AdamW is its formula."""
    parameters, tokens, targets = module("parameters"), text(2, 9), text(2, 9, seed=6)
    zero = {name: np.zeros_like(array) for name, array in weights.items()}
    state = {"m": nested(zero), "v": nested(zero)}
    state |= {"scale_m": np.float32(0), "scale_v": np.float32(0)}
    rate, decay = np.float32(0.01), np.float32(0.1)
    p, state, loss = training.descend(nested(weights), state, tokens, targets, rate, decay)
    assert loss == pytest.approx(mean_loss(weights, tokens, targets), rel=1e-5)
    moments, after = parameters.flat(state.m), parameters.flat(p)
    slopes = {name: array.astype(np.float64) * 10 for name, array in moments.items()}
    random = np.random.RandomState(8)
    for name, array in weights.items():
        way = random.normal(size=array.shape)
        ends = [
            mean_loss({**weights, name: array + h * way}, tokens, targets) for h in (1e-4, -1e-4)
        ]
        expected = (ends[0] - ends[1]) / 2e-4
        assert (slopes[name] * way).sum() == pytest.approx(expected, rel=2e-3, abs=1e-5), name
        share = 0 if name.endswith("norm") else 0.1
        step = slopes[name] / (np.abs(slopes[name]) + 1e-8) + share * array
        np.testing.assert_allclose(after[name], array - 0.01 * step, rtol=1e-4, atol=1e-6)


def caches(capacity: int, batch: int) -> Record:
    shape = (LAYERS, batch, HEADS, capacity, COLUMNS)
    return {"keys": np.zeros(shape, np.float32), "values": np.zeros(shape, np.float32)}


def decoded(decoding: kina.Module, p: Record, tokens: Array, capacity: int, *ends: int) -> Array:
    """The logits of all tokens, prefilled in pieces that end there, into one cache in place."""
    cache, found, at = caches(capacity, len(tokens)), [], 0
    for end in ends:
        _, logits = decoding.prefill(p, cache, tokens[:, at:end], np.int64(at), out=(cache, None))
        found.append(logits)
        at = end
    return np.concatenate(found, axis=1)


def test_every_way_to_the_logits_has_the_same_bits(
    training: kina.Module, decoding: kina.Module, weights: dict[str, Array]
) -> None:
    """Whole texts, any batch, prefills of any length, one token by one in place, and by concat."""
    tokens, p = text(3, 70), nested(weights)
    expected = training.logits(p, tokens)

    def same(logits: Array, rows: slice = slice(None), until: int = 70) -> None:
        assert logits.tobytes() == expected[rows, :until].tobytes()

    same(training.logits(p, tokens[1:2]), slice(1, 2))
    same(training.logits(p, tokens[:, :33]), until=33)
    same(decoded(decoding, p, tokens, 70, 70))
    same(decoded(decoding, p, tokens, 90, 1, 34, 35, 70))
    one, row = [], slice(2, 3)
    cache = caches(128, 1)
    for at in range(70):
        token = tokens[row, at : at + 1]
        _, logits = decoding.step(p, cache, token, np.int64(at), out=(cache, None))
        one.append(logits)
    same(np.concatenate(one, axis=1), row)
    grown, joined = caches(1, 3), []
    grown, logits = decoding.prefill(p, grown, tokens[:, :1], np.int64(0))
    joined.append(logits)
    for at in range(1, 70):
        grown, logits = decoding.append(p, grown, tokens[:, at : at + 1])
        joined.append(logits)
    same(np.concatenate(joined, axis=1))
    assert grown.keys.shape == (LAYERS, 3, HEADS, 70, COLUMNS)


def test_what_does_not_fit_into_the_cache_is_an_error(
    decoding: kina.Module, weights: dict[str, Array]
) -> None:
    p, cache = nested(weights), caches(8, 1)
    before = {name: array.copy() for name, array in cache.items()}
    with pytest.raises(kina.KinaIndexError, match=r"update: at 8 is outside 0 \.\. 7"):
        decoding.step(p, cache, text(1, 1), np.int64(8), out=(cache, None))
    for name, array in before.items():
        assert array.tobytes() == cache[name].tobytes()


def run_of(training: kina.Module, steps: int = 6) -> Any:
    host = module("story_run")
    plan = host.Plan(steps=steps, batch=2, length=8, rise=2)
    return host.Run.begin(plan, training.descend)


def test_a_run_that_was_ended_goes_on_as_if_it_had_not(
    training: kina.Module, tmp_path: Path
) -> None:
    host, path = module("story_run"), tmp_path / "deep" / "run.safetensors"
    text = host.tokens(b"the quick brown fox jumps over the lazy dog. " * 3)
    whole = run_of(training)
    losses = list(whole.train(training.descend, text))
    assert losses[-1] < losses[0]
    part = run_of(training)
    for _ in zip(range(3), part.train(training.descend, text), strict=False):
        part.save(path)
    again = host.Run.load(path, part.plan, training.descend)
    assert again.done == 3
    assert [*again.losses, *again.train(training.descend, text)][-3:] == losses[-3:]
    assert again.losses == losses
    for name, array in whole.tensors.items():
        assert array.tobytes() == again.tensors[name].tobytes(), name
    other = run_of(training, 7).plan
    with pytest.raises(ValueError, match=r"run\.safetensors: a checkpoint of another plan"):
        host.Run.load(path, other, training.descend)


def test_bits_per_byte_sees_half_a_window(training: kina.Module, weights: dict[str, Array]) -> None:
    host, line = module("story_run"), bytes(range(40, 70))
    got = host.bits_per_byte(training.losses, weights, line, window=8)
    codes, total = host.tokens(line), 0.0
    for place in range(1, len(line)):
        start = max(0, (place - 1) // 4 * 4 - 4)
        seen = codes[None, start:place]
        total += training.losses(nested(weights), seen, codes[None, start + 1 : place + 1])[0, -1]
    assert got == pytest.approx(total / 29 / math.log(2), rel=1e-6)


def damaged(path: Path) -> Iterator[tuple[bytes, str]]:
    """What a file may be, and what is then said."""
    whole = path.read_bytes()
    yield whole[:-10], "ends 10 bytes before head does: a part is missing"
    yield whole[:40], "its header does not end"
    yield b"", "its header does not end"
    yield b"PK\3\4" + whole, "its header does not end"
    yield (8).to_bytes(8, "little") + b"not json", "its header is not one"
    yield whole.replace(b'"norm"', b'"nrom"'), "misses norm and has nrom"
    yield whole.replace(b"[256, 16]", b"[512, 16]"), "embedding of shape [512, 16] cannot be in"
    yield whole.replace(b"[256, 16]", b"[16, 256]"), "embedding is float32 [16, 256], expected"


def test_weights_that_are_none_are_refused(weights: dict[str, Array], tmp_path: Path) -> None:
    files, parameters = module("tensor_file"), module("parameters")
    path, wanted = tmp_path / "w.safetensors", {n: a.shape for n, a in weights.items()}
    files.save(path, weights, {"a": "b"})
    found = parameters.read_weights(path, wanted)
    assert {n: a.tobytes() for n, a in found.items()} == {
        n: a.tobytes() for n, a in weights.items()
    }
    assert files.load(path)[1] == {"a": "b"}
    for content, message in damaged(path):
        path.write_bytes(content)
        with pytest.raises(files.BadFile) as caught:
            parameters.read_weights(path, wanted)
        assert message in str(caught.value)
        assert str(path) in str(caught.value)


def test_hashes_are_the_kept_ones(training: kina.Module, decoding: kina.Module) -> None:
    """What `tools/conformance.py` computes, with this model."""
    names = {"forward": "logits", "nll": "losses", "train": "descend"}
    functions = {name: training[own] for name, own in names.items()}
    functions |= {name: decoding[name] for name in decoding}
    spec = importlib.util.spec_from_file_location("conformance", TOOLS / "conformance.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    kept = json.loads((TOOLS / "conformance.json").read_text())["tiny"]
    for what, way, got in tool.rows(functions):
        assert got == kept.get(what), f"{what}: {way}"


@pytest.mark.sweep
def test_every_level_has_the_kept_hashes() -> None:
    command = [sys.executable, TOOLS / "conformance.py", "--targets", "all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def linked(folder: Path, target: str, compiler: str) -> Path:
    """The C program, linked to a library of the tiny model."""
    library, built = folder / "libstorylm0.so", folder / "generate"
    program = folder / "storylm0_step.kina"
    kina_build = [Path(sys.executable).parent / "kina", "build", program, "-o", library]
    words = [*kina_build, "--target", target, "--no-threads"]
    subprocess.run(words, check=True, capture_output=True)
    sizes = [f"-D{name}={size}" for name, size in SIZES.items()]
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{folder}", *sizes]
    link = [f"-L{folder}", "-lstorylm0", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([compiler, *flags, EXAMPLE / "generate.c", "-o", built, *link], check=True)
    return built


@pytest.fixture(scope="module")
def from_c(folder: Path) -> Path:
    return linked(folder, "native", "cc")


@pytest.mark.sweep
def test_aarch64_writes_the_same_tokens(
    folder: Path, from_c: Path, weights: dict[str, Array], tmp_path: Path
) -> None:
    compiler, qemu = "aarch64-linux-gnu-gcc", "qemu-aarch64"
    if shutil.which(compiler) is None or shutil.which(qemu) is None:
        pytest.skip("a compiler for aarch64, or qemu-aarch64, is not installed here: not run")
    shutil.copytree(folder, tmp_path / "arm")
    path = tmp_path / "w.safetensors"
    module("tensor_file").save(path, weights, {})
    words = [path, "The heron", "32", "0.8", "11"]
    mine = subprocess.run([from_c, *words], check=True, capture_output=True)
    program = linked(tmp_path / "arm", "aarch64", compiler)
    emulated = [qemu, "-L", "/usr/aarch64-linux-gnu", program, *words]
    theirs = subprocess.run(emulated, check=True, capture_output=True)
    assert mine.stdout == theirs.stdout


def test_python_and_c_write_the_same_tokens(
    from_c: Path, decoding: kina.Module, weights: dict[str, Array], tmp_path: Path
) -> None:
    files, generation = module("tensor_file"), module("generation")
    path = tmp_path / "w.safetensors"
    files.save(path, weights, {})

    def run(*arguments: str, status: int = 0) -> str:
        command = [from_c, path, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    generator = generation.Generator(decoding, path, 60)
    greedy = generator.greedy(b"The heron", 32)
    assert run("The heron", "32").split() == [*map(str, greedy)]
    drawn = generator.sampled(b"The heron", 32, generation.Sampling(0.8, 11))
    assert run("The heron", "32", "0.8", "11").split() == [*map(str, drawn)]
    assert len(greedy) == len(drawn) == 32
    assert drawn not in (greedy, generator.sampled(b"The heron", 32, generation.Sampling(0.8, 12)))
    with pytest.raises(ValueError, match="do not fit into a cache of 60 tokens"):
        generator.greedy(b"x" * 30, 31)
    assert "do not fit into a cache" in run("x" * 500, "32", status=1)
    for content, _ in damaged(path):
        path.write_bytes(content)
        assert "w.safetensors: " in run("x", "1", status=1)
