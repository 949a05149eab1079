"""Memory of compiled functions: every allocation is checked, and nothing leaks where one fails."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from helpers.same_bits_programs import source
from kina.backend import codegen
from kina.backend.lowering import lower
from kina.backend.options import Options
from kina.backend.stages import checked
from kina.backend.targets import TARGETS
from kina.backend.toolchain import CC, run
from kina.frontend.source import Source
from kina.status import OUT_OF_MEMORY

BOTH = pytest.mark.parametrize("fast", [True, False], ids=["scheduled", "plain"])
PROGRAMS = {
    "temporaries": """let f = fn(
  x: tensor<F32, [4, 256, 1024]>,
  t: tensor<I64, [4, 256]>
) -> tensor<F32, [4, 256]> {
  x.softmax(axis=1).softmax(axis=2).softmax(axis=1).softmax(axis=2).take_along_axis(t, axis=2)
}""",
    "a pipeline": """let f = fn(
  x: tensor<F32, [1024, 1024]>,
  t: tensor<I64, [1024]>
) -> tensor<F32, [1024]> {
  let rows = x.slice(axis=1, start=0, size=9) in
  rows.matmul(rows.transpose([1, 0])).log_softmax(axis=1).take_along_axis(t, axis=1)
}""",
}
CHOSEN = """
let chosen = fn(x: tensor<F32, [B, T, 8]>, t: tensor<I64, [B, T]>) -> tensor<F32, [B, T]> {
  x.take_along_axis(t, axis=2)
}"""
FAILING_MALLOC = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static int inside, left, held, taken;
void *__libc_malloc(size_t n);
void __libc_free(void *p);
void *malloc(size_t n) {
  if (!inside) return __libc_malloc(n);
  if (left-- <= 0) return NULL;
  held++; taken++;
  return __libc_malloc(n);
}
void free(void *p) { if (p) { held -= inside; __libc_free(p); } }
int32_t kina_f(const float *x, const int64_t *t, float *y);
static float x[1024 * 1024], y[1024];
static int64_t t[1024];
int main(void) {
  for (int allowed = 0; allowed < 80; allowed++) {
    for (int i = 0; i < 1024; i++) y[i] = 7;
    left = allowed; held = 0; taken = 0;
    inside = 1;
    int32_t status = kina_f(x, t, y);
    inside = 0;
    int written = 0;
    for (int i = 0; i < 1024; i++) written += y[i] != 7;
    fprintf(stderr, "%d %d %d %d\\n", (int)status, held, taken, written);
  }
  return 0;
}
"""


FEW = {
    "softmax_columns": (),
    "stats_inner": (65,),
    "scans_inner": (7,),
    "nll": (65,),
    "dnll": (),
    "norms": (65,),
    "dnorms": (),
    "matmul_wide": (65,),
    "dmatmul": (),
    "draws": (130,),
}


@cache
def lowered(program: str, *, fast: bool) -> tuple[str, list[str]]:
    """The code for mlir-opt and the names of its functions."""
    options = Options("native", fast=fast, threads=False)
    part = lower(checked(Source("t.kina", program), options), options)
    return part.code, [function.symbol for function in part.functions]


@BOTH
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_failed_allocation_is_a_status_and_leaks_nothing(
    program: str, fast: bool, tmp_path: Path
) -> None:
    """With 0, 1, 2, … successful allocations: status -1, nothing written, until all succeed."""
    code, symbols = lowered(PROGRAMS[program], fast=fast)
    target = TARGETS["native"]
    llvm_ir = codegen.optimise(codegen.to_llvm_ir(code), target, symbols)
    codegen.to_object(llvm_ir, target, tmp_path / "f.o")
    (tmp_path / "main.c").write_text(FAILING_MALLOC)
    executable = tmp_path / "main"
    run(CC, ["-O0", "-fno-builtin", "-o", executable, tmp_path / "main.c", tmp_path / "f.o", "-lm"])
    done = subprocess.run([executable], capture_output=True, text=True, check=True)
    calls = [tuple(map(int, line.split())) for line in done.stderr.splitlines()]
    needed = calls[-1][2]
    assert needed > 0
    assert [held for _, held, _, _ in calls] == [0] * 80
    assert [bool(written) for *_, written in calls] == [False] * needed + [True] * (80 - needed)
    assert [status for status, *_ in calls] == [OUT_OF_MEMORY] * needed + [0] * (80 - needed)


FOLD = """let _layer = fn(x: tensor<F32, [N, 64]>, w: tensor<F32, [64, 64]>)
  -> tensor<F32, [N, 64]> { x.matmul(w).tanh() + x }
let f = fn(x: tensor<F32, [N, 64]>, w: tensor<F32, [L, 64, 64]>) -> tensor<F32, [N, 64]> {
  fold(_layer, x, over=[w])
}"""
LOADED_WITHOUT_MEMORY = """\
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static int inside, left, held;
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void __libc_free(void *p);
static int refused(void) { return inside && left-- <= 0; }
void *malloc(size_t n) { return refused() ? NULL : (held += inside, __libc_malloc(n)); }
void *calloc(size_t n, size_t m) {
  return refused() ? NULL : (held += inside, __libc_calloc(n, m));
}
void free(void *p) { if (p) { held -= inside; __libc_free(p); } }
typedef int32_t function(int64_t, int64_t, const float *, const float *, float *);
static float x[100 * 64], w[3 * 64 * 64], y[100 * 64];
int main(int count, char **names) {
  void *library = dlopen(names[1], RTLD_NOW);
  function *f = (function *)dlsym(library, "kina_f");
  left = atoi(names[2]);
  inside = 1;
  int32_t status = f(100, 3, x, w, y);
  inside = 0;
  printf("%d %d\\n", (int)status, held);
  return 0;
}
"""


def test_a_fold_of_a_loaded_library_may_fail_at_its_first_allocation(tmp_path: Path) -> None:
    """What threads have of their own in a loaded library is allocated at its first use."""
    library, executable = tmp_path / "libf.so", tmp_path / "main"
    (tmp_path / "f.kina").write_text(FOLD)
    command = [sys.executable, "-m", "kina.cli.main", "build", tmp_path / "f.kina", "-o", library]
    subprocess.run([*command, "--target", "native"], check=True, capture_output=True)
    (tmp_path / "main.c").write_text(LOADED_WITHOUT_MEMORY)
    flags = ["-O0", "-fno-builtin", "-rdynamic", "-o", executable]
    run(CC, [*flags, tmp_path / "main.c", "-ldl"])
    environment = {**os.environ, "KINA_NUM_THREADS": "1"}
    calls: list[tuple[int, ...]] = []
    for allowed in range(12):
        command = [executable, library, str(allowed)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env=environment
        )
        calls.append(tuple(map(int, done.stdout.split())))
    needed = sum(status == OUT_OF_MEMORY for status, _ in calls)
    assert 0 < needed < len(calls)
    assert calls == [(OUT_OF_MEMORY, 0)] * needed + [(0, 0)] * (len(calls) - needed)


@BOTH
def test_bufferization_allocates_nothing(fast: bool) -> None:
    """Nobody would compare it with null, or free it."""
    code, _ = lowered(source(FEW) + CHOSEN, fast=fast)
    llvm_ir = codegen.to_llvm_ir(code)
    made = llvm_ir.count(" = call ptr @malloc(")
    assert made == code.count("= memref.alloc(") > 0
    assert llvm_ir.count("call void @free(") >= made


def test_kernels_are_loops_over_memory() -> None:
    """No tensor and no linalg is left in one, and nothing is allocated."""
    code, _ = lowered(source(FEW), fast=True)
    kernels = [part for part in code.split("\n  func.func ") if part.startswith("private @kina_")]
    assert len(kernels) > len(FEW)
    for kernel in kernels:
        for word in ("linalg.", "tensor.", "memref.alloc("):
            assert word not in kernel


SMALL_CHECKS = """let nll = fn(x: tensor<F32, [1, 4, 8]>, t: tensor<I64, [1, 4]>)
  -> tensor<F32, [1, 4]> {
  -x.log_softmax(axis=2).take_along_axis(t, axis=2)
}
let rows = fn(x: tensor<F32, [8, 3]>, t: tensor<I64, [2]>) -> tensor<F32, [2, 3]> {
  gather(x + gather(x, tensor<I64, [8]>(7, 6, 5, 4, 3, 2, 1, 0)), t)
}
"""


@BOTH
@pytest.mark.parametrize("program", [source(FEW), SMALL_CHECKS], ids=["few", "checks"])
def test_nothing_is_allocated_where_nobody_frees(program: str, fast: bool) -> None:
    """What bufferization would allocate by itself is never freed: there is nothing of that."""
    code, _ = lowered(program, fast=fast)
    made = codegen.to_llvm_ir(code).count(" = call ptr @malloc(")
    assert made == code.count(" = memref.alloc(")
