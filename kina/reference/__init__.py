"""The NumPy reference: the meaning of every program of the language, with no toolchain.

It reads kina IR, freshly generated or after any pass up to `lower-kina`, and is what compiled
programs are compared with (`docs/language.md` states the bounds).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.func import FuncOp

from kina.arrays import Array
from kina.dialects.types import from_ir
from kina.errors import KinaIndexError
from kina.reference.checks import Lines
from kina.reference.machine import Demands, as_argument, enter

__all__ = ["evaluate", "first_failure"]


def evaluate(
    function: FuncOp,
    arrays: Sequence[Array],
    source_lines: Lines | None = None,
    sizes: Mapping[str, int] | None = None,
    *,
    ordered: bool = False,
) -> tuple[Array, ...]:
    """The results of `function` on `arrays`, each a fresh array.

    One array per parameter, of its shape and NumPy dtype (the caller checks); results have the
    shapes and dtypes of the function's type. 16- and 8-bit floats compute in F32 and round once;
    sums, exp, log and the softmax family compute in float64 (seed 9); argmax is seed 17's.
    With `ordered`, sums are in the language's order and each operation rounds to F32: the bits of
    compiled code, but for exp, log and what follows from them (`ordered.py`).
    Raises `KinaIndexError` at the first failed check of indices, in program order.
    `source_lines` is the text its diagnostic quotes; without it, the named file is read. `sizes`
    are those of the `size` parameters.
    """
    results = _run(function, arrays, True, source_lines, sizes or {}, ordered)
    return tuple(np.array(result, order="C") for result in results)


def first_failure(
    function: FuncOp,
    arrays: Sequence[Array],
    source_lines: Lines | None = None,
    sizes: Mapping[str, int] | None = None,
) -> KinaIndexError | None:
    """The error of the first failed check of indices, in program order, or None.

    Computes only what the checked indices need, so large operands cost nothing. Arguments as for
    `evaluate` (seed 9: the bound of take_along_axis).
    """
    try:
        _run(function, arrays, False, source_lines, sizes or {})
    except KinaIndexError as failure:
        return failure
    return None


def _run(
    function: FuncOp,
    arrays: Sequence[Array],
    results: bool,
    lines: Lines | None,
    sizes: Mapping[str, int],
    ordered: bool = False,
) -> tuple[Array, ...]:
    types = [from_ir(parameter.type) for parameter in function.body.block.args]
    arguments = [as_argument(array, type_) for array, type_ in zip(arrays, types, strict=True)]
    shapes = [array.shape for array in arguments]
    # Overflow, NaN and division by zero have their IEEE results here; they are no one's mistake.
    with np.errstate(all="ignore"):
        frame = enter(function, arguments, shapes, results, lines, Demands(), sizes, ordered)
        return frame.run()
