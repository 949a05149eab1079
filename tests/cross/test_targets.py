"""Libraries for other machines: each is built, and run where there is an emulator.

The same bits as on this machine, from every one of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kina
from helpers import same_bits_programs as programs
from helpers.emulators import Emulator, Qemu, Wasm, Wine
from helpers.exported import exports
from helpers.replay import Call, Machine, Replay, Results
from kina.backend import cache_folder
from kina.backend.build import build
from kina.backend.cache import Artifact
from kina.backend.options import Options
from kina.backend.targets import single_targets
from kina.backend.toolchain import ZIG, find, is_there
from kina.frontend.source import Source

ROOT = Path(__file__).resolve().parents[2]
NLL = ROOT / "examples" / "storylm0_nll.kina"
NAME = "kit.kina"
KIT = {
    **dict.fromkeys(("nll", "both", "dnll", "sample", "math", "choice", "integers", "casts"), ()),
    **dict.fromkeys(("log_softmax_BF16", "stats_F16", "math_F16", "math_F8E4M3", "curves"), ()),
    **dict.fromkeys(("norms", "matmul_deep", "matmul_wide", "matmul_BF16", "draws"), ()),
    **dict.fromkeys(("sum_rows", "stats_inner", "scans_columns", "softmax_columns"), ()),
    "top_rows": (65,),
}
EXTRA = """let bytes = fn(x: tensor<I8, [M, K]>, w: tensor<I8, [K, N]>) -> tensor<I32, [M, N]> {
  x.cast(I32).matmul(w.cast(I32))
}
let both_of = fn(x: tensor<F32, [B, N]>, y: tensor<F32, [B, N]>) -> tensor<F32, [2, B, N]> {
  concat(x.reshape([1, B, N]), y.reshape([1, B, N]), axis=0)
}
let _layer = fn(x: tensor<F32, [B, N]>, w: tensor<F32, [N]>) -> tensor<F32, [B, N]> {
  let y = (x * w.broadcast([B, N])).softmax(axis=0) in
  let z = (y + x).layer_norm(w, w, axis=1, eps=1e-5).softmax(axis=0) in
  z * x + y.softmax(axis=1)
}
let layers = fn(x: tensor<F32, [B, N]>, w: tensor<F32, [L, N]>) -> tensor<F32, [B, N]> {
  fold(_layer, x, over=[w])
}
"""
SIZES = (7, 65, 1000, 16385)
FOREIGN = (
    "aarch64-linux",
    "riscv64-linux",
    "x86_64-windows",
    "aarch64-macos",
    "x86_64-macos",
    "wasm32",
)
MACHINES: dict[str, Emulator] = {
    "aarch64-linux": Qemu("aarch64"),
    "riscv64-linux": Qemu("riscv64"),
    "x86_64-windows": Wine(),
    "wasm32": Wasm(),
}

pytestmark = pytest.mark.skipif(
    not is_there(ZIG), reason="zig is not installed (pip install 'kina[cross]'): not run"
)


def byte_products(size: int) -> Call:
    """A product of bytes, the least ones among them."""
    random = np.random.default_rng(size)
    x, w = (random.integers(-128, 128, shape, np.int8) for shape in ((19, size), (size, 37)))
    x[::3], w[:, ::5] = -128, -128
    return Call("bytes", size, (x, w))


def copies(size: int) -> Call:
    """Parts of vectors, copied to places that are aligned to nothing."""
    random = np.random.default_rng(size)
    x, y = random.normal(size=(2, 3, size)).astype(np.float32)
    return Call("both_of", size, (x, y))


def layers(size: int) -> Call:
    """A fold, whose layers keep memory from one to the next."""
    random = np.random.default_rng(size)
    x, w = (random.normal(size=(rows, size)).astype(np.float32) for rows in (19, 3))
    return Call("layers", size, (x, w))


class Kit:
    """Functions of every kind, and calls of them."""

    def __init__(self, folder: Path) -> None:
        self._text = programs.source(KIT) + EXTRA
        self._module = kina.compile(self._text, name=NAME, threads=False)
        types = {name: self._module[name].type for name in self._module if name in KIT}
        self.calls = [call for call in programs.calls(types, KIT) if call.size in SIZES]
        self.calls += [*map(byte_products, (1, 8, 65, 300)), *map(copies, (1, 7, 65))]
        self.calls += map(layers, (7, 65, 1000))
        self.replay = Replay(folder, self.artifact("native").functions)

    def artifact(self, target: str) -> Artifact:
        """The functions, compiled for a target."""
        return build(Source(NAME, self._text), Options(target, threads=False))

    @cached_property
    def native(self) -> Results:
        """What the others are compared with."""
        return self.replay.run(self.calls, Machine(), self.artifact("native").library)


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return Kit(tmp_path_factory.mktemp("kit"))


@pytest.mark.parametrize("target", MACHINES)
def test_the_same_bits(kit: Kit, target: str) -> None:
    machine = MACHINES[target]
    if machine.missing is not None:
        pytest.skip(f"{machine.missing} is not installed here: not run")
    got = kit.replay.run(kit.calls, machine, kit.artifact(target).library)
    assert kit.replay.differences(kit.calls, got, kit.native) == []
    assert len(kit.calls) > len(KIT)


def test_levels_on_windows(kit: Kit) -> None:
    """The code for old CPUs, in the same library."""
    machine = Wine("x86-64-v2")
    if machine.missing is not None:
        pytest.skip(f"{machine.missing} is not installed here: not run")
    calls, wanted = kit.calls[::7], kit.native[::7]
    got = kit.replay.run(calls, machine, kit.artifact("x86_64-windows").library)
    assert kit.replay.differences(calls, got, wanted) == []


def kina_build(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kina.cli.main", "build", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


BEGINS = {".so": b"\x7fELF", ".dll": b"MZ", ".dylib": b"\xcf\xfa\xed\xfe", ".wasm": b"\0asm\1"}


@pytest.mark.parametrize("target", FOREIGN)
def test_a_library_has_its_header_beside_it(target: str, tmp_path: Path) -> None:
    done = kina_build(tmp_path, NLL, "--target", target)
    assert done.returncode == 0, done.stderr
    suffix = single_targets(target)[0].system.suffix
    library = (tmp_path / NLL.name).with_suffix(suffix)
    assert library.read_bytes().startswith(BEGINS[suffix])
    assert "int32_t kina_nll(" in library.with_suffix(".h").read_text()
    assert library.with_suffix(".lib").exists() == (suffix == ".dll")
    exported = exports(library)
    assert exported - {"memory", "malloc", "free"} == {"kina_nll"}


def test_a_library_for_linux_can_be_static(tmp_path: Path) -> None:
    done = kina_build(tmp_path, NLL, "--target", "riscv64-linux", "-o", "libnll.a")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "libnll.a").read_bytes().startswith(b"!<arch>")
    done = kina_build(tmp_path, NLL, "--target", "wasm32", "-o", "libnll.a")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "static libraries and object files are made for Linux only" in done.stderr
    assert "expected .wasm (shared library) for wasm" in done.stderr
    assert not (tmp_path / "libnll.wasm").exists()


def test_this_machine_without_a_c_compiler(tmp_path: Path) -> None:
    """zig links what `kina.load` loads."""
    code = """
import os, shutil
os.environ["PATH"] = ""
assert not any(map(shutil.which, ("cc", "gcc", "clang")))
import kina, numpy as np
f = "let f = fn(x: tensor<F32, [A, N]>) -> tensor<F32, [A]> { x.reduce(op=sum, axis=1) }"
m = kina.compile(f)
kina.set_num_threads(2)
print(m.f(np.ones((300, 70000), np.float32))[299])
"""
    environment = os.environ | {"KINA_CACHE": str(tmp_path), "KINA_ZIG": str(find(ZIG).path)}
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(cache_folder.folder() / "zig"))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("70000.0\n", 0), done.stderr


def nll_in_wasm(folder: Path) -> Any:
    """The instance of the first example."""
    pytest.importorskip("wasmtime", reason="wasmtime is not installed here: not run")
    from helpers.replay_wasm import Instance

    done = kina_build(folder, NLL, "--target", "wasm32", "-o", "nll.wasm")
    assert done.returncode == 0, done.stderr
    assert (folder / "nll.wasm").stat().st_size < 5000
    return Instance(folder / "nll.wasm")


def test_nll_in_wasm(tmp_path: Path) -> None:
    """Less than 5 KB, no imports, the bits of this machine, a status for a bad index."""
    instance, native = nll_in_wasm(tmp_path), kina.load(NLL)
    random = np.random.default_rng(0)
    out = instance.place(bytes(16))
    for _ in range(200):
        logits = random.normal(0, 10, (1, 4, 8)).astype(np.float32)
        targets = random.integers(0, 8, (1, 4))
        x, t = instance.place(logits.tobytes()), instance.place(targets.tobytes())
        assert instance.call("kina_nll", x, t, out) == 0
        assert instance.read(out, 16) == native.nll(logits, targets).tobytes()
        instance.call("free", x)
        instance.call("free", t)
    before = instance.read(out, 16)
    x, t = instance.place(bytes(128)), instance.place(np.int64([0, 1, 8, 2]).tobytes())
    assert instance.call("kina_nll", x, t, out) == 1
    assert instance.read(out, 16) == before


def test_memory_in_wasm(tmp_path: Path) -> None:
    """Blocks never overlap, are used again and join, and no memory is an answer."""
    instance, random = nll_in_wasm(tmp_path), np.random.default_rng(1)
    held: dict[int, int] = {}
    for _ in range(3000):
        if held and random.random() < 0.5:
            instance.call("free", held.popitem()[0] if random.random() < 0.5 else _first(held))
            continue
        size = int(random.integers(0, 5000))
        address = instance.call("malloc", size)
        assert address % 16 == 0
        ends = sorted((at, at + length) for at, length in {**held, address: size}.items())
        assert all(end <= start for (_, end), (start, _) in pairwise(ends))
        held[address] = size
    for address in held:
        instance.call("free", address)
    pages = instance.pages
    whole = instance.call("malloc", pages * 65536 - 200_000)
    assert whole
    assert instance.pages == pages
    for size in (1 << 32, (1 << 32) - 1, 1 << 40, -1):
        assert instance.call("malloc", size) == 0
    instance.call("free", 0)


def _first(held: dict[int, int]) -> int:
    address = next(iter(held))
    del held[address]
    return address
