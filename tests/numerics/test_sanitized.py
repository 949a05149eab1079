"""Compiled code under sanitizers: no access beside memory, none that races with another thread.

Between guard pages and under valgrind, an access that leaves one array for another of the same
library, or its own stack, goes unseen; here each access is looked at by itself.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import kina
from helpers import same_bits_programs as programs
from helpers.replay import Call, Machine, Replay, host_levels
from helpers.sanitized import ADDRESS, THREAD, Sanitizer
from kina.backend.build import build
from kina.backend.options import Options
from kina.frontend.source import Source

NAME = "sanitized.kina"
FEW: Mapping[str, Sequence[int]] = dict.fromkeys(("nll", "sum_columns"), ())
MANY: Mapping[str, Sequence[int]] = {
    **FEW,
    **dict.fromkeys(("softmax_rows", "softmax_columns", "matmul_deep", "sample"), ()),
    **dict.fromkeys(("dnll", "stats_F16", "integers"), ()),
    "top_rows": (65,),
}
EXTRA = """let _layer = fn(x: tensor<F32, [B, N]>, w: tensor<F32, [N]>) -> tensor<F32, [B, N]> {
  (x * w.broadcast([B, N])).softmax(axis=0) + x
}
let layers = fn(x: tensor<F32, [B, N]>, w: tensor<F32, [L, N]>) -> tensor<F32, [B, N]> {
  fold(_layer, x, over=[w])
}
let put = fn(x: tensor<F32, [B, N]>, w: tensor<F32, [L, N]>) -> tensor<F32, [B, N]> {
  x.update(concat(w, w * 2.0, axis=0).slice(axis=0, start=L - 1, size=2), at=B - 2, axis=0)
}
"""
SIZES = {ADDRESS: (7, 65, 130, 1000), THREAD: (7, 130, 40000)}
"""The last are shared by threads."""


class Setup:
    """The programs, and calls of them."""

    def __init__(self, folder: Path, chosen: Mapping[str, Sequence[int]]) -> None:
        self.folder, self.names = folder, {*chosen, "layers", "put"}
        self.source = Source(NAME, programs.source(chosen) + EXTRA)
        module = kina.compile(self.source.text, name=NAME)
        types = {name: module[name].type for name in module if name in chosen}
        self.calls = programs.calls(types, chosen) + [
            _stacked(name, size) for name in ("layers", "put") for size in (7, 130, 1000)
        ]
        native = build(self.source, Options("native"))
        self.replay, self.library = Replay(folder, native.functions), native.library


def _stacked(name: str, size: int) -> Call:
    random = np.random.default_rng(size)
    arrays = (random.normal(size=(rows, size)).astype(np.float32) for rows in (9, 3))
    return Call(name, size, tuple(arrays))


@pytest.fixture(scope="module", params=["few", pytest.param("many", marks=pytest.mark.sweep)])
def setup(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    chosen = {"few": FEW, "many": MANY}[request.param]
    return Setup(tmp_path_factory.mktemp("sanitized"), chosen)


def require(sanitizer: Sanitizer, level: str, folder: Path) -> None:
    """Skip where something is missing."""
    if level not in host_levels():
        pytest.skip(f"this CPU has no {level}: not run")
    if not sanitizer.is_there(folder):
        pytest.skip(f"the C compiler has no sanitizer for {sanitizer.name} here: not run")


@pytest.mark.parametrize(
    ("sanitizer", "level"),
    [
        (ADDRESS, "x86-64-v3"),
        (THREAD, "x86-64-v2"),
        pytest.param(ADDRESS, "x86-64-v2", marks=pytest.mark.sweep),
        pytest.param(ADDRESS, "x86-64-v4", marks=pytest.mark.sweep),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_nothing_is_found(setup: Setup, sanitizer: Sanitizer, level: str) -> None:
    """And all has the bits that it has without."""
    require(sanitizer, level, setup.folder)
    calls = [call for call in setup.calls if call.size in SIZES[sanitizer]]
    assert {call.function for call in calls} == setup.names
    wanted = setup.replay.run(calls, Machine(), setup.library)
    library = sanitizer.library(setup.source, level, setup.folder)
    got = setup.replay.run(calls, sanitizer, library)
    assert setup.replay.differences(calls, got, wanted) == []


WRONG = """#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
int32_t kina_f(int64_t size, const float *x, float *out);
static void *write(void *x) { return ((float *)x)[3] = 1, NULL; }
int main(int count, char **words) {
  float *x = calloc(8, sizeof *x), *out = malloc(16 * sizeof *out);
  pthread_t other;
  (void)words;
  if (pthread_create(&other, NULL, write, count > 1 ? out : x)) return 1;
  int32_t status = kina_f(count > 1 ? 9 : 8, x, out + 4);
  pthread_join(other, NULL);
  return free(x), free(out), status;
}
"""
LEVEL = "x86-64-v2"
"""It has no masked loads: they are single ones, which every sanitizer looks at."""
FOUND = {ADDRESS: ("heap-buffer-overflow", ["larger"]), THREAD: ("data race", [])}


@pytest.mark.parametrize("sanitizer", FOUND, ids=lambda each: each.name)
def test_what_is_looked_for_is_found(sanitizer: Sanitizer, tmp_path: Path) -> None:
    """A size that is larger than the array; a thread that writes what the function reads."""
    require(sanitizer, LEVEL, tmp_path)
    source = Source(NAME, "let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x + 1.0 }")
    library, program = sanitizer.library(source, LEVEL, tmp_path), tmp_path / "wrong"
    (tmp_path / "wrong.c").write_text(WRONG)
    sanitizer.compile(program, tmp_path / "wrong.c", library, f"-Wl,-rpath,{tmp_path}", "-pthread")
    wanted, words = FOUND[sanitizer]
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert wanted in done.stderr
    assert "kina_f" in done.stderr
