"""The sweep: every operation over dtype × shape × axis, from the op table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, zip_longest

import numpy as np

from helpers.inputs import PROFILES, random_array
from kina.dims import evaluate
from kina.dtypes import DTYPES, I64, DType
from kina.ops import OPS, REDUCTIONS
from kina.rules.infer import infer
from kina.rules.parts import Attribute
from kina.types import Dim, TensorType

SHAPES: tuple[tuple[int, ...], ...] = (
    (), (1,), (7,), (64,), (65,), (3, 5), (1, 9), (2, 67), (9, 1), (70, 3), (2, 3, 8), (3, 1, 17),
    (2, 33, 2), (2, 2, 3, 5), (1, 2, 2, 3, 4),
)  # fmt: skip
"""Ranks 0 to 5; size-1 axes at every place; widths around the vector lengths."""


@dataclass(frozen=True)
class Case:
    """One application of one operation."""

    op: str
    types: tuple[TensorType, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    shapes: tuple[tuple[int, ...], ...]
    """The operands' run-time shapes."""
    scope: tuple[tuple[str, int], ...] = ()
    """Sizes of symbols that only the attributes name."""

    @property
    def result(self) -> TensorType:
        """The type rule's result."""
        return infer(self.op, self.types, dict(self.attributes))

    @property
    def _target(self) -> tuple[Dim, ...]:
        target = dict(self.attributes).get("dims", ())
        assert isinstance(target, tuple)
        return target

    @property
    def sizes(self) -> dict[str, int]:
        """The size of every symbol."""
        operands = zip(self.types, self.shapes, strict=True)
        pairs = [pair for type_, shape in operands for pair in zip(type_.dims, shape, strict=True)]
        return dict(self.scope) | {dim: size for dim, size in pairs if isinstance(dim, str)}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The result's run-time shape."""
        sizes = self.sizes
        return tuple(evaluate(dim, sizes) for dim in self.result.dims)

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={value}" for key, value in self.attributes)
        return f"{self.op}({', '.join(map(str, self.types))}{', ' if shown else ''}{shown})"

    def inputs(self, seed: int) -> list[np.ndarray]:
        """Operands: the profile goes round with the seed, indices are in range."""
        rng = np.random.default_rng(seed)
        profile = PROFILES[seed % len(PROFILES)]
        arrays = [
            random_array(rng, type_.dtype, shape, profile)
            for type_, shape in zip(self.types, self.shapes, strict=True)
        ]
        if self.op in ("shift_left", "shift_right"):
            counts = rng.integers(-1, self.types[1].dtype.bits + 2, self.shapes[1])
            usual = np.minimum(counts, int(self.types[1].dtype.highest))
            arrays[1] = np.where(rng.random(self.shapes[1]) < 0.8, usual, arrays[1])
            arrays[1] = arrays[1].astype(arrays[0].dtype)
        if self.op in ("gather", "take_along_axis"):
            axis = dict(self.attributes).get("axis", 0)
            arrays[1] = rng.integers(0, self.shapes[0][axis], self.shapes[1])
        if self.starts is not None:
            arrays[-1] = np.asarray(rng.integers(0, self.starts, ()))
        return arrays

    @property
    def starts(self) -> int | None:
        """For a window: from how many places it may start."""
        if self.op not in ("slice", "update"):
            return None
        axis = dict(self.attributes)["axis"]
        assert isinstance(axis, int)
        inner = self.result_shape if self.op == "slice" else self.shapes[1]
        return self.shapes[0][axis] - inner[axis] + 1

    def symbolic(self) -> Case | None:
        """The same application with a symbol for every dimension but the size-1 ones.

        Equal sizes share a symbol, so every type rule still holds; None for a reshape to a
        product of sizes, which has no name, and for a seed, which always has two words.
        """
        if self.op == "random_uniform":
            return None
        if self.op == "reshape" and self.types[0].rank > 1 and len(self._target) == 1:
            return None
        name = {size: f"N{size}" for shape in self.shapes for size in shape if size > 1}
        types = tuple(_renamed(type_, name) for type_ in self.types)
        attributes = tuple(
            (key, _renamed_value(key, value, name)) for key, value in self.attributes
        )
        return replace(self, types=types, attributes=attributes)


def _renamed_value(key: str, value: Attribute, name: dict[int, str]) -> Attribute:
    if key == "dims":
        assert isinstance(value, tuple)
        return _renamed_dims(value, name)
    return name.get(value, value) if key == "size" and isinstance(value, int) else value


def _renamed(type_: TensorType, name: dict[int, str]) -> TensorType:
    return type_.with_dims(_renamed_dims(type_.dims, name))


def _renamed_dims(dims: tuple[Dim, ...], name: dict[int, str]) -> tuple[Dim, ...]:
    return tuple(name.get(dim, dim) if isinstance(dim, int) else dim for dim in dims)


def case(op: str, types: list[TensorType], /, **attributes: Attribute) -> Case:
    """A static case."""
    shapes = tuple(tuple(int(d) for d in type_.dims) for type_ in types)
    return Case(op, tuple(types), tuple(attributes.items()), shapes)


def all_cases() -> Iterator[Case]:
    """Every operation × admissible dtype × shape × axis (and reduction, target dtype or shape)."""
    for op in OPS.values():
        for name in sorted(op.dtypes):
            for shape in SHAPES:
                yield from _of(op.name, TensorType(DTYPES[name], shape))


def _of(op: str, operand: TensorType) -> Iterator[Case]:
    arity = len(OPS[op].operands)
    if op in _SPECIAL:
        yield from _SPECIAL[op](op, operand)
    elif OPS[op].attributes == ("axis",):
        yield from (case(op, [operand], axis=axis) for axis in range(operand.rank))
    else:
        yield case(op, [operand] * arity)


def _selects(op: str, operand: TensorType) -> Iterator[Case]:
    for dtype in DTYPES.values():
        yield case(op, [operand, *[operand.with_dtype(dtype)] * 2])


def _reductions(op: str, operand: TensorType) -> Iterator[Case]:
    for kind in REDUCTIONS:
        if operand.dtype.name in REDUCTIONS[kind].dtypes:
            for axis in range(operand.rank):
                yield case(op, [operand], op=kind, axis=axis)


def _broadcasts(op: str, operand: TensorType) -> Iterator[Case]:
    dims = operand.dims
    yield case(op, [operand], dims=(3, *dims))
    yield case(op, [operand], dims=tuple(4 if dim == 1 else dim for dim in dims))
    yield case(op, [operand.with_dims(())], dims=dims)


def _reshapes(op: str, operand: TensorType) -> Iterator[Case]:
    count = int(np.prod(operand.dims, dtype=int))
    yield case(op, [operand], dims=(count,))
    yield case(op, [operand], dims=(1, *reversed(operand.dims), 1))
    if count == 1:
        yield case(op, [operand], dims=())


def _gathers(op: str, operand: TensorType) -> Iterator[Case]:
    if operand.rank == 2:
        for indices in ((), (5,), (2, 3)):
            yield case(op, [operand, TensorType(I64, indices)])


def _takes(op: str, operand: TensorType) -> Iterator[Case]:
    if operand.rank < 2:
        return
    for axis in range(operand.rank):
        indices = (*operand.dims[:axis], *operand.dims[axis + 1 :])
        yield case(op, [operand, TensorType(I64, indices)], axis=axis)


def _top_ks(op: str, operand: TensorType) -> Iterator[Case]:
    """The best one, about half of them, and all."""
    for axis, dim in enumerate(operand.dims):
        assert isinstance(dim, int)
        for k in sorted({1, (dim + 1) // 2, dim}):
            yield case(op, [operand], k=k, axis=axis)


def _norms(op: str, operand: TensorType) -> Iterator[Case]:
    """Along each axis, with parameters of its size."""
    for axis in range(operand.rank):
        parameters = [operand.with_dims((operand.dims[axis],))] * (len(OPS[op].operands) - 1)
        yield case(op, [operand, *parameters], axis=axis, eps=1e-5)


def _matmuls(op: str, operand: TensorType) -> Iterator[Case]:
    """The shape as left operand; columns from 1 to more than a vector, few K and many."""
    if operand.rank < 2:
        return
    *batch, _, k = operand.dims
    for columns in (1, 5, 67):
        yield case(op, [operand, operand.with_dims((k, columns))])
        if batch:
            yield case(op, [operand, operand.with_dims((*batch, k, columns))])


def _iotas(op: str, operand: TensorType) -> Iterator[Case]:
    if operand.dtype is I64:
        yield from (case(op, [], dims=operand.dims, axis=a) for a in range(operand.rank))


def _uniforms(op: str, operand: TensorType) -> Iterator[Case]:
    if operand.dtype is I64:
        yield case(op, [TensorType(I64, (2,))], dims=operand.dims)


def _transposes(op: str, operand: TensorType) -> Iterator[Case]:
    orders = list(permutations(range(operand.rank)))
    for axes in orders if len(orders) <= 6 else (orders[1], orders[7], orders[-1]):
        yield case(op, [operand], axes=axes)


def _windows(operand: TensorType) -> Iterator[tuple[int, int]]:
    """An axis, and the size of a window in it."""
    for axis, dim in enumerate(operand.dims):
        assert isinstance(dim, int)
        yield from ((axis, size) for size in sorted({1, max(1, dim - 1), dim}))


def _slices(op: str, operand: TensorType) -> Iterator[Case]:
    for axis, size in _windows(operand):
        yield case(op, [operand, TensorType(I64, ())], axis=axis, size=size)


def _updates(op: str, operand: TensorType) -> Iterator[Case]:
    for axis, size in _windows(operand):
        new = operand.with_dims((*operand.dims[:axis], size, *operand.dims[axis + 1 :]))
        yield case(op, [operand, new, TensorType(I64, ())], axis=axis)


def _concats(op: str, operand: TensorType) -> Iterator[Case]:
    for axis, dim in enumerate(operand.dims):
        other = operand.with_dims((*operand.dims[:axis], 3, *operand.dims[axis + 1 :]))
        yield case(op, [operand, other], axis=axis)
        if dim == 1:
            yield case(op, [operand, other, operand], axis=axis)


def _casts(op: str, operand: TensorType) -> Iterator[Case]:
    if operand.rank in (0, 1, 3):
        yield from (case(op, [operand], dtype=target) for target in DTYPES.values())


_SPECIAL = {
    "select": _selects,
    "reduce": _reductions,
    "reduce_keep": _reductions,
    "broadcast": _broadcasts,
    "reshape": _reshapes,
    "rms_norm": _norms,
    "layer_norm": _norms,
    "gather": _gathers,
    "take_along_axis": _takes,
    "cast": _casts,
    "matmul": _matmuls,
    "iota": _iotas,
    "random_uniform": _uniforms,
    "transpose": _transposes,
    "slice": _slices,
    "update": _updates,
    "concat": _concats,
    "top_k": _top_ks,
}


def source(case: Case, name: str) -> str:
    """The case as a `.kina` function."""
    names = [f"p{i}" for i in range(len(case.types))]
    parameters = ", ".join(f"{n}: {t}" for n, t in zip(names, case.types, strict=True))
    body = expression(case, names)
    if case.op == "top_k":
        body = f"let (values, places) = {body} in places"
    return f"let {name} = fn({parameters}) -> {case.result} {{ {body} }}"


def expression(case: Case, names: list[str]) -> str:
    """The application on named operands."""
    return expression_of(case.op, case.attributes, names, case.types)


def expression_of(
    op: str,
    attributes: tuple[tuple[str, Attribute], ...],
    names: list[str],
    types: Sequence[TensorType],
) -> str:
    """An application as a user writes it: by its operator if it has one, else as a method."""
    symbol = OPS[op].symbol
    if symbol is not None and types[0].dtype.name in OPS[op].symbol_dtypes:
        return f"{names[0]} {symbol} {names[1]}" if len(names) == 2 else f"{symbol}{names[0]}"
    extra = [_argument(key, value) for key, value in attributes]
    if not names:
        return f"{op}({', '.join(extra)})"
    if not names[0].isidentifier():
        return f"{op}({', '.join([*names, *extra])})"
    roles = OPS[op].operands
    named = [role if role in OPS[op].named else None for role in roles]
    given = [f"{role}={n}" if role else n for role, n in zip_longest(named[: len(names)], names)]
    if all(named):
        return f"{op}({', '.join([*extra, *given])})"
    given.sort(key=lambda text: "=" in text)
    return f"{names[0]}.{op}({', '.join([*given[1:], *extra])})"


def _argument(key: str, value: Attribute) -> str:
    if isinstance(value, DType):
        return str(value)
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else f"{key}={value}"
