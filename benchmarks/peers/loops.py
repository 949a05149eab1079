"""Loops written by hand for Numba: what a specialist gets without a framework.

One pass per row where one will do, polynomial exp and log (math.exp would be a call per element),
and maxima over integers in the order of the floats, because those vectorise. F32, inputs finite.
Rows are the last axis of a matrix, except for `log_softmax_axis1`.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

_numba: Any = import_module("numba")
_range: Any = _numba.prange
_jit: Any = _numba.njit(fastmath=True, nogil=True)
_inline: Any = _numba.njit(fastmath=True, nogil=True, inline="always")
_parallel: Any = _numba.njit(fastmath=True, nogil=True, parallel=True)

_f32 = np.float32
_i32 = np.int32
_ONE, _HALF, _TWO = _f32(1), _f32(0.5), _f32(2)
_LOG2_E = _f32(1 / math.log(2))
# log(2) in two parts: the first has few bits, so that its product with a small integer is exact.
_LN2_HIGH = _f32(355 / 512)
_LN2_LOW = _f32(math.log(2) - 355 / 512)
_SMALLEST = _f32(-87)
_E2, _E3, _E4, _E5, _E6, _E7 = (_f32(1 / math.factorial(k)) for k in range(2, 8))
_L3, _L5, _L7, _L9 = (_f32(1 / k) for k in (3, 5, 7, 9))
_ROOT_HALF = _f32(math.sqrt(0.5))
_MAGNITUDE, _MANTISSA, _HALF_BITS = _i32(0x7FFFFFFF), _i32(0x7FFFFF), _i32(0x3F000000)
_SIGN_SHIFT, _EXPONENT_SHIFT = _i32(31), _i32(23)
_BIAS, _BIAS_OF_HALF = _i32(127), _i32(126)
_LOWEST_KEY = _i32(-(2**31))
_BLOCK = 2048


@_inline
def _exp(x: Any) -> Any:
    x = max(x, _SMALLEST)
    n = np.floor(x * _LOG2_E + _HALF)
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = ((((_E7 * r + _E6) * r + _E5) * r + _E4) * r + _E3) * r + _E2
    power = _i32((_i32(n) + _BIAS) << _EXPONENT_SHIFT).view(np.float32)
    return (p * r * r + r + _ONE) * power


@_inline
def _log(x: Any) -> Any:
    bits = _f32(x).view(np.int32)
    exponent = _f32(_i32(bits >> _EXPONENT_SHIFT) - _BIAS_OF_HALF)
    m = _i32((bits & _MANTISSA) | _HALF_BITS).view(np.float32)
    low = m < _ROOT_HALF
    exponent = exponent - _ONE if low else exponent
    m = m + m if low else m
    s = (m - _ONE) / (m + _ONE)
    q = s * s
    p = ((_L9 * q + _L7) * q + _L5) * q + _L3
    return exponent * _LN2_HIGH + (_TWO * (s + s * q * p) + exponent * _LN2_LOW)


@_jit
def _row_max(row: Any) -> Any:
    bits = row.view(np.int32)
    best = _LOWEST_KEY
    for j in range(bits.size):
        value = bits[j]
        key = _i32(value ^ _i32(_i32(value >> _SIGN_SHIFT) & _MAGNITUDE))
        best = max(key, best)
    return _i32(best ^ _i32(_i32(best >> _SIGN_SHIFT) & _MAGNITUDE)).view(np.float32)


@_jit
def _log_sum(row: Any, top: Any) -> Any:
    total = _f32(0)
    for j in range(row.size):
        total += _exp(row[j] - top)
    return top + _f32(math.log(total))


@_parallel
def log_softmax(x: Any, out: Any) -> None:
    """Writes the log-probabilities of each row."""
    for i in _range(x.shape[0]):
        row, result = x[i], out[i]
        shift = _log_sum(row, _row_max(row))
        for j in range(row.size):
            result[j] = row[j] - shift


@_parallel
def log_softmax_axis1(x: Any, out: Any) -> None:
    """Writes the log-probabilities of `x` [B, N, M] along axis 1, M columns side by side."""
    for b in _range(x.shape[0]):
        matrix, result = x[b], out[b]
        top = matrix[0].copy()
        for i in range(matrix.shape[0]):
            for j in range(matrix.shape[1]):
                top[j] = max(top[j], matrix[i, j])
        total = np.zeros_like(top)
        for i in range(matrix.shape[0]):
            for j in range(matrix.shape[1]):
                total[j] += _exp(matrix[i, j] - top[j])
        for j in range(matrix.shape[1]):
            top[j] += _f32(math.log(total[j]))
        for i in range(matrix.shape[0]):
            for j in range(matrix.shape[1]):
                result[i, j] = matrix[i, j] - top[j]


@_parallel
def nll(x: Any, targets: Any, out: Any) -> None:
    """Writes one loss per row; reads the logits and nothing else."""
    for i in _range(x.shape[0]):
        row = x[i]
        out[i] = _log_sum(row, _row_max(row)) - row[targets[i]]


@_jit
def _first(row: Any, value: Any) -> Any:
    for j in range(row.size):
        if row[j] == value:
            return j
    return 0


@_parallel
def argmax(x: Any, out: Any) -> None:
    """Writes the lowest index of each row's maximum: a block first, then the place in it."""
    for i in _range(x.shape[0]):
        row = x[i]
        best, start = _row_max(row[:_BLOCK]), 0
        for k in range(_BLOCK, row.size, _BLOCK):
            top = _row_max(row[k : k + _BLOCK])
            if top > best:
                best, start = top, k
        out[i] = start + _first(row[start : start + _BLOCK], best)


@_parallel
def sample(x: Any, u: Any, temperature: Any, out: Any) -> None:
    """Writes the index of each row's largest logits / temperature - log(-log(u))."""
    scale = _ONE / temperature
    for i in _range(x.shape[0]):
        scores = np.empty(_BLOCK, np.float32)
        best, index = _f32(-np.inf), 0
        for k in range(0, x.shape[1], _BLOCK):
            row, noise = x[i, k : k + _BLOCK], u[i, k : k + _BLOCK]
            for j in range(row.size):
                scores[j] = row[j] * scale - _log(-_log(noise[j]))
            top = _row_max(scores[: row.size])
            if top > best:
                best, index = top, k + _first(scores[: row.size], top)
        out[i] = index


@_parallel
def gradient(x: Any, targets: Any, ct: Any, out: Any) -> None:
    """Writes (softmax - onehot) * ct."""
    for i in _range(x.shape[0]):
        row, result = x[i], out[i]
        top = _row_max(row)
        total = _f32(0)
        for j in range(row.size):
            value = _exp(row[j] - top)
            result[j] = value
            total += value
        scale = ct[i] / total
        for j in range(row.size):
            result[j] *= scale
        result[targets[i]] -= ct[i]


@_parallel
def read(words: Any, out: Any) -> None:
    """Reads every 32-bit word of `words` [chunks, n]: the memory limit of reading."""
    for i in _range(words.shape[0]):
        row = words[i]
        bits = _i32(0)
        for j in range(row.size):
            bits = _i32(bits | row[j])
        out[i] = bits


@_parallel
def copy(words: Any, out: Any) -> None:
    """Copies `words` [chunks, n]: the memory limit of reading and writing."""
    for i in _range(words.shape[0]):
        row, result = words[i], out[i]
        for j in range(row.size):
            result[j] = row[j]
