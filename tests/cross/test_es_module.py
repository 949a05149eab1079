"""The ES module beside a WebAssembly library: values, errors, memory, types, and npm."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kina.backend.toolchain import ZIG, is_there

HERE = Path(__file__).parent
PROGRAM = """type Pair = { a: tensor<F32, [N]>, b: tensor<F32, [N]> }
let scaled = fn(p: Pair, by: tensor<F32, []>) -> (Pair, tensor<F32, []>) {
  (Pair(a=p.a * by.broadcast([N]), b=p.b), (p.a * p.b).reduce(op=sum, axis=0))
}
let window = fn(x: tensor<I32, [T, 2]>, n: size) -> tensor<I32, [n, 2]> {
  x.slice(axis=0, start=T - n, size=n)
}
let joined = fn(x: tensor<I64, [N]>, y: tensor<I64, [M]>) -> tensor<I64, [N + M]> {
  concat(x, y, axis=0)
}
let put = fn(x: tensor<F32, [N]>, v: tensor<F32, [1]>, at: tensor<I64, []>) -> tensor<F32, [N]> {
  x.update(v, at=at, axis=0)
}
let best = fn(x: tensor<F32, [A, N]>) -> tensor<I64, [A]> { x.reduce(op=argmax, axis=1) }
let then = fn(x: tensor<Bool, [N]>) -> tensor<Bool, [N]> { !x }
let halves = fn(class: tensor<F16, [N]>) -> tensor<F16, [N]> { class + class }
let doubled = fn(x: tensor<F32, [2, 2]>) -> tensor<F32, [2, 2]> { x + x }
"""
USE = """import load, { Tensor, Resident } from "./calls.mjs";
const m = await load();
const [pair, total] = m.scaled({ a: new Float32Array(2), b: new Tensor(new Float32Array(2)) }, 3);
const a: Float32Array = pair.a.data;
const row: Resident<Float32Array> = m.resident("F32", [3]);
const same: Tensor<Float32Array> | Resident<Float32Array> = m.put(row, a, 0n, { out: row });
const bits: Uint16Array = m.halves(new Uint16Array(1)).data;
const shape: readonly number[] = m.window(new Tensor(new Int32Array(4), [2, 2]), 1).shape;
console.log(total.data, same.data, bits, shape);
// @ts-expect-error another dtype
m.put(new Float64Array(3), a, 0);
// @ts-expect-error a field that is missing
m.scaled({ a }, 1);
// @ts-expect-error one that there is not
m.absent();
"""


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed here: not run")
    if not is_there(ZIG):
        pytest.skip("zig is not installed (pip install 'kina[cross]'): not run")


def kina_build(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kina.cli.main", "build", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package, built."""
    needs()
    folder = tmp_path_factory.mktemp("calls")
    (folder / "calls.kina").write_text(PROGRAM)
    done = kina_build(folder, "calls.kina", "--target", "wasm32", "--npm")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def shown(folder: Path) -> dict[str, Any]:
    """What came of each call."""
    needs("node")
    shutil.copy(HERE / "es_module.mjs", folder)
    done = subprocess.run(
        ["node", "es_module.mjs"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def f32(*items: float, shape: list[int]) -> dict[str, Any]:
    return {"tensor": ["Float32Array", *items], "shape": shape}


VALUES: dict[str, Any] = {
    "record": [{"a": f32(10, 20, shape=[2]), "b": f32(3, 4, shape=[2])}, f32(11, shape=[])],
    "size": {"tensor": ["Int32Array", 3, 4, 5, 6], "shape": [2, 2]},
    "computed": {"tensor": ["BigInt64Array", "1n", "2n", "3n"], "shape": [3]},
    "scalar": f32(1, 9, 3, shape=[3]),
    "bool": {"tensor": ["Uint8Array", 0, 1, 0], "shape": [3]},
    "halves": {"tensor": ["Uint16Array", 0x4000, 0x4400], "shape": [2]},
    "nothing": {"tensor": ["BigInt64Array"], "shape": [0]},
    "in place": [{"resident": ["Float32Array", 5, 6, 0.5], "shape": [3]}, 0.5],
    "what a call leaves": True,
}
ERRORS = {
    "freed": ("KinaValueError", "this tensor was freed"),
    "of another library": ("KinaValueError", "put: x lies in the memory of another library"),
    "an empty axis": ("KinaValueError", "best: reduce argmax: axis 1 of "),
    "another dtype": ("KinaTypeError", "put: x is a Float64Array, expected a Float32Array"),
    "another rank": ("KinaValueError", "best: x has shape [2], expected tensor<F32, [A, N]>"),
    "a size that contradicts": (
        "KinaValueError",
        "scaled: p.b has shape [1], expected tensor<F32, [N]>, N is 2",
    ),
    "a field that is missing": ("KinaTypeError", "scaled: p.b is missing"),
    "no record": ("KinaTypeError", "scaled: p: expected an object with the fields a, b"),
    "too few": ("KinaTypeError", "put: got 1 arguments, expected 3: x, v, at"),
    "too many": ("KinaTypeError", "put: got 4 arguments, expected 3: x, v, at"),
    "too many, and places": ("KinaTypeError", "put: got 5 arguments, expected 3: x, v, at"),
    "no tensor": ("KinaTypeError", "put: x: expected tensor<F32, [N]>"),
    "no size": ("KinaTypeError", "window: n is a size: expected an integer, got 1.5"),
    "a size below 0": ("KinaValueError", "window: n is a size of 0 to 4294967295, got -1"),
    "no integer": ("KinaTypeError", "put: at: expected tensor<I64, []>"),
    "a stray Bool": ("KinaValueError", "then_: x: a Bool is 0 or 1"),
    "a wrong shape": ("KinaValueError", "Tensor: 2 elements are no tensor of shape [3]"),
    "an output of another shape": ("KinaValueError", "put: out has shape [2], the result has [1]"),
    "an output that is no input's": ("KinaValueError", "doubled: an output is the input x"),
    "too large": ("KinaMemoryError", "out of memory: 34359738368 bytes are not there"),
}


def test_values(shown: dict[str, Any]) -> None:
    assert {name: shown[name] for name in VALUES} == VALUES


@pytest.mark.parametrize("name", ERRORS)
def test_errors(shown: dict[str, Any], name: str) -> None:
    kind, message = ERRORS[name]
    found = shown[name]
    assert (found.get("error"), found["message"][: len(message)]) == (kind, message)


def test_a_failed_check_shows_the_line_of_the_program(shown: dict[str, Any]) -> None:
    found = shown["a bad index"]
    assert found["error"] == "KinaIndexError"
    first, *rest = found["message"].splitlines()
    assert first.startswith("calls.kina:12:5: error: update: ")
    assert rest == ["  12 |   x.update(v, at=at, axis=0)", "     |     ^"]


def test_every_call_is_looked_at(shown: dict[str, Any]) -> None:
    assert shown.keys() == {*VALUES, *ERRORS, "a bad index"}


def test_types(folder: Path, tmp_path: Path) -> None:
    """TypeScript takes what is right and refuses what is not."""
    needs("node", "npm")
    install = ["npm", "install", "--silent", "--prefix", tmp_path, "typescript@5"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"TypeScript could not be installed: {done.stderr.strip()[:200]}")
    (folder / "use.mts").write_text(USE)
    flags = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022"]
    tsc = tmp_path / "node_modules" / ".bin" / "tsc"
    done = subprocess.run(
        [tsc, *flags, "use.mts"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_package_for_npm(folder: Path, tmp_path: Path) -> None:
    needs("node", "npm")
    packed = ["npm", "pack", "--silent", "--pack-destination", tmp_path, folder]
    subprocess.run(packed, check=True, capture_output=True)
    archive = next(tmp_path.glob("calls-*.tgz"))
    install = ["npm", "install", "--silent", "--offline", "--no-audit", "--prefix", tmp_path]
    subprocess.run([*install, archive], check=True, capture_output=True)
    use = (
        'import load from "calls"; const m = await load(); '
        "console.log(m.put(Float32Array.of(1, 2), Float32Array.of(7), 1).data.join())"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", use],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1,7\n", "")


def test_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "calls.kina").write_text(PROGRAM)
    (tmp_path / "package.json").write_text('{"name": "mine"}')
    done = kina_build(tmp_path, "calls.kina", "--target", "wasm32", "--npm")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "package.json: is not by kina build, and is kept" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.kina", "package.json"]
    done = kina_build(tmp_path, "calls.kina", "--npm")
    assert "--npm: only WebAssembly is published there" in done.stderr
