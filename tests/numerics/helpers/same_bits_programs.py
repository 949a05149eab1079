"""Programs whose results must have the same bits everywhere, and calls of them.

A is an outer axis, N the axis that is worked along, B the rows or fibers beside it. Each function
is there with symbols, and again with static sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from helpers.inputs import PROFILES, random_argument
from helpers.replay import Call
from kina.types import Signature

SIZES = (1, 7, 63, 64, 65, 130, 1000, 16384, 16385, 40000, 50257)
"""Around the width of the lanes and the length of a chunk; a vocabulary."""

_ROWS, _COLUMNS, _INNER = "[B, N]", "[N, B]", "[A, N, B]"
_CURVES = (
    *("expm1", "log1p", "tanh", "erf", "sigmoid"),
    *("log_sigmoid", "softplus", "silu", "gelu", "gelu_tanh"),
)
_SMALL = ("F16", "BF16", "F8E4M3", "F8E5M2")


def _along(dims: str, axis: int) -> dict[str, str]:
    """What is done along one axis of F32."""
    rest = ", ".join(dim for dim in dims[1:-1].split(", ") if dim != "N")
    x, kept, full = f"(x: tensor<F32, {dims}>)", f"tensor<F32, [{rest}]>", f"tensor<F32, {dims}>"
    reduced = [f"x.reduce(op={op}, axis={axis})" for op in ("mean", "max", "min", "argmax")]
    stats = f"({kept}, {kept}, {kept}, tensor<I64, [{rest}]>)"
    others = [f"x.reduce(op={op}, axis={axis})" for op in ("prod", "argmin")]
    flags = [f"x.cast(Bool).reduce(op={op}, axis={axis})" for op in ("any", "all")]
    bools = ", ".join([f"tensor<Bool, [{rest}]>"] * 2)
    scans = f"({full}, {kept}, tensor<I64, [{rest}]>, {bools})"
    return {
        "scans": f"{x} -> {scans} {{ (x.cumsum(axis={axis}), {', '.join(others + flags)}) }}",
        "sum": f"{x} -> {kept} {{ x.reduce(op=sum, axis={axis}) }}",
        "stats": f"{x} -> {stats} {{ ({', '.join(reduced)}) }}",
        "softmax": f"{x} -> {full} {{ x.softmax(axis={axis}) }}",
        "log_softmax": f"{x} -> {full} {{ x.log_softmax(axis={axis}) }}",
    }


def _small(dtype: str) -> dict[str, str]:
    """What is done on floats of 16 or 8 bits."""
    x = f"(x: tensor<{dtype}, [B, N]>)"
    sums = ", ".join(f"x.reduce(op={op}, axis=1)" for op in ("sum", "mean", "max", "argmax"))
    out = f"tensor<{dtype}, [B]>, tensor<{dtype}, [B]>, tensor<{dtype}, [B]>, tensor<I64, [B]>"
    return {
        f"log_softmax_{dtype}": f"{x} -> tensor<{dtype}, [B, N]> {{ x.log_softmax(axis=1) }}",
        f"stats_{dtype}": f"{x} -> ({out}) {{ ({sums}) }}",
        f"math_{dtype}": f"(x: tensor<{dtype}, [N]>) -> (tensor<{dtype}, [N]>, tensor<F32, [N]>) "
        "{ (x.exp() * x, (x + x.sqrt()).cast(F32)) }",
    }


FUNCTIONS: dict[str, str] = {
    **{f"{name}_rows": text for name, text in _along(_ROWS, 1).items()},
    **{f"{name}_columns": text for name, text in _along(_COLUMNS, 0).items()},
    **{f"{name}_inner": text for name, text in _along(_INNER, 1).items()},
    "nll": "(x: tensor<F32, [B, N]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> "
    "{ -x.log_softmax(axis=1).take_along_axis(t, axis=1) }",
    "both": "(x: tensor<F32, [B, N]>, t: tensor<I64, [B]>) -> (tensor<F32, []>, "
    "tensor<F32, [B, N]>) { let p = x.log_softmax(axis=1) in "
    "((-p.take_along_axis(t, axis=1)).reduce(op=mean, axis=0), p) }",
    "dnll": "reverseMode(nll, wrt=[x])",
    "sample": "(x: tensor<F32, [B, N]>, u: tensor<F32, [B, N]>, s: tensor<F32, [1, 1]>) -> "
    "tensor<I64, [B]> { (x / s.broadcast([B, N]) - log(-log(u))).reduce(op=argmax, axis=1) }",
    "math": "(x: tensor<F32, [N]>) -> (tensor<F32, [N]>, tensor<F32, [N]>, tensor<F32, [N]>) "
    "{ (x.exp(), x.log(), x.sqrt() / (x * x + 1.5)) }",
    "choice": "(x: tensor<F32, [B, N]>, y: tensor<F32, [B, N]>) -> tensor<F32, [B, N]> "
    "{ (x > 0 && x <= y || x != x).select(x.clamp(-1, 1), y.maximum(x).round()) }",
    "integers": "(x: tensor<I32, [N]>, y: tensor<I32, [N]>) -> (tensor<I32, [N]>, "
    "tensor<I32, [N]>) "
    "{ (x.div(y) + x.rem(y), x.shift_left(y).bit_xor(x.shift_right(y))) }",
    "casts": f"(x: tensor<F32, [N]>) -> ({', '.join(f'tensor<{d}, [N]>' for d in _SMALL)}, "
    f"tensor<I8, [N]>) {{ ({', '.join(f'x.cast({d})' for d in (*_SMALL, 'I8'))}) }}",
    **{name: text for dtype in _SMALL for name, text in _small(dtype).items()},
    "curves": f"(x: tensor<F32, [N]>) -> ({', '.join(['tensor<F32, [N]>'] * len(_CURVES))}) "
    f"{{ ({', '.join(f'x.{name}()' for name in _CURVES)}) }}",
    "dcurves": "reverseMode(curves)",
    "norms": "(x: tensor<F32, [B, N]>, w: tensor<F32, [N]>) -> (tensor<F32, [B]>, "
    "tensor<F32, [B, N]>, tensor<F32, [B, N]>) { (x.logsumexp(axis=1), "
    "x.rms_norm(w, axis=1, eps=1e-5), x.layer_norm(w, w, axis=1, eps=1e-5)) }",
    "dnorms": "reverseMode(norms)",
    "matmul_deep": "(x: tensor<F32, [B, N]>, w: tensor<F32, [N, A]>) -> tensor<F32, [B, A]> "
    "{ x.matmul(w) }",
    "matmul_wide": "(x: tensor<F32, [B, A, 70]>, w: tensor<F32, [70, N]>, b: tensor<F32, [N]>) -> "
    "tensor<F32, [B, A, N]> { x.matmul(w) + b.broadcast([B, A, N]) }",
    "matmul_BF16": "(x: tensor<BF16, [B, 33]>, w: tensor<BF16, [33, N]>) -> tensor<BF16, [B, N]> "
    "{ x.matmul(w) }",
    "dmatmul": "reverseMode(matmul_wide)",
    "matmul_I8": "(x: tensor<I8, [B, 70]>, w: tensor<I8, [70, N]>) -> tensor<I32, [B, N]> "
    "{ x.cast(I32).matmul(w.cast(I32)) }",
    "matmul_rows_I8": "(x: tensor<I8, [A, N]>, w: tensor<I8, [B, N]>) -> tensor<I32, [A, B]> "
    "{ x.cast(I32).matmul(w.transpose([1, 0]).cast(I32)) }",
    "top_rows": "(x: tensor<F32, [B, N]>, y: tensor<F16, [B, N]>) -> (tensor<F32, [B, 3]>, "
    "tensor<I64, [B, 3]>, tensor<I64, [B, 1]>) { let (_y, j) = y.top_k(k=1, axis=1) in "
    "let (a, i) = (concat(x, -x, x, axis=1) * 1.5).top_k(k=3, axis=1) in (a, i, j) }",
    "top_inner": "(x: tensor<F32, [A, N, B]>) -> tensor<I64, [A, 1, B]> "
    "{ let (a, i) = x.top_k(k=1, axis=1) in i }",
    "draws": "(x: tensor<F32, [A, N]>, seed: tensor<I64, [2]>) -> (tensor<F32, [A, N]>, "
    "tensor<I64, [A]>) { let u = random_uniform([A, N], seed=seed) in "
    "(u, (x - log(-log(u))).reduce(op=argmax, axis=1)) }",
}  # fmt: skip
"""What stands behind `let NAME = fn`, or behind `let NAME =`."""

CORE: dict[str, tuple[int, ...]] = {
    "sum_rows": (16385,),
    "stats_rows": (),
    "log_softmax_rows": (1000,),
    "sum_columns": (130,),
    "softmax_columns": (),
    "stats_inner": (65,),
    "scans_rows": (65,),
    "scans_inner": (7,),
    "log_softmax_inner": (),
    "nll": (65,),
    "dnll": (),
    "sample": (),
    "math": (),
    "choice": (),
    "integers": (),
    "casts": (),
    "log_softmax_BF16": (),
    "stats_F16": (7,),
    "curves": (),
    "dcurves": (),
    "norms": (65,),
    "dnorms": (),
    "matmul_deep": (1000,),
    "matmul_wide": (65,),
    "matmul_BF16": (),
    "matmul_I8": (65,),
    "matmul_rows_I8": (),
    "dmatmul": (),
    "draws": (130,),
    "top_rows": (65,),
}
"""Functions that every test run compiles, and the sizes of their static twins."""

_OFTEN = ("sum_rows", "log_softmax_rows", "sum_columns")
_FIRST = ("nll", "matmul_wide", "curves", "norms")
"""What others differentiate, and so at every size that they have."""
_ONCE = [name for name in FUNCTIONS if name not in (*_OFTEN, *_FIRST)]
ALL: dict[str, tuple[int, ...]] = {
    **{name: SIZES for name in _OFTEN},
    **{name: SIZES for name in _FIRST},
    **{name: (SIZES[number * 3 % len(SIZES)],) for number, name in enumerate(_ONCE)},
}
"""Every function; the sweep compiles these."""


def width(size: int) -> int:
    """How many rows or fibers: a block of 64, one of 8 and three more; or fewer."""
    return 75 if size < 100 else 11 if size <= 1000 else 2


def source(chosen: Mapping[str, Sequence[int]]) -> str:
    """The program with these functions and their twins, `NAME_SIZE`."""
    lines = [_item(name, FUNCTIONS[name]) for name in chosen]
    for name, sizes in chosen.items():
        for size in sizes:
            text = re.sub(
                r"\((nll|matmul_wide|curves|norms)([,)])", rf"(\1_{size}\2", FUNCTIONS[name]
            )
            for letter, value in (("A", 2), ("N", size), ("B", width(size))):
                text = re.sub(rf"\b{letter}\b", str(value), text)
            lines.append(_item(f"{name}_{size}", text))
    return "\n".join(lines)


def _item(name: str, text: str) -> str:
    return f"let {name} = {'' if text.startswith('reverseMode') else 'fn'}{text}"


def calls(signatures: Mapping[str, Signature], chosen: Iterable[str]) -> list[Call]:
    """Functions at every size of N, at some sizes also with NaN, infinities and ties."""
    return [
        Call(name, size, arguments(signatures[name], size, profile))
        for name in chosen
        for size in SIZES
        for profile in (PROFILES if size in (7, 65, 1000) else PROFILES[:1])
    ]


def arguments(
    signature: Signature, size: int, profile: str = "plain", rows: int | None = None
) -> tuple[np.ndarray, ...]:
    """Arguments for this size of N and number of rows, with indices and samples in range."""
    sizes = {"A": 2, "N": size, "B": width(size) if rows is None else rows}
    rng = np.random.default_rng([PROFILES.index(profile), *sizes.values()])
    return tuple(
        random_argument(rng, parameter, sizes, profile) for parameter in signature.parameters
    )


def twin_calls(
    symbolic: Iterable[Call], chosen: Mapping[str, Sequence[int]]
) -> list[tuple[int, Call]]:
    """What static twins are called with, and the number of the call that each repeats."""
    return [
        (number, replace(call, function=f"{call.function}_{call.size}"))
        for number, call in enumerate(symbolic)
        if call.size in chosen[call.function]
    ]
