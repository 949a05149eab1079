"""The right answer of every operation, by Python integers, fractions, loops and float64.

Written from `docs/language.md`, not from the reference: a mistake has to be made twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from helpers.composites import EXACT, normed, slack
from helpers.expect import Between, Exact, Expectation
from helpers.philox import random_uniform
from helpers.rounding import round_f32_integer, round_small
from kina.arrays import numpy_dtype
from kina.dtypes import I64, DType
from kina.rules.parts import Attributes
from kina.types import TensorType

EPSILON = 2.0**-24
"""Half an ulp of F32, relative."""
TINY = 2.0**-149


def expected(
    name: str,
    types: list[TensorType],
    attributes: Attributes,
    operands: list[np.ndarray],
    shape: tuple[int, ...],
) -> Expectation:
    """What operation `name` may give on these operands; `shape` is the result's."""
    dtype = types[0].dtype if types else I64
    with np.errstate(all="ignore"):
        return ORACLES[name](dtype, attributes, operands, shape)


def _wide(array: np.ndarray) -> np.ndarray:
    return np.asarray(array.astype(np.float64))


def _integers(array: np.ndarray) -> np.ndarray:
    """Python integers, which do not wrap."""
    return np.array([int(x) for x in array.reshape(-1)], object).reshape(array.shape)


def _wrapped(values: np.ndarray, dtype: DType) -> np.ndarray:
    span = 1 << dtype.bits
    low = span >> 1
    flat = [(int(x) + low) % span - low for x in np.asarray(values, object).reshape(-1)]
    return np.array(flat, np.int64).reshape(np.shape(values)).astype(numpy_dtype(dtype))


def _once(values: np.ndarray, dtype: DType) -> np.ndarray:
    """float64 to F32 (innocuous twice-rounding for + - * / sqrt), then to the dtype."""
    return values.astype(np.float32).astype(numpy_dtype(dtype))


def _arithmetic(function: Callable[..., np.ndarray]) -> Callable[..., Expectation]:
    def oracle(dtype, attributes, operands, shape) -> Expectation:
        if dtype.is_float:
            return Exact(_once(np.asarray(function(*map(_wide, operands))), dtype))
        return Exact(_wrapped(np.asarray(function(*map(_integers, operands))), dtype))

    return oracle


def _floating(function: Callable[[float], float]) -> Callable[..., Expectation]:
    """A function of Python's floats, whose results every dtype has."""

    def oracle(dtype, attributes, operands, shape) -> Expectation:
        wide = _wide(operands[0])
        results = [function(x) if math.isfinite(x) else x for x in wide.reshape(-1).tolist()]
        return Exact(_once(np.array(results, np.float64).reshape(shape), dtype))

    return oracle


def _whole(x: float, result: int) -> float:
    """An integer as a float with the sign of `x`."""
    return math.copysign(float(result), x)


def _elements(function: Callable[..., object]) -> Callable[..., Expectation]:
    """A function of Python's numbers, element by element; integers wrap."""

    def oracle(dtype, attributes, operands, shape) -> Expectation:
        lists = [_numbers(operand, dtype) for operand in operands]
        found = [function(dtype, *items) for items in zip(*lists, strict=True)]
        if not dtype.is_int:
            return Exact(_once(np.array(found, np.float64), dtype).reshape(shape))
        return Exact(_wrapped(np.array(found, object), dtype).reshape(shape))

    return oracle


def _numbers(array: np.ndarray, dtype: DType) -> list:
    return (_integers(array) if dtype.is_int else _wide(array)).reshape(-1).tolist()


def _compared(function: Callable[[float, float], bool]) -> Callable[..., Expectation]:
    def oracle(dtype, attributes, operands, shape) -> Expectation:
        left, right = (_numbers(operand, dtype) for operand in operands)
        found = [function(x, y) for x, y in zip(left, right, strict=True)]
        return Exact(np.array(found, bool).reshape(shape))

    return oracle


def _quotient(dtype, x, y) -> float:
    if not dtype.is_int:
        return float(np.float64(x) / np.float64(y))
    return 0 if y == 0 else (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(dtype, x, y) -> int:
    return 0 if y == 0 else x - _quotient(dtype, x, y) * y


def _shift_left(dtype, x, count) -> int:
    return x << count if 0 <= count < dtype.bits else 0


def _shift_right(dtype, x, count) -> int:
    return x >> count if 0 <= count < dtype.bits else -1 if x < 0 else 0


def _larger(dtype, x, y) -> float:
    return _pick([x, y], 1)


def _smaller(dtype, x, y) -> float:
    return _pick([x, y], -1)


def _clamped(dtype, x, low, high) -> float:
    return _smaller(dtype, _larger(dtype, x, low), high)


def _select(dtype, attributes, operands, shape) -> Expectation:
    condition, yes, no = (np.asarray(operand).reshape(-1) for operand in operands)
    result = no.copy()
    for position, chosen in enumerate(condition.tolist()):
        if chosen:
            result[position] = yes[position]
    return Exact(result.reshape(shape))


def _same(dtype, attributes, operands, shape) -> Expectation:
    return Exact(operands[0])


def _transcendental(function: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Expectation]:
    """Within 1 ulp of the exact value: the two F32 neighbours of it."""

    def oracle(dtype, attributes, operands, shape) -> Expectation:
        exact = np.asarray(function(_wide(operands[0])))
        near = exact.astype(np.float32)
        down, up = np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))
        low = np.where(near < exact, near, down).astype(np.float64)
        high = np.where(near > exact, near, up).astype(np.float64)
        certain = (
            ~np.isfinite(exact) | (np.abs(exact) >= 2.0**128) | ~np.isfinite(_wide(operands[0]))
        )
        return Between(np.where(certain, exact, low), np.where(certain, exact, high))

    return oracle


def _broadcast(dtype, attributes, operands, shape) -> Expectation:
    source = operands[0]
    padded = source.reshape((1,) * (len(shape) - source.ndim) + source.shape)
    result = np.empty(shape, source.dtype)
    for index in np.ndindex(*shape):
        at = tuple(0 if size == 1 else i for i, size in zip(index, padded.shape, strict=True))
        result[index] = padded[at]
    return Exact(result)


def _reshape(dtype, attributes, operands, shape) -> Expectation:
    return Exact(np.array(operands[0].reshape(-1)).reshape(shape))


def _iota(dtype, attributes, operands, shape) -> Expectation:
    positions = [index[attributes["axis"]] for index in np.ndindex(*shape)]
    return Exact(np.array(positions, np.int64).reshape(shape))


def _random_uniform(dtype, attributes, operands, shape) -> Expectation:
    return Exact(random_uniform(operands[0], shape))


def _transpose(dtype, attributes, operands, shape) -> Expectation:
    result = np.empty(shape, operands[0].dtype)
    for index in np.ndindex(*operands[0].shape):
        result[tuple(index[axis] for axis in attributes["axes"])] = operands[0][index]
    return Exact(result)


def _slice(dtype, attributes, operands, shape) -> Expectation:
    source, start = operands
    result = np.empty(shape, source.dtype)
    for index in np.ndindex(*shape):
        result[index] = source[_moved(index, attributes["axis"], int(start))]
    return Exact(result)


def _update(dtype, attributes, operands, shape) -> Expectation:
    source, new, at = operands
    result = source.copy()
    for index in np.ndindex(*new.shape):
        result[_moved(index, attributes["axis"], int(at))] = new[index]
    return Exact(result)


def _concat(dtype, attributes, operands, shape) -> Expectation:
    axis, done = attributes["axis"], 0
    result = np.empty(shape, operands[0].dtype)
    for operand in operands:
        for index in np.ndindex(*operand.shape):
            result[_moved(index, axis, done)] = operand[index]
        done += operand.shape[axis]
    return Exact(result)


def _moved(index: tuple[int, ...], axis: int, by: int) -> tuple[int, ...]:
    return (*index[:axis], index[axis] + by, *index[axis + 1 :])


def _fibers(array: np.ndarray, axis: int) -> list[list]:
    return np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis]).tolist()


def _reduce(dtype, attributes, operands, shape) -> Expectation:
    return _REDUCTIONS[attributes["op"]](dtype, attributes["axis"], operands[0], shape)


def _argmax(dtype, axis, array, shape) -> Expectation:
    """Seed 17's loop, read literally: strictly greater moves the index."""
    wide = _wide(array) if dtype.is_float else _integers(array)
    found = []
    for fiber in _fibers(wide, axis):
        best, at = (float if dtype.is_float else int)(dtype.lowest), 0
        for position, value in enumerate(fiber):
            if value > best:
                best, at = value, position
        found.append(at)
    return Exact(np.array(found, np.int64).reshape(shape))


def _extreme(sign: int) -> Callable[..., Expectation]:
    def oracle(dtype, axis, array, shape) -> Expectation:
        wide = _wide(array) if dtype.is_float else _integers(array)
        found = [_pick(fiber, sign) for fiber in _fibers(wide, axis)]
        plain = np.array(found, np.float64 if dtype.is_float else np.int64)
        return Exact(plain.astype(numpy_dtype(dtype)).reshape(shape))

    return oracle


def _pick(fiber: list, sign: int) -> float:
    """The largest (sign 1) or smallest of a fiber; any NaN wins, and -0.0 is below +0.0."""
    if any(value != value for value in fiber):
        return math.nan
    return max(fiber, key=lambda value: (sign * value, sign * math.copysign(1, value)))


def _total(dtype, axis, array, divisor) -> Between:
    """Any order of F32 additions: off by at most (n - 1) half-ulps of the sum of magnitudes."""
    wide = _wide(array)
    exact = np.sum(wide, axis=axis)
    size = np.sum(np.abs(wide), axis=axis)
    slack = array.shape[axis] * EPSILON * size
    free = np.isfinite(size) & (size + slack >= 2.0**128)
    slack = np.where(np.isfinite(exact), slack, 0.0)
    low, high = (exact - slack) / divisor, (exact + slack) / divisor
    return Between(*_spread(low, high, 1.0 if divisor != 1 else 0.0), free)


def _spread(low: np.ndarray, high: np.ndarray, ulps: float) -> tuple[np.ndarray, np.ndarray]:
    if not ulps:
        return low, high
    return low - _ulps(low, ulps), high + _ulps(high, ulps)


def _ulps(values: np.ndarray, count: float) -> np.ndarray:
    """`count` F32 ulps at each value; none at an infinity."""
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    return np.where(np.isfinite(values), count * np.maximum(2 * EPSILON * finite, TINY), 0.0)


def _sum(dtype, axis, array, shape) -> Expectation:
    if not dtype.is_float:
        totals = [sum(fiber) for fiber in _fibers(_integers(array), axis)]
        return Exact(_wrapped(np.array(totals, object), dtype).reshape(shape))
    return _shaped(_total(dtype, axis, array, 1), shape)


def _mean(dtype, axis, array, shape) -> Expectation:
    return _shaped(_total(dtype, axis, array, array.shape[axis]), shape)


def _shaped(between: Between, shape: tuple[int, ...]) -> Between:
    free = None if between.free is None else np.reshape(between.free, shape)
    return Between(np.reshape(between.low, shape), np.reshape(between.high, shape), free)


def _argmin(dtype, axis, array, shape) -> Expectation:
    """The same loop, with strictly less."""
    wide = _wide(array) if dtype.is_float else _integers(array)
    found = []
    for fiber in _fibers(wide, axis):
        best, at = (float if dtype.is_float else int)(dtype.highest), 0
        for position, value in enumerate(fiber):
            if value < best:
                best, at = value, position
        found.append(at)
    return Exact(np.array(found, np.int64).reshape(shape))


def _prod(dtype, axis, array, shape) -> Expectation:
    """Any order of F32 products: n roundings, where none can leave the range of normal numbers."""
    if not dtype.is_float:
        products = [math.prod(fiber) for fiber in _fibers(_integers(array), axis)]
        return Exact(_wrapped(np.array(products, object), dtype).reshape(shape))
    wide = _wide(array)
    exact = np.prod(wide, axis=axis)
    # Some part of the product may overflow, or lose bits, if the whole of what is above 1 does.
    sizes = np.log2(np.where(wide == 0, 1.0, np.abs(wide)))
    most = np.sum(np.maximum(np.nan_to_num(sizes, nan=0.0), 0.0), axis=axis)
    least = np.sum(np.minimum(np.nan_to_num(sizes, nan=0.0), 0.0), axis=axis)
    free = (most >= 127) | (least <= -125)
    slack = np.where(np.isfinite(exact), array.shape[axis] * EPSILON * np.abs(exact), 0.0)
    return _shaped(Between(exact - slack, exact + slack, free), shape)


def _flags(function: Callable[..., np.ndarray]) -> Callable[..., Expectation]:
    def oracle(dtype, axis, array, shape) -> Expectation:
        found = [function(fiber) for fiber in _fibers(array, axis)]
        return Exact(np.array(found, bool).reshape(shape))

    return oracle


_REDUCTIONS = {
    "sum": _sum,
    "mean": _mean,
    "max": _extreme(1),
    "min": _extreme(-1),
    "argmax": _argmax,
    "argmin": _argmin,
    "prod": _prod,
    "any": _flags(any),
    "all": _flags(all),
}


def _shifted(array: np.ndarray, axis: int) -> np.ndarray:
    wide = _wide(array)
    return wide - np.max(wide, axis=axis, keepdims=True)


def _composite(name: str) -> Callable[..., Expectation]:
    """Within the stated bounds of the exact value."""

    def oracle(dtype, attributes, operands, shape) -> Expectation:
        exact = np.asarray(EXACT[name](*map(_wide, operands)))
        # a result past the largest number is infinite, and near it may be
        allowed = slack(name, exact)
        return Between(exact - allowed, exact + allowed)

    return oracle


def _norm(dtype, attributes, operands, shape) -> Expectation:
    x, *parameters = map(_wide, operands)
    eps = float(np.float32(attributes["eps"]))
    exact, allowed, free = normed(x, attributes["axis"], eps, *parameters)
    return Between(exact - allowed, exact + allowed, free)


def _logsumexp(dtype, attributes, operands, shape) -> Expectation:
    """Within 4 ulp + 1e-6 of float64; infinite lanes are exact."""
    axis = attributes["axis"]
    largest = np.max(_wide(operands[0]), axis=axis)
    total = np.sum(np.exp(_shifted(operands[0], axis)), axis=axis)
    exact = np.where(np.isinf(largest), largest, largest + np.log(total))
    allowed = np.where(np.isfinite(exact), _ulps(exact, 4) + 1e-6, 0.0)
    return Between(exact - allowed, exact + allowed)


def _log_softmax(dtype, attributes, operands, shape) -> Expectation:
    """Within 4 ulp + 1e-6 of float64; infinite lanes are exact."""
    axis = attributes["axis"]
    shifted = _shifted(operands[0], axis)
    exact = shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
    slack = np.where(np.isfinite(exact), _ulps(exact, 4) + 1e-6, 0.0)
    return Between(exact - slack, exact + slack)


def _softmax(dtype, attributes, operands, shape) -> Expectation:
    """`x - max` rounds once, which exp multiplies by its size; then exp, sum and quotient."""
    axis = attributes["axis"]
    shifted = _shifted(operands[0], axis)
    powers = np.exp(shifted)
    exact = powers / np.sum(powers, axis=axis, keepdims=True)
    count = operands[0].shape[axis]
    distance = np.where(np.isfinite(shifted), np.abs(shifted), 0.0)
    slack = exact * EPSILON * (distance + 8 + min(count, 64)) + 4 * TINY
    slack = np.where(exact == 0.0, np.where(shifted == -np.inf, 0.0, slack), slack)
    return Between(np.maximum(exact - slack, np.minimum(exact, 0.0)), exact + slack)


def _gather(dtype, attributes, operands, shape) -> Expectation:
    values, indices = operands
    result = np.empty(shape, values.dtype)
    for at in np.ndindex(*indices.shape):
        result[at] = values[int(indices[at])]
    return Exact(result)


def _take_along_axis(dtype, attributes, operands, shape) -> Expectation:
    """Seed 9: out[a ++ b] = values[a ++ [indices[a ++ b]] ++ b]."""
    values, indices = operands
    axis = attributes["axis"]
    result = np.empty(shape, values.dtype)
    for at in np.ndindex(*shape):
        result[at] = values[(*at[:axis], int(indices[at]), *at[axis:])]
    return Exact(result)


def _cumsum(dtype, attributes, operands, shape) -> Expectation:
    """One element after the other; F32 is added in float64, where it rounds once more in vain."""
    axis = attributes["axis"]
    moved = np.moveaxis(operands[0], axis, 0)
    wide = (_wide(moved) if dtype.is_float else _integers(moved)).reshape(len(moved), -1)
    result = np.empty(wide.shape, np.float32 if dtype.is_float else object)
    total = np.zeros(wide.shape[1:], result.dtype)
    for place, element in enumerate(wide):
        total = result[place] = (total + element).astype(result.dtype)
    made = np.moveaxis(result.reshape(moved.shape), 0, axis)
    return Exact(made.astype(numpy_dtype(dtype)) if dtype.is_float else _wrapped(made, dtype))


def _matmul(dtype, attributes, operands, shape) -> Expectation:
    """A chain of n fused multiply-adds is off by at most n half-ulps of the sum of magnitudes."""
    if not dtype.is_float:
        return Exact(_wrapped(np.matmul(*map(_integers, operands)), dtype))
    left, right = map(_wide, operands)
    products = left[..., :, :, None] * right[..., None, :, :]
    exact = products.sum(-2)
    # What is finite may overflow before an infinity comes, or instead of one.
    size = np.abs(np.where(np.isfinite(products), products, 0.0)).sum(-2)
    slack = left.shape[-1] * (EPSILON * size + TINY)
    free = size + slack >= 2.0**128
    slack = np.where(np.isfinite(exact), slack, 0.0)
    return Between(exact - slack, exact + slack, free)


def _top_k(dtype, attributes, operands, shape) -> Expectation:
    """Python sorts: numbers before NaNs, the larger first; sorting keeps the order of equals."""
    axis = attributes["axis"]
    moved = np.moveaxis(operands[0], axis, -1)
    fibers = moved.reshape(-1, moved.shape[-1]).tolist()
    order = [sorted(range(len(fiber)), key=lambda i, f=fiber: _rank(f[i])) for fiber in fibers]
    places = np.array([row[: attributes["k"]] for row in order], np.int64)
    return Exact(np.moveaxis(places.reshape(*moved.shape[:-1], attributes["k"]), -1, axis))


def _rank(value: float) -> tuple[bool, float]:
    return (True, 0) if math.isnan(value) else (False, -value)


def _cast(dtype, attributes, operands, shape) -> Expectation:
    target = attributes["dtype"]
    array = operands[0]
    items = (array.astype(np.float64) if dtype.is_float else array.astype(object)).reshape(-1)
    cast = [_cast_one(item, dtype, target) for item in items.tolist()]
    plain = np.array(cast, np.float64 if target.is_float else np.int64 if target.is_int else bool)
    # Every value is exact by now, so this conversion rounds nothing.
    return Exact(plain.astype(np.float32 if target.is_float else plain.dtype)
                 .astype(numpy_dtype(target)).reshape(shape))  # fmt: skip


def _cast_one(value: float | bool, source: DType, target: DType) -> float | bool:
    if target.is_float:
        return _to_float(value, source, target)
    if not target.is_int:
        return value != 0
    if not source.is_float:
        span = 1 << target.bits
        return (int(value) + span // 2) % span - span // 2
    if math.isnan(value):
        return 0
    low, high = int(target.lowest), int(target.highest)
    if math.isinf(value):
        return low if value < 0 else high
    return min(max(math.trunc(value), low), high)


def _to_float(value: float | bool, source: DType, target: DType) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        return math.nan if target.lowest != "-inf" else value
    if target.bits == 32:
        return value if source.is_float else round_f32_integer(int(value))
    result = round_small(Fraction(value), target)
    return math.copysign(result, value) if source.is_float else result


ORACLES: dict[str, Callable[..., Expectation]] = {
    "neg": _arithmetic(lambda x: -x),
    "add": _arithmetic(lambda x, y: x + y),
    "sub": _arithmetic(lambda x, y: x - y),
    "mul": _arithmetic(lambda x, y: x * y),
    "div": _elements(_quotient),
    "rem": _elements(_remainder),
    "abs": _arithmetic(abs),
    "floor": _floating(lambda x: _whole(x, math.floor(x))),
    "ceil": _floating(lambda x: _whole(x, math.ceil(x))),
    "round": _floating(lambda x: _whole(x, round(x))),
    "stop_gradient": _same,
    "maximum": _elements(_larger),
    "minimum": _elements(_smaller),
    "clamp": _elements(_clamped),
    "bit_and": _elements(lambda _, x, y: x & y),
    "bit_or": _elements(lambda _, x, y: x | y),
    "bit_xor": _elements(lambda _, x, y: x ^ y),
    "shift_left": _elements(_shift_left),
    "shift_right": _elements(_shift_right),
    "equal": _compared(lambda x, y: x == y),
    "not_equal": _compared(lambda x, y: x != y),
    "less": _compared(lambda x, y: x < y),
    "less_equal": _compared(lambda x, y: x <= y),
    "greater": _compared(lambda x, y: x > y),
    "greater_equal": _compared(lambda x, y: x >= y),
    "logical_and": _compared(lambda x, y: bool(x and y)),
    "logical_or": _compared(lambda x, y: bool(x or y)),
    "logical_not": lambda dtype, attributes, operands, shape: Exact(operands[0] == 0),
    "select": _select,
    "sqrt": _arithmetic(np.sqrt),
    "exp": _transcendental(np.exp),
    "log": _transcendental(np.log),
    "expm1": _transcendental(np.expm1),
    "log1p": _transcendental(np.log1p),
    "tanh": _transcendental(np.tanh),
    "erf": _transcendental(np.vectorize(math.erf, otypes=[np.float64])),
    **{name: _composite(name) for name in EXACT},
    "logsumexp": _logsumexp,
    "rms_norm": _norm,
    "layer_norm": _norm,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "reduce": _reduce,
    "reduce_keep": _reduce,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "gather": _gather,
    "take_along_axis": _take_along_axis,
    "cast": _cast,
    "matmul": _matmul,
    "iota": _iota,
    "random_uniform": _random_uniform,
    "transpose": _transpose,
    "slice": _slice,
    "update": _update,
    "concat": _concat,
    "cumsum": _cumsum,
    "top_k": _top_k,
}
