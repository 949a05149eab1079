"""Matrix products beside NumPy's OpenBLAS and PyTorch, and the share of what the machine can do.

    python -m benchmarks.products [--threads 2] [--rounds 15] [--plot FILE] [NAME ...]

Every library does every product in turn, in one process; a ratio is the median of those of the
rounds, so that whatever else the machine does falls on all of them; on one thread it is that of the
processor's time of the thread. The peak is a loop of
independent fused multiply-adds, the read limit a sum of the weights, both in the same rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LIMITS = r"""
#include <stdint.h>
typedef float lanes __attribute__((vector_size(WIDTH), aligned(4)));
float peak(int64_t turns) {
    volatile float opaque = 1.0f; /* chains that are known to be alike would be one */
    lanes held[12], all = {0}, one = all + opaque, small = all + 1e-9f * opaque;
    for (int i = 0; i < 12; i++) held[i] = all + opaque;
    for (int64_t turn = 0; turn < turns; turn++) {
        _Pragma("GCC unroll 12") for (int i = 0; i < 12; i++) held[i] = held[i] * one + small;
    }
    for (int i = 0; i < 12; i++) all += held[i];
    return all[0];
}
float sum(const float *from, int64_t vectors) {
    lanes held[8] = {0}, all = held[0];
    for (int64_t at = 0; at + 8 <= vectors; at += 8) {
        for (int i = 0; i < 8; i++) held[i] += ((const lanes *)from)[at + i];
    }
    for (int i = 0; i < 8; i++) all += held[i];
    return all[0];
}
"""
CHAINS = 12
"""Independent multiply-adds in the loop that measures the peak."""


@dataclass(frozen=True)
class Product:
    """One product: rows, k, columns; how each factor lies, and the dtype of the right one."""

    rows: int
    depth: int
    columns: int
    layout: str = "nn"
    dtype: str = "F32"
    """Of the right factor; I32 stands for I8 times I8, summed in I32."""

    @property
    def is_exact(self) -> bool:
        """Whether it is one of integers."""
        return self.dtype == "I32"

    @property
    def name(self) -> str:
        """As it is shown and chosen."""
        suffix = "" if self.dtype == "F32" else f" {self.dtype}"
        return f"{self.rows}x{self.depth}x{self.columns} {self.layout}{suffix}"

    @property
    def source(self) -> str:
        """The Kina program."""
        left = _shape(self.rows, self.depth, self.layout[0])
        right = _shape(self.depth, self.columns, self.layout[1])
        x = "x" if self.layout[0] == "n" else "x.transpose([1, 0])"
        result = "I32" if self.is_exact else "F32"
        dtypes = ("I8", "I8") if self.is_exact else ("F32", self.dtype)
        w = "w" if self.dtype == "F32" else f"w.cast({result})"
        w += "" if self.layout[1] == "n" else ".transpose([1, 0])"
        x += f".cast({result})" if self.is_exact else ""
        return (
            f"let f = fn(x: tensor<{dtypes[0]}, {list(left)}>, "
            f"w: tensor<{dtypes[1]}, {list(right)}>) "
            f"-> tensor<{result}, {[self.rows, self.columns]}> {{ {x}.matmul({w}) }}"
        )


def _shape(first: int, second: int, layout: str) -> tuple[int, int]:
    return (first, second) if layout == "n" else (second, first)


SQUARES = tuple(Product(n, n, n) for n in (128, 512, 1024, 2048))
WIDE = (Product(512, 768, 3072), Product(512, 3072, 768), Product(256, 768, 50257))
ODD = (Product(1000, 1000, 1000), Product(511, 769, 1023))
TURNED = tuple(
    Product(*sizes, layout)
    for sizes in ((512, 512, 512), (511, 769, 1023))
    for layout in ("nt", "tn", "tt")
)
ROWS = tuple(
    Product(1, depth, columns, layout, dtype)
    for dtype in ("F32", "BF16", "I8")
    for layout in ("nn", "nt")
    for depth, columns in ((768, 3072), (576, 49152), (4096, 4096))
)
INTEGERS = (
    *(Product(1024, 1024, 1024, layout, "I32") for layout in ("nn", "nt", "tn", "tt")),
    *(Product(511, 1023, 769, layout, "I32") for layout in ("nn", "nt")),
    *(Product(1, 576, 49152, layout, "I32") for layout in ("nn", "nt")),
)
PRODUCTS = (*SQUARES, *WIDE, *ODD, *TURNED, *ROWS, *INTEGERS)


def main() -> None:
    """Prints a line for each product."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--plot", type=Path, help="draw what it measured")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(options.threads))
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    chosen = [product for product in PRODUCTS if not options.names or product.name in options.names]
    print(f"NumPy multiplies by OpenBLAS's kernels for {openblas()}.\n")
    print(
        "| product | Kina GFLOP/s | of the peak | of the read limit | over NumPy | over PyTorch |"
    )
    print("|---|---|---|---|---|---|")
    limits, speeds = Limits(), list[Speed]()
    for product in chosen:
        speeds.append(_measured(product, options.threads, options.rounds, limits))
        print(speeds[-1].line, flush=True)
    if options.plot is not None:
        from benchmarks.products_plot import draw

        draw(speeds, options.plot)


def openblas() -> str:
    """The processor that NumPy's OpenBLAS has chosen its kernels for."""
    import numpy as np

    for path in Path(np.__file__).parents[1].glob("numpy.libs/*openblas*"):
        name = getattr(ctypes.CDLL(str(path)), "scipy_openblas_get_corename64_", None)
        if name is not None:
            name.restype = ctypes.c_char_p
            return name().decode()
    return "an unknown processor"


@dataclass(frozen=True)
class Speed:
    """What was measured of a product; over a library: how many times as fast as it."""

    product: Product
    flops: float
    share: float
    """Of the peak."""
    read: float
    """Of the read limit."""
    over: Mapping[str, float]

    @property
    def line(self) -> str:
        """A row of the table."""
        others = (f"{self.over[name]:.2f}" if name in self.over else "-" for name in LIBRARIES)
        shares = f"{self.share:.2f}", f"{self.read:.2f}"
        return f"| {' | '.join([self.product.name, f'{self.flops / 1e9:.1f}', *shares, *others])} |"


LIBRARIES = ("numpy", "torch")


class Limits:
    """What one core can do, compiled for it."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder, "limits.c"), Path(folder, "limits.so")
            source.write_text(LIMITS, encoding="utf-8")
            flags = ["-O3", "-march=native", "-ffp-contract=fast", f"-DWIDTH={self._width()}"]
            command = ["cc", *flags, "-shared", "-fPIC", source, "-o", library]
            subprocess.run(command, check=True)
            self._library = ctypes.CDLL(str(library))
        self._library.peak.argtypes = [ctypes.c_int64]
        self._library.sum.argtypes = [ctypes.c_void_p, ctypes.c_int64]

    def _width(self) -> int:
        from kina.backend.targets import host_cpu

        return 64 if "avx512f" in host_cpu() else 32

    def peak(self) -> float:
        """Floating-point operations in a second."""
        turns = 200_000
        seconds = timed(lambda: self._library.peak(turns))
        return 2 * CHAINS * turns * self._width() / 4 / seconds

    def read(self, array: Any, repeats: int) -> float:
        """Seconds to read an array, one time after the other, as products of it are done."""
        vectors = array.nbytes // self._width()
        read = self._library.sum
        return timed(lambda: [read(array.ctypes.data, vectors) for _ in range(repeats)]) / repeats


def timed(call: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Seconds that a call takes."""
    start = clock()
    call()
    return clock() - start


def _measured(product: Product, threads: int, rounds: int, limits: Limits) -> Speed:
    x, w = _operands(product)
    flops = 2.0 * product.rows * product.depth * product.columns
    calls = dict(_calls(product, x, w, threads))
    repeats = max(1, int(5e7 / flops))
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    peaks, reads = list[float](), list[float]()
    clock = time.thread_time if threads == 1 else time.perf_counter
    for _ in range(rounds):
        for name, call in calls.items():
            taken = timed(lambda c=call: [c() for _ in range(repeats)], clock)
            seconds[name].append(taken / repeats)
        peaks.append(limits.peak() * threads)
        reads.append(limits.read(w, repeats))
    kina = seconds["kina"]
    speed = flops / statistics.median(kina)
    share = statistics.median(flops / t / p for t, p in zip(kina, peaks, strict=True))
    read = statistics.median(r / t for t, r in zip(kina, reads, strict=True))
    over = {name: _over(seconds, name) for name in LIBRARIES if name in seconds}
    return Speed(product, speed, share, read, over)


def _over(seconds: Mapping[str, list[float]], name: str) -> float:
    """How much longer another library takes."""
    pairs = zip(seconds["kina"], seconds[name], strict=True)
    return statistics.median(other / mine for mine, other in pairs)


def _operands(product: Product) -> tuple[Any, Any]:
    import ml_dtypes
    import numpy as np

    dtypes: Mapping[str, Any] = {
        "F32": np.float32,
        "BF16": ml_dtypes.bfloat16,
        "I8": np.int8,
        "I32": np.int8,
    }
    random = np.random.default_rng(7)
    shape = _shape(product.rows, product.depth, product.layout[0])
    x = random.standard_normal(shape, np.float32)
    x = (x * 20).astype(np.int8) if product.is_exact else x
    shape = _shape(product.depth, product.columns, product.layout[1])
    w = (random.standard_normal(shape, np.float32) * 20).astype(dtypes[product.dtype])
    return x, w


def _calls(
    product: Product, x: Any, w: Any, threads: int
) -> Iterator[tuple[str, Callable[[], object]]]:
    import numpy as np

    import kina

    module = kina.compile(product.source)
    kina.set_num_threads(threads)
    out = np.empty((product.rows, product.columns), np.int32 if product.is_exact else np.float32)
    yield "kina", lambda: module.f(x, w, out=out)
    a, b = x if product.layout[0] == "n" else x.T, w if product.layout[1] == "n" else w.T
    if product.dtype == "F32":
        theirs = np.empty_like(out)
        yield "numpy", lambda: np.matmul(a, b, out=theirs)
    if find_spec("torch") is None:
        return
    if product.is_exact and product.rows > 16:  # it multiplies no fewer rows
        yield "torch", _with_torch_integers(a, b, threads)
    elif product.dtype not in ("I8", "I32"):
        yield "torch", _with_torch(a, b, threads)


def _with_torch(a: Any, b: Any, threads: int) -> Callable[[], object]:
    """PyTorch has weights of 16 bits only beside activations of 16 bits."""
    import numpy as np

    torch: Any = import_module("torch")
    torch.set_num_threads(threads)
    if b.dtype == np.float32:
        x, w = torch.from_numpy(a), torch.from_numpy(b)
    else:
        w = torch.from_numpy(b.view(np.int16)).view(torch.bfloat16)
        x = torch.from_numpy(a).to(torch.bfloat16)
    out = torch.empty((a.shape[0], b.shape[1]), dtype=w.dtype)
    return lambda: torch.matmul(x, w, out=out)


def _with_torch_integers(a: Any, b: Any, threads: int) -> Callable[[], object]:
    torch: Any = import_module("torch")
    torch.set_num_threads(threads)
    x, w = torch.from_numpy(a), torch.from_numpy(b)
    out = torch.empty((a.shape[0], b.shape[1]), dtype=torch.int32)
    return lambda: torch._int_mm(x, w, out=out)


if __name__ == "__main__":
    sys.exit(main())
