"""A module: threads, processes, introspection, options, and its library."""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kina
from helpers.called import PROGRAM


def test_introspection(module: Any) -> None:
    assert {"nll", "add", "library_path"} <= set(dir(module))
    assert list(module)[:2] == ["nll", "add"]
    assert "program.kina" in repr(module)
    assert repr(module.nll) == f"<kina function {module.nll.type}>"
    assert str(module.scalar.type) == "scalar(x: tensor<F32, []>) -> tensor<F32, []>"
    assert module.library_path.is_file()


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ("kina", "kina.log_softmax"),
        ("linalg", "linalg.generic"),
        ("llvm", "i32 @kina_nll("),
        ("asm", "kina_nll:"),
    ],
)
def test_stages(module: Any, stage: str, part: str) -> None:
    assert part in module.nll.mlir(stage)
    with pytest.raises(kina.KinaValueError, match="unknown stage"):
        module.mlir("nothing")


def test_pickle(module: Any, logits: np.ndarray, targets: np.ndarray) -> None:
    function, whole = pickle.loads(pickle.dumps((module.nll, module)))
    np.testing.assert_array_equal(function(logits, targets), module.nll(logits, targets))
    assert list(whole) == list(module)
    assert str(function.type) == str(module.nll.type)


def test_threads_share_a_function(module: Any) -> None:
    def work(seed: int) -> bool:
        x = np.random.default_rng(seed).standard_normal((5, 7)).astype(np.float32)
        results = [module.softmax(x) for _ in range(50)]
        return all(np.array_equal(results[0], other) for other in results)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def _negated(function: Any, value: float) -> float:
    return float(function(np.array(value, np.float32)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(module: Any, method: str) -> None:
    """A forked child uses what its parent loaded, a fresh one finds the cache."""
    with get_context(method).Pool(1) as pool:
        assert pool.apply(_negated, (module.scalar, 2.5)) == -2.5


def test_small_stack() -> None:
    """Large temporaries are on the heap: a host's thread may have little stack."""
    program = "let f = fn(x: tensor<F32, [1, 400000]>) -> tensor<F32, [1, 400000]> {"
    function = kina.compile(program + " x.log_softmax(axis=1) }").f
    found: list[np.ndarray] = []
    x = np.zeros((1, 400000), np.float32)
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(function(x)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    np.testing.assert_allclose(found[0], -np.log(400000), rtol=1e-5)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_nothing_leaks(module: Any) -> None:
    x = np.zeros((1000, 1000), np.float32)
    t = np.zeros(1000, np.int64)
    bad = t - 1
    for _ in range(3):
        module.both(x, t)
    before = resident_bytes()
    for _ in range(40):
        module.both(x, t)
        with pytest.raises(kina.KinaIndexError):
            module.both(x, bad)
    assert resident_bytes() - before < 20 << 20


def test_float_environment_is_left_alone(module: Any) -> None:
    """No flush to zero in this thread or a new one, after loading and after a call."""

    def smallest() -> float:
        return float(np.float32(1e-40) * np.float32(1))

    found = [smallest()]
    module.total(np.ones(4, np.float32))
    thread = threading.Thread(target=lambda: found.append(smallest()))
    thread.start()
    thread.join()
    assert found == [float(np.float32(1e-40))] * 2
    tiny = np.full(4, 1e-40, np.float32)
    assert module.total(tiny) == tiny[0] * 4


def test_two_libraries_with_equal_names() -> None:
    """Functions and constants of two programs do not mix, also under RTLD_GLOBAL."""
    text = "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {{ x + tensor<F32, [2]>({}) }}"
    programs = [kina.compile(text.format(values)) for values in ("1, 2", "10, 20")]
    script = """
import ctypes, sys
for mode in (ctypes.RTLD_LOCAL, ctypes.RTLD_GLOBAL):
    for path, wanted in (sys.argv[1:3], sys.argv[3:5]):
        out, x = (ctypes.c_float * 2)(), (ctypes.c_float * 2)()
        assert ctypes.CDLL(path, mode=mode).kina_f(x, out) == 0
        assert list(out) == [float(v) for v in wanted.split(",")], (path, list(out))
"""
    first, second = [
        (str(p.library_path), v) for p, v in zip(programs, ("1,2", "10,20"), strict=True)
    ]
    for order in ((*first, *second), (*second, *first)):
        subprocess.run([sys.executable, "-c", script, *order], check=True)


def test_only_functions_are_exported(module: Any) -> None:
    done = subprocess.run(
        ["nm", "-D", "--defined-only", module.library_path],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    assert names == {f"kina_{name}" for name in module} | {"kina_set_threads"}


def test_status_from_c(module: Any) -> None:
    """The C function itself reports a bad index and writes no input."""
    library = ctypes.CDLL(str(module.library_path))
    x, t, out = (ctypes.c_float * 32)(), (ctypes.c_int64 * 4)(0, 0, 8, 0), (ctypes.c_float * 4)()
    assert library.kina_nll(x, t, out) == 1
    t[2] = 7
    assert library.kina_nll(x, t, out) == 0
    assert out[2] == pytest.approx(np.log(8), rel=1e-6)


def test_set_num_threads(module: Any) -> None:
    """A library without threads has nothing to set."""
    kina.set_num_threads(2)
    np.testing.assert_array_equal(module.constant(), [10, 20])
    kina.set_num_threads(np.int64(4096))  # pyright: ignore
    with pytest.raises(kina.KinaValueError, match="the count is 1000000000, expected at most 4096"):
        kina.set_num_threads(10**9)
    kina.set_num_threads(None)


@pytest.mark.parametrize("count", [0, -1])
def test_set_num_threads_below_one(count: int) -> None:
    with pytest.raises(kina.KinaValueError, match=f"the count is {count}, expected at least 1"):
        kina.set_num_threads(count)


@pytest.mark.parametrize("count", ["a", 2.0, True])
def test_set_num_threads_to_no_integer(count: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match=r"the count is .*, expected an integer"):
        kina.set_num_threads(count)


@pytest.mark.parametrize(
    "text", [None, b"let f = fn() -> tensor<F32, []> { tensor<F32, []>(1) }", 3]
)
def test_compile_takes_text(text: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match="expected its text"):
        kina.compile(text)


OPTIONS = [
    ({"name": 5}, "compile: the name is a int, expected a str"),
    ({"name": b"x"}, "compile: the name is a bytes"),
    ({"target": 5}, "target: expected a str, got int"),
    ({"threads": "no"}, "threads: expected a bool, got str"),
    ({"fast": 3}, "fast: expected a bool, got int"),
]


@pytest.mark.parametrize(("named", "message"), OPTIONS)
def test_options_of_the_wrong_type(named: dict[str, Any], message: str) -> None:
    with pytest.raises(kina.KinaTypeError, match=message):
        kina.compile(PROGRAM, **named)


@pytest.mark.parametrize("path", [5, None, b"file.kina", sys.stdin])
def test_load_takes_a_path(path: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match=r"load: the path is a \w+, expected a str"):
        kina.load(path)


@pytest.mark.parametrize("name", [5, [], None])
def test_functions_are_found_by_a_str(module: Any, name: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match="a function is found by its name"):
        module[name]
