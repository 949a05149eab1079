"""`kina run`: a function on files, numbers or random inputs, with its results printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from kina.arrays import Array
from kina.cli.files import write
from kina.cli.inputs import Inputs, stored
from kina.errors import KinaError, KinaValueError
from kina.runtime.module import Function, Module, no_function
from kina.types import TensorType

# Relative and absolute difference from the reference that counts as rounding.
_TOLERANCE = {"F32": 1e-5, "F16": 2e-3, "BF16": 2e-2, "F8E4M3": 0.13, "F8E5M2": 0.26}


def run_function(
    module: Module,
    name: str | None,
    given: Sequence[str],
    sizes: Sequence[str],
    output: Path | None,
    verify: bool,
) -> None:
    """Run one function of `module` and print its results; with `verify`, compare them."""
    function = choose(module, name)
    inputs = Inputs(function, given, sizes)
    print(function.type)
    for parameter, shown in zip(function.type.parameters, inputs.described, strict=True):
        print(f"  {parameter.name}: {shown}")
    result = function.flat(*inputs.arguments)
    results = as_tuple(result)
    for type_, array in zip(function.type.results, results, strict=True):
        print(f"{type_.dtype} {list(array.shape)}:\n{_shown(array)}")
    if output is not None:
        _save(output, function, results)
    if verify:
        _verify(function, results, function.flat_reference(*inputs.arguments))


def choose(module: Module, name: str | None) -> Function:
    """The function called `name`, or the last one; raises `KinaValueError` if there is none."""
    names = list(module)
    chosen = names[-1] if name is None else name
    if chosen not in names:
        raise KinaValueError(no_function(chosen, names, "in this program"))
    return module[chosen]


def as_tuple(result: Any) -> tuple[Array, ...]:
    """The results of a call, also where there is one only."""
    return cast("tuple[Array, ...]", result) if isinstance(result, tuple) else (result,)


def _shown(array: Array) -> str:
    return np.array2string(
        array, threshold=200, precision=6, suppress_small=True, max_line_width=96
    )


def _save(folder: Path, function: Function, results: Sequence[Array]) -> None:
    from io import BytesIO

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KinaValueError(f"{folder}: cannot make the folder: {error.strerror}") from None
    for index, array in enumerate(results):
        number = "" if len(results) == 1 else f"{index}"
        path = folder / f"{function.type.name}{number}.npy"
        data = BytesIO()
        np.save(data, stored(array), allow_pickle=False)
        write(path, data.getvalue(), 0o644)
        print(f"wrote {path}")


def _verify(function: Function, results: Sequence[Array], expected: Sequence[Array]) -> None:
    for index, type_ in enumerate(function.type.results):
        worst = _difference(type_, results[index], expected[index])
        if worst is not None:
            raise KinaError(
                f"{function.type.name}: result {index} differs from the reference: {worst}"
            )
    print("the NumPy reference gives the same")


def _difference(type_: TensorType, got: Array, wanted: Array) -> str | None:
    """Where and by how much two arrays differ by more than rounding; None if they do not."""
    tolerance = _TOLERANCE.get(type_.dtype.name)
    if tolerance is None:
        same = got == wanted
    else:
        left, right = got.astype(np.float64), wanted.astype(np.float64)
        same = np.isclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    if np.all(same):
        return None
    at = tuple(int(i) for i in np.argwhere(np.logical_not(same))[0])
    return f"at {list(at)} it is {got[at]}, expected {wanted[at]}"
