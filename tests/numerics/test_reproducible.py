"""The same program on the same inputs gives the same bits.

On every target, any number of threads, with static and symbolic sizes, for a row alone and in a
batch. A NaN is a NaN: its sign and payload are not promised.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import kina
from helpers import same_bits_programs as programs
from helpers.replay import Call, Machine, Replay, Results, differences, host_levels
from kina.backend.build import build
from kina.backend.cache import Artifact
from kina.backend.options import Options
from kina.backend.stages import emit
from kina.backend.targets import FAT, TARGETS, host_machine
from kina.frontend.source import Source
from kina.order import ordered_sum
from kina.types import TensorType

X86_64 = pytest.mark.skipif(host_machine() != "x86_64", reason="this machine is not x86-64")
NAME = "same_bits.kina"


@dataclass
class Setup:
    """The programs, compiled once for each target that a test asks for, and calls of them."""

    chosen: Mapping[str, Sequence[int]]
    folder: Path

    def artifact(self, target: str, *, threads: bool = True) -> Artifact:
        return build(Source(NAME, programs.source(self.chosen)), Options(target, threads))

    @cached_property
    def module(self) -> kina.Module:
        return kina.compile(programs.source(self.chosen), name=NAME)

    @cached_property
    def calls(self) -> list[Call]:
        """Calls of the functions with symbols."""
        return programs.calls({name: self.module[name].type for name in self.module}, self.chosen)

    @cached_property
    def twins(self) -> list[tuple[int, Call]]:
        """Some of them again, with static sizes."""
        return programs.twin_calls(self.calls, self.chosen)

    @cached_property
    def everything(self) -> list[Call]:
        return [*self.calls, *(call for _, call in self.twins)]

    @cached_property
    def replay(self) -> Replay:
        return Replay(self.folder, self.artifact("native").functions)

    @cached_property
    def native(self) -> Results:
        """What the others are compared with: this CPU, one thread."""
        machine = Machine(environment={"KINA_NUM_THREADS": "1"})
        return self.replay.run(self.everything, machine, self.artifact("native").library)

    def check(
        self,
        machine: Machine,
        target: str,
        sizes: Sequence[int] = programs.SIZES,
    ) -> None:
        """A library gives what the native one gives."""
        if machine.missing is not None:
            pytest.skip(f"{machine.missing} is not installed here: not run")
        numbers = [n for n, call in enumerate(self.everything) if call.size in sizes]
        calls = [self.everything[number] for number in numbers]
        wanted = [self.native[number] for number in numbers]
        got = self.replay.run(calls, machine, self.artifact(target).library)
        assert self.replay.differences(calls, got, wanted) == []


@pytest.fixture(scope="module", params=["core", pytest.param("all", marks=pytest.mark.sweep)])
def setup(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    chosen = {"core": programs.CORE, "all": programs.ALL}[request.param]
    return Setup(chosen, tmp_path_factory.mktemp("same_bits"))


@X86_64
@pytest.mark.parametrize("level", FAT["x86-64"])
def test_levels_of_x86_64(setup: Setup, level: str) -> None:
    """One library for all of them, held to one."""
    if level not in host_levels():
        pytest.skip(f"this CPU has no {level}: not run")
    setup.check(Machine(environment={"KINA_CPU": level}), "x86-64")


@X86_64
@pytest.mark.parametrize("model", ["Nehalem", "Haswell"])
def test_old_cpus(setup: Setup, model: str) -> None:
    """The same library where newer instructions are illegal, and software does the arithmetic."""
    machine = Machine(before=("qemu-x86_64", "-cpu", model))
    setup.check(machine, "x86-64", sizes=(7, 65, 130, 16385))


# It translates pieces of so few instructions that its own memory suffices for our vectors.
VALGRIND = (
    *("valgrind", "-q", "--vex-guest-max-insns=8", "--error-exitcode=99"),
    *("--leak-check=full", "--errors-for-leak-kinds=definite,possible"),
)


@X86_64
@pytest.mark.parametrize("level", [pytest.param("x86-64-v2", marks=pytest.mark.sweep), "x86-64-v3"])
def test_under_valgrind(setup: Setup, level: str) -> None:
    """No access beside an array, no branch on what nobody wrote, no leak.

    It knows no AVX-512, and takes the other one of two operands where a maximum meets a NaN: the
    bits are not looked at.
    """
    machine = Machine(before=VALGRIND, environment={"KINA_CPU": level, "KINA_NUM_THREADS": "2"})
    if machine.missing is not None:
        pytest.skip("valgrind is not installed here: not run")
    calls = [call for call in setup.everything if call.size in (7, 130)]
    assert len(calls) > 100
    setup.replay.run(calls, machine, setup.artifact("x86-64").library)


def test_aarch64(setup: Setup) -> None:
    emulated = Machine("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"))
    machine = Machine() if host_machine() == "aarch64" else emulated
    setup.check(machine, "aarch64", sizes=(7, 64, 65, 130, 1000, 16385))


@pytest.mark.parametrize("threads", ["2", "4"])
def test_threads_by_the_environment(setup: Setup, threads: str) -> None:
    setup.check(Machine(environment={"KINA_NUM_THREADS": threads}), "native")


def test_static_and_symbolic_sizes(setup: Setup) -> None:
    static = setup.native[len(setup.calls) :]
    found = [
        f"{twin}, {line}"
        for (number, twin), got in zip(setup.twins, static, strict=True)
        for line in differences(setup.module[twin.function].type, got, setup.native[number])
    ]
    assert found == []


def results(module: kina.Module, name: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What a call returns, as a list."""
    returned = module[name](*arrays)
    return list(returned) if isinstance(returned, tuple) else [returned]


def by_row(setup: Setup) -> list[str]:
    """Functions whose every result has the rows of the arguments."""
    types = {name: setup.module[name].type for name in setup.chosen}
    return [name for name, type_ in types.items() if all("B" in t.dims for t in type_.results)]


def rows_of(
    types: Sequence[TensorType], arrays: Sequence[np.ndarray], rows: Sequence[int]
) -> list[np.ndarray]:
    """Each array with these rows (or fibers) of it; those without rows as they are."""
    return [
        np.take(array, rows, type_.dims.index("B")) if "B" in type_.dims else array
        for type_, array in zip(types, arrays, strict=True)
    ]


@pytest.mark.parametrize("size", [1, 65, 1000, 16385])
def test_a_row_alone_and_anywhere_in_a_batch(setup: Setup, size: int) -> None:
    for name in by_row(setup):
        type_ = setup.module[name].type
        parameters = [parameter.type for parameter in type_.parameters]
        arrays = programs.arguments(type_, size, rows=64)
        batch = results(setup.module, name, arrays)
        for rows in ([0], [37], [63], [5, 63, 0], [*range(29, 64), *range(29)]):
            got = results(setup.module, name, rows_of(parameters, arrays, rows))
            wanted = rows_of(type_.results, batch, rows)
            assert differences(type_, got, wanted) == [], f"{name}, rows {rows} of 64"


@pytest.mark.parametrize(("size", "rows"), [(16385, 130), (1_100_001, 1)])
def test_threads_in_this_process(setup: Setup, size: int, rows: int) -> None:
    """Work that is worth several threads: many rows, and one long row."""
    try:
        for name in setup.chosen:
            arrays = programs.arguments(setup.module[name].type, size, rows=rows)
            kina.set_num_threads(1)
            alone = results(setup.module, name, arrays)
            for threads in (2, 4):
                kina.set_num_threads(threads)
                together = results(setup.module, name, arrays)
                found = differences(setup.module[name].type, together, alone)
                assert found == [], f"{name}, {threads} threads"
    finally:
        kina.set_num_threads(None)


def test_sums_are_in_the_order_of_the_language(setup: Setup) -> None:
    """F32 sums and means, and sums of 16-bit floats, which round once."""
    axes = {"rows": 1, "columns": 0, "inner": 1, "F16": 1}
    checked = 0
    for call, got in zip(setup.everything, setup.native, strict=True):
        kind, _, where = re.sub(r"_\d+$", "", call.function).partition("_")
        if kind not in ("sum", "stats") or where not in axes:
            continue
        x = call.arrays[0]
        with np.errstate(all="ignore"):
            total = ordered_sum(x.astype(np.float32), axes[where])
            mean = total / np.float32(call.size)
        wanted = [total] if kind == "sum" else [mean] if where != "F16" else [total, mean]
        for left, right in zip(got, wanted, strict=False):
            np.testing.assert_array_equal(left, right.astype(x.dtype), err_msg=str(call))
        checked += 1
    assert checked > 50


def test_softmax_is_made_of_its_parts(setup: Setup) -> None:
    """max, exp, a sum in the order of the language, log: fusion changes no bit of any."""

    def math(which: int, x: np.ndarray) -> np.ndarray:
        return setup.module.math(x.reshape(-1))[which].reshape(x.shape)

    axes = {"rows": 1, "columns": 0, "inner": 1}
    checked = 0
    for call, got in zip(setup.everything, setup.native, strict=True):
        kind, _, where = re.sub(r"_\d+$", "", call.function).rpartition("_")
        if kind not in ("softmax", "log_softmax") or where not in axes:
            continue
        x, axis = call.arrays[0], axes[where]
        with np.errstate(all="ignore"):
            shifted = x - x.max(axis, keepdims=True)
            exponential = math(0, shifted)
            total = np.expand_dims(ordered_sum(exponential, axis), axis)
            wanted = exponential / total if kind == "softmax" else shifted - math(1, total)
        np.testing.assert_array_equal(got[0], wanted, err_msg=str(call))
        checked += 1
    assert checked > 50


LIBC = {"malloc", "free", "memcpy", "memmove", "memset", "getenv", "strcmp"}
"""What a library may take from libc: none of it computes."""

POOL = re.compile(
    r"pthread_\w+|sched_getaffinity|__sched_cpucount|sysconf|getpid|clock_gettime"
    r"|sig(fillset|delset)|open|read|close|snprintf|(__isoc23_)?strtoll|str(chr|rchr|cspn|len|ncmp|cpy)"
)
"""What the pool of threads needs on top."""


def taken(artifact: Artifact) -> set[str]:
    """What a library takes from others."""
    shown = subprocess.run(
        ["readelf", "-W", "--dyn-syms", artifact.library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    fields = [line.split() for line in shown.splitlines() if " UND " in line]
    return {line[7].partition("@")[0] for line in fields if len(line) > 7}


EVERY_TARGET = pytest.mark.parametrize("target", ["native", "x86-64", "aarch64"])


def check_compiler(target: str) -> None:
    cross = target == "aarch64" and host_machine() != "aarch64"
    if cross and Machine("aarch64-linux-gnu-gcc").missing:
        pytest.skip("aarch64-linux-gnu-gcc is not installed here: not run")


@EVERY_TARGET
def test_libraries_call_no_mathematics_of_others(setup: Setup, target: str) -> None:
    check_compiler(target)
    wanted = taken(setup.artifact(target))
    assert {"malloc", "free"} <= wanted
    pool = {name for name in wanted - LIBC if POOL.fullmatch(name)}
    assert wanted - pool <= LIBC
    assert pool


FEW = {"softmax_columns": (), "nll": (65,), "dnll": (), "matmul_deep": ()}


@pytest.mark.parametrize(
    "target", ["native", "aarch64", pytest.param("x86-64", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize("chosen", [FEW, pytest.param(programs.ALL, marks=pytest.mark.sweep)])
def test_without_threads_there_is_no_pool(
    tmp_path: Path, chosen: Mapping[str, Sequence[int]], target: str
) -> None:
    check_compiler(target)
    wanted = taken(Setup(chosen, tmp_path).artifact(target, threads=False))
    assert {"malloc", "free"} <= wanted
    assert wanted <= LIBC


PLAIN = """
let multiply_add = fn(
  x: tensor<F32, [N]>, y: tensor<F32, [N]>, z: tensor<F32, [N]>
) -> (tensor<F32, [N]>, tensor<F32, [N]>) { (x * y + z, z - x * y) }
let dot = fn(x: tensor<F32, [B, N]>, y: tensor<F32, [B, N]>) -> tensor<F32, [B]> {
  (x * y).reduce(op=sum, axis=1)
}
"""
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64")
FUSED = re.compile(r"\b(vfn?m(add|sub)\w*|fn?m(add|sub)|fml[as])\b")
RELAXED = re.compile(
    r"\b(fast|reassoc|contract|nnan|ninf|nsz|arcp|afn|unsafe-fp-math|denormal-fp-math)\b"
)


@pytest.mark.parametrize("target", LEVELS)
def test_products_and_sums_are_not_contracted(target: str) -> None:
    """Every target multiplies, rounds and adds; only exp and log ask for fused operations."""
    assert FUSED.search(emit(Source(NAME, PLAIN), "asm", Options(target, threads=False))) is None
    exponential = "let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x.exp() }"
    found = FUSED.search(emit(Source(NAME, exponential), "asm", Options(target, threads=False)))
    assert (found is None) == TARGETS[target].emulates


def test_multiply_add_rounds_twice() -> None:
    module = kina.compile(PLAIN)
    x, y, z = np.random.default_rng(0).normal(0, 1, (3, 1000)).astype(np.float32)
    # Products that cancel all but their rounding errors.
    z[::2] = -(x * y)[::2]
    plus, minus = module.multiply_add(x, y, z)
    np.testing.assert_array_equal(plus, x * y + z)
    np.testing.assert_array_equal(minus, z - x * y)


@pytest.mark.parametrize("target", LEVELS)
def test_no_arithmetic_is_relaxed(target: str) -> None:
    text = PLAIN + "let nll = fn" + programs.FUNCTIONS["nll"]
    shown = emit(Source(NAME, text), "llvm", Options(target, threads=False))
    assert " fadd " in shown
    assert RELAXED.search(shown) is None
