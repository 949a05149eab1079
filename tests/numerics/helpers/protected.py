"""Updates in place in memory of which only the written pages may be written; run as a program.

A write to any other page kills the process, so the tests run this in another.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np

import kina

PAGE = mmap.PAGESIZE
ROWS, LAYERS = 6, 3
PROGRAM = """
let put = fn(x: tensor<F32, [T, 1024]>, row: tensor<F32, [1, 1024]>, i: tensor<I64, []>)
  -> tensor<F32, [T, 1024]> { x.update(row, at=i, axis=0) }
let append = fn(
  k: tensor<F32, [L, T, 1024]>, v: tensor<F32, [L, T, 1024]>, row: tensor<F32, [1, 1, 1024]>,
  i: tensor<I64, []>
) -> (tensor<F32, [L, T, 1024]>, tensor<F32, [1024]>, tensor<F32, [L, T, 1024]>) {
  let k0 = k.slice(axis=0, start=1, size=1).update(row, at=i, axis=1).slice(axis=1, start=i, size=1)
  in
  let k1 = k.slice(axis=0, start=1, size=1) in
  let k2 = k.update(k1.update(k0, at=i, axis=1), at=1, axis=0) in
  let v1 = v.update(v.slice(axis=0, start=1, size=1) * 2.0, at=1, axis=0) in
  (k2, k2.reduce(op=max, axis=0).reduce(op=max, axis=0), v1)
}
"""


def protected(array: np.ndarray, rows: range) -> np.ndarray:
    """A copy, one page for each row of 1024 F32, that can be written in some rows only."""
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    memory = np.frombuffer(mmap.mmap(-1, array.nbytes), np.uint8)
    copy = memory.view(array.dtype).reshape(array.shape)
    copy[...] = array
    for page in range(array.nbytes // PAGE):
        if page not in rows and libc.mprotect(
            memory.ctypes.data + page * PAGE, PAGE, mmap.PROT_READ
        ):
            raise OSError("mprotect failed")
    _ALIVE.append(memory)
    return copy


_ALIVE: list[np.ndarray] = []
"""Never unmapped: the pages would be given out again."""


def main(fast: bool) -> None:
    """The results are those of ordinary arrays."""
    assert PAGE == 1024 * 4
    module = kina.compile(PROGRAM, fast=fast)
    rng = np.random.default_rng(0)
    row = rng.standard_normal((1, 1024), np.float32)
    x = rng.standard_normal((ROWS, 1024), np.float32)
    for i in range(ROWS):
        wanted = module.put(x, row, np.int64(i))
        memory = protected(x, range(i, i + 1))
        assert module.put(memory, row, np.int64(i), out=memory) is memory
        assert np.array_equal(memory, wanted)
    k, v = rng.standard_normal((2, LAYERS, ROWS, 1024), np.float32)
    arguments = (row.reshape(1, 1, 1024), np.int64(2))
    wanted = module.append(k, v, *arguments)
    layer = range(ROWS, 2 * ROWS)
    k, v = protected(k, layer), protected(v, layer)
    got = module.append(k, v, *arguments, out=(k, None, v))
    assert all(np.array_equal(*pair) for pair in zip(got, wanted, strict=True))


if __name__ == "__main__":
    main(sys.argv[1] == "fast")
