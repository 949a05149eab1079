"""Kina IR evaluated in float64: every float is exact enough for central differences.

Written from `docs/language.md` and not from the reference. Casts between floats change nothing
here; integers and Bools are what NumPy makes of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from helpers.philox import random_uniform
from kina.arrays import numpy_dtype
from kina.dialects.layout import SizeOp
from kina.dialects.types import from_ir
from kina.dims import evaluate
from kina.ops import CONTESTS, OPS, REDUCTIONS

Arrays = Sequence[np.ndarray]


def evaluate64(function: FuncOp, arrays: Arrays) -> list[np.ndarray]:
    """The results of a function without calls; float parameters and results are float64."""
    block = function.body.block
    values = dict(zip(block.args, arrays, strict=True))
    sizes = {
        dim: size
        for argument, array in zip(block.args, arrays, strict=True)
        for dim, size in zip(from_ir(argument.type).dims, array.shape, strict=True)
        if isinstance(dim, str)
    }
    for op in block.ops:
        if isinstance(op, ReturnOp):
            return [values[operand] for operand in op.operands]
        operands = [values[operand] for operand in op.operands]
        if not op.results:
            continue
        dims = from_ir(op.results[0].type).dims
        shape = tuple(evaluate(dim, sizes) for dim in dims)
        if isinstance(op, SizeOp):
            values[op.results[0]] = np.asarray(evaluate(op.size, sizes))
            continue
        result = np.asarray(_MEANINGS[op.name](op, shape, *operands))
        assert result.shape == shape, f"{op.name} gives {result.shape}, its type says {shape}"
        values[op.results[0]] = result
    raise AssertionError("no return")


def _ufunc(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda _op, _shape, *operands: function(*operands)


def _divided(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The quotient; of integers toward zero, and 0 where the divisor is 0, in their own dtype."""
    if x.dtype == np.float64:
        return x / y
    divisor = np.where(y == 0, y.dtype.type(1), y)
    with np.errstate(all="ignore"):
        quotient = (x - np.fmod(x, divisor)) // divisor
    return np.where(y == 0, x.dtype.type(0), quotient)


def _constant(op: Operation, shape: tuple[int, ...]) -> np.ndarray:
    values = op.properties["value"].get_values()
    dtype = from_ir(op.results[0].type).dtype
    kind = np.float64 if dtype.is_float else numpy_dtype(dtype)
    return np.broadcast_to(np.array(values, kind).reshape(-1), (int(np.prod(shape)),)).reshape(
        shape
    )


def _cast(op: Operation, _shape: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    source, target = from_ir(op.operands[0].type).dtype, from_ir(op.results[0].type).dtype
    if target.is_float:
        return x.astype(np.float64)
    if target.bits == 1:
        return x != 0
    if source.is_float:
        low, high = int(target.lowest), int(target.highest)
        with np.errstate(all="ignore"):
            limited = np.clip(np.nan_to_num(np.trunc(x), nan=0.0), low, min(high, 2**62))
        return limited.astype(np.int64).astype(numpy_dtype(target))
    return x.astype(np.int64).astype(numpy_dtype(target))


def _reduce(op: Operation, shape: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    functions = {name: getattr(np, name) for name in REDUCTIONS}
    kind, axis = op.properties["kind"].data.value, op.properties["axis"].value.data
    wide = x if x.dtype == np.float64 else x.astype(np.int64)
    result = np.asarray(functions[kind](wide, axis=axis)).reshape(shape)
    return result if kind in CONTESTS or x.dtype == np.float64 else result.astype(x.dtype)


def _log_softmax(op: Operation, _shape: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    axis = op.properties["axis"].value.data
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


_ERF = np.vectorize(math.erf, otypes=[np.float64])

COMPOSITES: dict[str, Callable[..., np.ndarray]] = {
    "erf": _ERF,
    "sigmoid": _sigmoid,
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: x * (1 + _ERF(x / math.sqrt(2))) / 2,
    "gelu_tanh": _gelu_tanh,
    "xlogy": lambda x, y: np.where(x == 0, 0.0, x * np.log(y)),
}
"""Functions of elements that NumPy has not, as the language page defines them."""


def _logsumexp(op: Operation, _shape: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    return np.log(np.sum(np.exp(x), axis=op.properties["axis"].value.data))


def _norm(op: Operation, _shape: tuple[int, ...], x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    axis, eps = op.properties["axis"].value.data, op.properties["eps"].value.data
    return normed(x, axis, eps, *rest)


def normed(x: np.ndarray, axis: int, eps: float, *rest: np.ndarray) -> np.ndarray:
    """rms_norm with a weight; layer_norm with a bias too."""
    along = [size if a == axis else 1 for a, size in enumerate(x.shape)]
    weight, *bias = (parameter.reshape(along) for parameter in rest)
    if bias:
        x = x - x.mean(axis, keepdims=True)
    result = x / np.sqrt((x * x).mean(axis, keepdims=True) + eps) * weight
    return result + bias[0] if bias else result


def _take(op: Operation, _shape: tuple[int, ...], x: np.ndarray, i: np.ndarray) -> np.ndarray:
    axis = op.properties["axis"].value.data
    return np.take_along_axis(x, np.expand_dims(i, axis), axis).squeeze(axis)


def _scatter(op: Operation, shape: tuple[int, ...], u: np.ndarray, i: np.ndarray) -> np.ndarray:
    axis = op.properties["axis"].value.data
    positions = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return np.where(positions == np.expand_dims(i, axis), np.expand_dims(u, axis), 0.0)


def _scatter_add(
    _op: Operation, shape: tuple[int, ...], u: np.ndarray, i: np.ndarray
) -> np.ndarray:
    result = np.zeros(shape)
    for position in np.ndindex(i.shape):
        result[i[position]] += u[position]
    return result


def _axis(op: Operation) -> int:
    return op.properties["axis"].value.data


def _recurrence(op: Operation, shape: tuple[int, ...], f: np.ndarray, t: np.ndarray) -> np.ndarray:
    factors, terms = (np.moveaxis(array, _axis(op), 0) for array in (f, t))
    states = [np.full(factors.shape[1:], float(op.properties["start"].value.data))]
    for factor, term in zip(factors[:-1], terms[:-1], strict=True):
        states.append(states[-1] * factor + term)
    return np.moveaxis(np.stack(states), 0, _axis(op))


def _contract(op: Operation, _shape: tuple[int, ...], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    loops = [list(op.properties[f"{side}_loops"].get_values()) for side in ("left", "right")]
    rank = len(_shape)
    return np.einsum(x, loops[0], y, loops[1], list(range(rank)))


def _axis(op: Operation) -> int:
    return op.properties["axis"].value.data


def _window(op: Operation, start: np.ndarray, size: int) -> tuple[slice, ...]:
    return (*[slice(None)] * _axis(op), slice(int(start), int(start) + size))


def _slice(op: Operation, shape: tuple[int, ...], x: np.ndarray, start: np.ndarray) -> np.ndarray:
    return x[_window(op, start, shape[_axis(op)])]


def _update(
    op: Operation, _shape: tuple[int, ...], x: np.ndarray, new: np.ndarray, at: np.ndarray
) -> np.ndarray:
    result = x.copy()
    result[_window(op, at, new.shape[_axis(op)])] = new
    return result


def _top_k(op: Operation, _shape: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    k = op.properties["k"].value.data
    return np.argsort(-x, axis=_axis(op), kind="stable").take(range(k), _axis(op))


def _put(
    op: Operation, shape: tuple[int, ...], updates: np.ndarray, places: np.ndarray
) -> np.ndarray:
    result = np.zeros(shape)
    np.put_along_axis(result, places, updates, _axis(op))
    return result


def _iota(op: Operation, shape: tuple[int, ...]) -> np.ndarray:
    return np.indices(shape)[_axis(op)]


_MEANINGS: dict[str, Callable[..., np.ndarray]] = {
    **{f"kina.{op.name}": _ufunc(getattr(np, op.numpy)) for op in OPS.values() if op.numpy},
    **{f"kina.{name}": _ufunc(function) for name, function in COMPOSITES.items()},
    "kina.logsumexp": _logsumexp,
    "kina.rms_norm": _norm,
    "kina.layer_norm": _norm,
    "kina.div": _ufunc(_divided),
    "kina.maximum": _ufunc(np.maximum),
    "kina.minimum": _ufunc(np.minimum),
    "kina.clamp": _ufunc(lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    "kina.select": _ufunc(np.where),
    "kina.stop_gradient": _ufunc(lambda x: x),
    "kina.broadcast": lambda _op, shape, x: np.broadcast_to(x, shape),
    "kina.reshape": lambda _op, shape, x: np.reshape(x, shape),
    "kina.reduce": _reduce,
    "kina.reduce_keep": _reduce,
    "kina.softmax": lambda *arguments: np.exp(_log_softmax(*arguments)),
    "kina.log_softmax": _log_softmax,
    "kina.gather": lambda _op, _shape, x, i: x[i],
    "kina.take_along_axis": _take,
    "kina.select_along_axis": _take,
    "kina.cast": _cast,
    "kina.matmul": _ufunc(np.matmul),
    "kina.cumsum": lambda op, _shape, x: np.cumsum(x, axis=_axis(op)),
    "kina.top_k": _top_k,
    "kina.take_places": lambda op, _shape, x, at: np.take_along_axis(x, at, _axis(op)),
    "kina.put_places": _put,
    "kina.reverse": lambda op, _shape, x: np.flip(x, axis=_axis(op)),
    "kina.recurrence": _recurrence,
    "kina.contract": _contract,
    "kina.constant": _constant,
    "kina.scatter_along_axis": _scatter,
    "kina.scatter_add": _scatter_add,
    "kina.iota": _iota,
    "kina.random_uniform": lambda _op, shape, seed: random_uniform(seed, shape).astype(np.float64),
    "kina.transpose": lambda op, _shape, x: np.transpose(x, op.properties["axes"].get_values()),
    "kina.concat": lambda op, _shape, *inputs: np.concatenate(inputs, _axis(op)),
    "kina.slice": _slice,
    "kina.window": _slice,
    "kina.update": _update,
    "kina.overwrite": _update,
}
