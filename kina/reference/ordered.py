"""The same meaning as compiled code computes it: every operation rounds to F32, sums are in order.

What is here is exact to the bit: sums, means, matrix products and scattered sums, in the language's
order (`kina/order.py`), and `+ - * / sqrt` between them. exp, log and what is made of them are
rounded from float64, where compiled code may be 1 ulp off; what follows from those has their error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kina.arrays import Array
from kina.dialects.contraction import ContractOp
from kina.dialects.internal import InternalOp, ScatterAddOp
from kina.dialects.types import from_ir
from kina.dtypes import DType
from kina.order import ordered_product, ordered_sum
from kina.reference.contraction import contract, product
from kina.reference.meaning import Meaning, Site, apply
from kina.reference.numbers import narrow, widen

Shape = tuple[int, ...]


def _reduce(site: Site, operands: Sequence[Array]) -> Array:
    kind = site.attributes["op"]
    if not site.dtype.is_float or kind not in ("sum", "mean"):
        return apply(site, operands)
    wide = widen(operands[0], site.dtype)
    total = np.asarray(ordered_sum(wide, site.axis))
    if kind == "mean":
        total = np.asarray(total / np.float32(wide.shape[site.axis]))
    return np.reshape(narrow(total, site.dtype), site.shape)


def _powers(site: Site, operand: Array) -> tuple[Array, Array, Array]:
    """`x - max(x)`, its exp, and the sum of that, which keeps the axis."""
    wide = widen(operand, site.dtype)
    shifted = wide - np.max(wide, axis=site.axis, keepdims=True)
    powers = _rounded(np.exp, shifted)
    return shifted, powers, np.expand_dims(ordered_sum(powers, site.axis), site.axis)


def _rounded(function: np.ufunc, array: Array) -> Array:
    """A function in float64, rounded once."""
    return np.asarray(function(array.astype(np.float64))).astype(np.float32)


def _softmax(site: Site, operands: Sequence[Array]) -> Array:
    _, powers, total = _powers(site, operands[0])
    return narrow(powers / total, site.dtype)


def _log_softmax(site: Site, operands: Sequence[Array]) -> Array:
    shifted, _, total = _powers(site, operands[0])
    return narrow(shifted - _rounded(np.log, total), site.dtype)


def _product(left: Array, right: Array, dtype: DType) -> Array:
    return ordered_product(left, right) if dtype.is_float else product(left, right, dtype)


def _matmul(site: Site, operands: Sequence[Array]) -> Array:
    left, right = (widen(operand, site.dtype) for operand in operands)
    return narrow(_product(left, right, site.dtype), site.dtype)


MEANINGS: Mapping[str, Meaning] = {
    "reduce": _reduce,
    "reduce_keep": _reduce,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "matmul": _matmul,
}
"""The operations of the op table that mean something else where the order counts."""


def _scatter_add(op: ScatterAddOp, operands: Sequence[Array], shape: Shape) -> Array:
    """`add.at` takes the rows in order."""
    updates, indices = operands
    dtype = from_ir(op.updates.type).dtype
    total = np.zeros(shape, np.float32)
    np.add.at(total, indices.reshape(-1), widen(updates, dtype).reshape(-1, shape[1]))
    return narrow(total, dtype)


def _contract(op: ContractOp, operands: Sequence[Array], shape: Shape) -> Array:
    dtype = from_ir(op.left.type).dtype
    left, right = (widen(operand, dtype) for operand in operands)
    return narrow(contract(left, right, op.loops, dtype, _product), dtype)


INTERNAL: Mapping[type[InternalOp], Callable[..., Array]] = {
    ScatterAddOp: _scatter_add,
    ContractOp: _contract,
}
"""Those of reverse mode."""
