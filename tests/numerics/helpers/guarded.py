"""Calls with arrays that end, or begin, at a page that must not be touched; run as a program.

A vector that reads or writes past an array kills the process, so the tests run this in another.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np

import kina
from helpers.expect import same_bits
from helpers.same import arguments, as_tuple

PAGE = mmap.PAGESIZE
SIZES = (
    {"A": 2, "B": 3, "N": 5},
    {"A": 1, "B": 1, "N": 1},
    {"A": 3, "B": 67, "N": 65},
    {"A": 2, "B": 9, "N": 1100},
)
PROGRAM = """
let rows = fn(x: tensor<F32, [B, N]>, in_N: tensor<I64, [B]>) -> (
  tensor<F32, [B]>, tensor<F32, [B, N]>, tensor<I64, [B]>
) {
  let p = x.log_softmax(axis=1) in
  (p.take_along_axis(in_N, axis=1), p, x.reduce(op=argmax, axis=1))
}
let columns = fn(x: tensor<F16, [N, B]>) -> (tensor<F16, [N, B]>, tensor<F16, [B]>) {
  (x.softmax(axis=0), x.reduce(op=min, axis=0))
}
let inner = fn(x: tensor<I8, [A, N, B]>) -> (tensor<I8, [A, B]>, tensor<I64, [A, B]>) {
  (x.reduce(op=sum, axis=1), x.reduce(op=argmax, axis=1))
}
let casts = fn(x: tensor<F32, [N]>) -> (
  tensor<F8E4M3, [N]>, tensor<BF16, [N]>, tensor<I16, [N]>, tensor<Bool, [N]>, tensor<F32, []>
) {
  (x.cast(F8E4M3), x.cast(BF16), x.cast(I16), x.cast(Bool), x.reduce(op=sum, axis=0))
}
let rows_of = fn(t: tensor<I4, [N, B]>, in_N: tensor<I64, [A]>) -> (
  tensor<I4, [A, B]>, tensor<I4, [B, N]>
) {
  (t.gather(in_N), t.reshape([B, N]))
}
"""


def guarded(array: np.ndarray, *, at_end: bool) -> np.ndarray:
    """A copy that touches a forbidden page with its last byte, or with its first."""
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    room = -(-array.nbytes // PAGE) * PAGE
    memory = np.frombuffer(mmap.mmap(-1, room + 2 * PAGE), np.uint8)
    start = PAGE + (room - array.nbytes if at_end else 0)
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    for page in (memory.ctypes.data, memory.ctypes.data + PAGE + room):
        if libc.mprotect(page, PAGE, 0):
            raise OSError("mprotect failed")
    _ALIVE.append(memory)
    return copy


_ALIVE: list[np.ndarray] = []
"""Never unmapped: the pages would be given out again."""


def main(fast: bool) -> None:
    """Every function at every size; the results are those of ordinary arrays."""
    module = kina.compile(PROGRAM, fast=fast)
    for name in module:
        function = module[name]
        for sizes in SIZES:
            arrays = arguments(function.type, sizes, seed=0)
            wanted = as_tuple(function(*arrays))
            for at_end in (True, False):
                given = [guarded(array, at_end=at_end) for array in arrays]
                out = tuple(guarded(np.zeros_like(w), at_end=at_end) for w in wanted)
                function(*given, out=out if len(out) > 1 else out[0])
                for got, want, type_ in zip(out, wanted, function.type.results, strict=True):
                    assert same_bits(got, want, type_.dtype).all(), f"{name}, {sizes}"


if __name__ == "__main__":
    main(sys.argv[1] == "fast")
