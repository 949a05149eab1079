"""What `select` does not choose: exact zeros for every operand of every operation.

Each program is an operation, and a choice of some elements of its result. Whatever the other ones
are made of is replaced by NaN and infinities: no gradient may change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from kina.dialects.types import from_ir
from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.source import Source
from kina.ops import OPS
from kina.passes.inline_calls import InlineCalls
from kina.passes.transform_ad import TransformAd
from kina.passes.vjp.table import RULES
from kina.reference import evaluate

Array = np.ndarray
MATRIX = "x: F32[3, 4]"
PAIR = "x: F32[3, 4], y: F32[3, 4]"
ROWS = "x: F32[3, 4], w: F32[4], b: F32[4]"
UNARY = ("abs", "exp", "expm1", "log", "log1p", "neg", "sqrt", "tanh", "erf", "sigmoid", "silu",
         "log_sigmoid", "softplus", "gelu", "gelu_tanh")  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "xlogy")
STEPS = ("floor", "ceil", "round", "stop_gradient")

CASES: dict[str, tuple[str, str, str]] = {
    **{op: (MATRIX, f"{op}(x)", "F32[3, 4]") for op in (*UNARY, *STEPS)},
    **{op: (PAIR, f"{op}(x, y)", "F32[3, 4]") for op in BINARY},
    "clamp": (f"{PAIR}, z: F32[3, 4]", "x.clamp(y, z)", "F32[3, 4]"),
    "select": (f"{PAIR}, c: Bool[3, 4]", "c.select(x, y)", "F32[3, 4]"),
    "cast": (MATRIX, "x.cast(F16).cast(F32)", "F32[3, 4]"),
    "broadcast": ("x: F32[4, 1]", "x.broadcast([2, 4, 3])", "F32[2, 4, 3]"),
    "reshape": (MATRIX, "x.reshape([2, 6])", "F32[2, 6]"),
    "transpose": ("x: F32[2, 3, 4]", "x.transpose([2, 0, 1])", "F32[4, 2, 3]"),
    **{
        f"reduce {kind} {axis}": (MATRIX, f"x.reduce(op={kind}, axis={axis})", f"F32[{size}]")
        for kind in ("sum", "mean", "max", "min", "prod")
        for axis, size in ((0, 4), (1, 3))
    },
    "reduce_keep": (MATRIX, "x.reduce_keep(op=mean, axis=0)", "F32[1, 4]"),
    "cumsum": (MATRIX, "x.cumsum(axis=1)", "F32[3, 4]"),
    "cumsum of columns": (MATRIX, "x.cumsum(axis=0)", "F32[3, 4]"),
    **{op: (MATRIX, f"x.{op}(axis=1)", "F32[3, 4]") for op in ("softmax", "log_softmax")},
    "logsumexp": (MATRIX, "x.logsumexp(axis=1)", "F32[3]"),
    "logsumexp of columns": (MATRIX, "x.logsumexp(axis=0)", "F32[4]"),
    "rms_norm": (ROWS, "x.rms_norm(w, axis=1, eps=1e-5)", "F32[3, 4]"),
    "layer_norm": (ROWS, "x.layer_norm(w, b, axis=1, eps=1e-5)", "F32[3, 4]"),
    "layer_norm of columns": (
        "x: F32[4, 3], w: F32[4], b: F32[4]", "x.layer_norm(w, b, axis=0, eps=1e-5)", "F32[4, 3]"
    ),
    "top_k": (MATRIX, "let (v, i) = x.top_k(k=2, axis=1) in v", "F32[3, 2]"),
    "take_along_axis": (f"{MATRIX}, i: I64[3]", "x.take_along_axis(i, axis=1)", "F32[3]"),
    "gather": (f"{MATRIX}, i: I64[2, 2]", "x.gather(i)", "F32[2, 2, 4]"),
    "slice": (f"{MATRIX}, s: I64[]", "x.slice(axis=1, start=s, size=2)", "F32[3, 2]"),
    "concat": (f"{MATRIX}, y: F32[3, 2]", "concat(x, y, axis=1)", "F32[3, 6]"),
    "update": (f"{MATRIX}, y: F32[3, 2], s: I64[]", "x.update(y, at=s, axis=1)", "F32[3, 4]"),
    "matmul": (f"{MATRIX}, y: F32[4, 2]", "x.matmul(y)", "F32[3, 2]"),
    "matmul of batches": ("x: F32[2, 3, 4], y: F32[2, 4, 2]", "x.matmul(y)", "F32[2, 3, 2]"),
    "matmul, shared": ("x: F32[2, 3, 4], y: F32[4, 2]", "x.matmul(y)", "F32[2, 3, 2]"),
    "matmul with itself": ("x: F32[3, 3]", "x.matmul(x)", "F32[3, 3]"),
    "linear": (
        f"{MATRIX}, w: F32[4, 2], b: F32[2]", "x.matmul(w) + b.broadcast([3, 2])", "F32[3, 2]"
    ),
    "attention": (
        "q: F32[3, 4], k: F32[5, 4], v: F32[5, 2]",
        "q.matmul(k.transpose([1, 0])).softmax(axis=1).matmul(v)",
        "F32[3, 2]",
    ),
    "a call": (f"{MATRIX}, w: F32[4, 4]", "_called(_called(x, w), w)", "F32[3, 4]"),
    "a fold": (f"{MATRIX}, w: F32[2, 4, 4]", "fold(_called, x, over=[w])", "F32[3, 4]"),
    "a fold with": (
        f"{MATRIX}, w: F32[2, 4], z: F32[4]", "fold(_normed, x, over=[w], with=[z])", "F32[3, 4]"
    ),
    "stacks of a fold": (
        f"{MATRIX}, w: F32[2, 4, 4]", "let (y, s) = fold(_stacked, x, over=[w]) in s", "F32[2, 4]"
    ),
}  # fmt: skip
"""Parameters, an expression of them, and its type."""

PRIVATE = """
let _called = fn(x: F32[N, D], w: F32[D, D]) -> F32[N, D] { x.matmul(w) - x }
let _normed = fn(x: F32[N, D], w: F32[D], z: F32[D]) -> F32[N, D] {
  x.rms_norm(w, axis=1, eps=1e-3) * z.exp().broadcast([N, D])
}
let _stacked = fn(x: F32[N, D], w: F32[D, D]) -> (F32[N, D], F32[D]) {
  let y = x.matmul(w) - x in (y, y.log_softmax(axis=1).reduce(op=sum, axis=0))
}
"""
SECOND = (
    "exp", "div", "maximum", "broadcast", "reduce max 0", "reduce prod 0", "reduce prod 1",
    "cumsum", "softmax", "logsumexp", "layer_norm", "top_k", "take_along_axis", "gather", "slice",
    "update", "concat", "matmul, shared", "matmul of batches", "a call", "a fold", "a fold with",
)  # fmt: skip
"""Of these, gradients are chosen from as well."""
BAD = {"plain": (np.nan, np.inf, -np.inf), "of log": (np.nan, 0.0, -1.0)}
"""What takes the place of elements: of `log`, the derivative is infinite or NaN as well."""


def typed(text: str) -> str:
    """`F32[2, 3]` as it is written in the language."""
    return re.sub(r"\b(F32|I64|Bool)(\[[^\]]*\])", r"tensor<\1, \2>", text)


def first_order(name: str, kind: str) -> str:
    """A choice of elements of the operation's result, and its gradient."""
    parameters, body, result = CASES[name]
    floats = re.findall(r"(\w+): F32", parameters)
    logs = "".join(f"let {x} = {x}.log() in " for x in floats if kind == "of log")
    return (
        f"let f = fn({parameters}, kept: {result.replace('F32', 'Bool')}, o: {result}) -> {result} "
        f"{{ {logs}kept.select(({body}), o) }}\nlet df = reverseMode(f)\n"
    )


def second_order(name: str) -> str:
    """A choice of elements of the operation's gradients, and the gradient of that."""
    parameters, body, result = CASES[name]
    wrt = re.findall(r"(\w+): F32(\[[^\]]*\])", parameters)
    names = re.findall(r"(\w+):", parameters)
    chosen = ", ".join(f"k{x}: Bool{dims}, o{x}: F32{dims}" for x, dims in wrt)
    results = ", ".join(f"F32{dims}" for _, dims in wrt)
    choices = ", ".join(f"k{x}.select(d{x}, o{x})" for x, _ in wrt)
    if len(wrt) > 1:
        results, choices = f"({results})", f"({choices})"
    slopes = ", ".join(["y", *(f"d{x}" for x, _ in wrt)])
    return (
        f"let g = fn({parameters}) -> {result} {{ {body} }}\nlet dg = reverseMode(g)\n"
        f"let f = fn({parameters}, g0: {result}, {chosen}) -> {results} {{ "
        f"let ({slopes}) = dg({', '.join(names)}, g0) in {choices} }}\nlet df = reverseMode(f)\n"
    )


class Program:
    """A function and its gradient, by the reference."""

    def __init__(self, text: str) -> None:
        module = generate(check(Source("chosen.kina", typed(PRIVATE + text))))
        for step in (InlineCalls(), TransformAd()):
            step.apply(Context(), module)
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._value, self._gradient = functions["f"], functions["df"]
        self.types = [from_ir(argument.type) for argument in self._value.body.block.args]
        self.results = [from_ir(type_) for type_ in self._value.function_type.outputs]

    def arguments(self, kind: str, seed: int) -> list[Array]:
        """Numbers above 0, or whose logarithms are, indices, and choices.

        These leave out a row, a column and an element.
        """
        rng = np.random.default_rng(seed)
        given: list[Array] = []
        for type_ in self.types:
            shape = tuple(int(dim) for dim in type_.dims)
            if type_.dtype.name == "F32":
                numbers = np.asarray(0.5 + rng.random(shape), np.float32)
                given.append(np.exp(numbers) if kind == "of log" else numbers)
            elif type_.dtype.name == "I64":
                given.append(rng.integers(0, 2, shape))
            else:
                kept = np.ones(shape, np.bool_)
                kept[:1] = False
                kept[..., -1:] &= kept.ndim == 1
                kept.flat[kept.size // 2] = False
                given.append(kept)
        return given

    def chosen(self, given: Sequence[Array]) -> list[Array]:
        """What the function gives, where it does not give what stands beside its choice."""
        flags = [array for array in given if array.dtype == np.bool_][-len(self.results) :]
        values = evaluate(self._value, given)
        return [value[kept] for value, kept in zip(values, flags, strict=True)]

    def spoilt(self, given: Sequence[Array], bad: float) -> list[Array]:
        """The arguments with `bad` in every element that no chosen one is made of."""
        wanted = self.chosen(given)
        spoilt = [array.copy() for array in given]
        for array in spoilt:
            for place in np.ndindex(array.shape) if array.dtype == np.float32 else ():
                before = array[place]
                array[place] = bad
                if not same(self.chosen(spoilt), wanted):
                    array[place] = before
        return spoilt

    def gradients(self, given: Sequence[Array]) -> list[Array]:
        """One for each floating parameter; the cotangents are 1, 2, …"""
        shapes = [tuple(int(dim) for dim in type_.dims) for type_ in self.results]
        slopes = [np.arange(1, 1 + np.prod(shape)).reshape(shape) for shape in shapes]
        found = evaluate(
            self._gradient, [*given, *(np.asarray(slope, np.float32) for slope in slopes)]
        )
        return list(found[len(self.results) :])


def same(left: Sequence[Array], right: Sequence[Array]) -> bool:
    return all(np.array_equal(*pair, equal_nan=True) for pair in zip(left, right, strict=True))


def check_program(text: str, kind: str) -> int:
    """How many elements were spoilt without any effect on a gradient."""
    program = Program(text)
    given = program.arguments(kind, len(text))
    wanted = program.gradients(given)
    assert all(np.isfinite(gradient).all() for gradient in wanted)
    spoilt = 0
    for value in BAD[kind]:
        changed = program.spoilt(given, value)
        spoilt += sum(int((a != b).sum()) for a, b in zip(changed, given, strict=True))
        for position, (got, expected) in enumerate(
            zip(program.gradients(changed), wanted, strict=True)
        ):
            assert np.array_equal(got, expected), (value, position, got, expected)
    return spoilt


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in CASES
        for kind in BAD
        # Of a fiber with one result all elements count, those that it is not made of as well.
        if kind == "plain" or not name.startswith(("reduce m", "take_along_axis"))
    ],
)
def test_what_is_not_chosen(name: str, kind: str) -> None:
    assert check_program(first_order(name, kind), kind) > 3 * len(CASES[name][0].split(", "))


@pytest.mark.parametrize("name", SECOND)
def test_what_is_not_chosen_of_gradients(name: str) -> None:
    assert check_program(second_order(name), "plain") > 0


def test_every_operation_with_a_gradient_is_here() -> None:
    differentiable = {op for op in OPS if f"kina.{op}" in RULES}
    assert differentiable - {name.split()[0] for name in CASES} <= {"reduce"}
