"""Every operation × dtype × rank × static or symbolic sizes lowers to IR that mlir-opt accepts.

All functions of one operation go into one module, so the whole matrix costs seconds.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import count

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.printer import Printer

from kina.backend.toolchain import MLIR_OPT, run
from kina.dialects.table import build
from kina.dialects.types import to_ir
from kina.dtypes import BOOLS, DTYPES, I64
from kina.errors import KinaToolchainError
from kina.ops import ELEMENTWISE, OPS, REDUCTIONS, Family, Op
from kina.passes.lower_kina import LowerKina
from kina.rules.parts import Attributes, without_axis
from kina.types import Dim, TensorType

SHAPES: tuple[tuple[Dim, ...], ...] = (
    (),
    (1,),
    (7,),
    (3, 5),
    (2, 1, 4),
    (2, 3, 1, 5),
    ("N",),
    ("B", 8),
    ("B", "T", "V"),
    ("B", 1, "B", 3, "V"),
)
"""Ranks 0 to 5, sizes of 1, and symbols, one of them twice: all of them with F32 and I4."""

FEW_SHAPES: tuple[tuple[Dim, ...], ...] = ((), (2, 1, 4), ("B", "T", "V"))
"""With the other dtypes."""

RESHAPES: tuple[tuple[tuple[Dim, ...], tuple[Dim, ...]], ...] = (
    ((), (1, 1)),
    ((1, 1), ()),
    ((1, 1, 1), (1,)),
    ((6,), (2, 3)),
    ((2, 3), (6,)),
    ((2, 3), (3, 2)),
    ((2, 3, 4), (6, 1, 4)),
    ((1, 4, 8), (4, 8)),
    (("B", 6), ("B", 2, 3)),
    (("B", 6), (2, "B", 3)),
    (("B", "T"), ("T", "B")),
    (("B", 2, "T", 3), (6, "T", 1, "B")),
    (("B", 1, "T"), ("B", "T", 1, 1)),
    (("N",), (1, "N", 1)),
    ((1, "N", 1), ("N",)),
)

BROADCASTS: tuple[tuple[tuple[Dim, ...], tuple[Dim, ...]], ...] = (
    ((), (2, 3)),
    ((), ("B", "T")),
    ((1, 1), (1, 4, 8)),
    ((1,), ("B", "T", "V")),
    (("B", 1), ("B", "T")),
    ((1, "T"), ("B", "B", "T")),
    ((3,), (3,)),
    ((4, 1), (4, 1)),
)

MATRICES: tuple[tuple[tuple[Dim, ...], tuple[Dim, ...]], ...] = (
    ((3, 5), (5, 2)),
    ((1, 1), (1, 1)),
    (("M", "K"), ("K", "N")),
    (("B", "T", 4), (4, "V")),
    (("B", 2, "T", "K"), ("B", 2, "K", 7)),
)


def _shapes(dtype: str) -> tuple[tuple[Dim, ...], ...]:
    return SHAPES if dtype in ("F32", "I4") else FEW_SHAPES


Operands = tuple[TensorType, ...]
Case = tuple[Operands, Attributes]


def _axes(op: Op, dtype: str) -> Iterator[Case]:
    for dims in _shapes(dtype):
        for axis in range(len(dims)):
            yield (TensorType(DTYPES[dtype], dims),), {"axis": axis}


def _plain(op: Op, dtype: str) -> Iterator[Case]:
    for dims in _shapes(dtype):
        yield (TensorType(DTYPES[dtype], dims),) * len(op.operands), {}


def _reduce(op: Op, dtype: str) -> Iterator[Case]:
    for operands, attributes in _axes(op, dtype):
        for kind in REDUCTIONS:
            if dtype in REDUCTIONS[kind].dtypes:
                yield operands, {"op": kind, **attributes}


def _shaping(op: Op, dtype: str) -> Iterator[Case]:
    """The target's symbols come with a second parameter (see `_function`)."""
    for source, target in RESHAPES if op.name == "reshape" else BROADCASTS:
        operand = TensorType(DTYPES[dtype], source)
        yield (operand, operand.with_dims(target)), {"dims": target}


def _cast(op: Op, dtype: str) -> Iterator[Case]:
    for dims in ((), (3, 5), ("B", "T")):
        for target in DTYPES.values():
            yield (TensorType(DTYPES[dtype], dims),), {"dtype": target}


def _take_along_axis(op: Op, dtype: str) -> Iterator[Case]:
    for (values,), attributes in _axes(op, dtype):
        axis = attributes["axis"]
        if values.rank >= 2 and isinstance(axis, int):
            indices = TensorType(I64, without_axis(values.dims, axis))
            yield (values, indices), attributes


def _norm(op: Op, dtype: str) -> Iterator[Case]:
    for (operand,), attributes in _axes(op, dtype):
        axis = attributes["axis"]
        assert isinstance(axis, int)
        weight = operand.with_dims((operand.dims[axis],))
        parameters = [weight] * (len(op.operands) - 1)
        yield (operand, *parameters), {**attributes, "eps": 1e-5}


def _gather(op: Op, dtype: str) -> Iterator[Case]:
    for table in ((7, 3), ("V", "D"), ("V", 1)):
        for indices in ((), (4,), ("B", "T"), ("B", "V")):
            yield (TensorType(DTYPES[dtype], table), TensorType(I64, indices)), {}


def _matmul(op: Op, dtype: str) -> Iterator[Case]:
    for left, right in MATRICES:
        yield (TensorType(DTYPES[dtype], left), TensorType(DTYPES[dtype], right)), {}


def _select(op: Op, dtype: str) -> Iterator[Case]:
    """A choice between operands of every dtype."""
    for branch in DTYPES.values():
        for dims in _shapes(branch.name):
            operand = TensorType(branch, dims)
            yield (TensorType(DTYPES[dtype], dims), operand, operand), {}


def _iota(op: Op, dtype: str) -> Iterator[Case]:
    """The symbols come with a parameter (see `_function`)."""
    for (operand,), attributes in _axes(op, "F32"):
        yield (operand,), {"dims": operand.dims, **attributes}


def _random_uniform(op: Op, dtype: str) -> Iterator[Case]:
    """The symbols come with a second parameter (see `_function`)."""
    for dims in SHAPES:
        yield (TensorType(I64, (2,)), TensorType(DTYPES[dtype], dims)), {"dims": dims}


def _transpose(op: Op, dtype: str) -> Iterator[Case]:
    for dims in _shapes(dtype):
        operand = TensorType(DTYPES[dtype], dims)
        yield (operand,), {"axes": tuple(reversed(range(len(dims))))}
        yield (operand,), {"axes": (*range(1, len(dims)), *range(min(1, len(dims))))}


def _slice(op: Op, dtype: str) -> Iterator[Case]:
    for (operand,), attributes in _axes(op, dtype):
        yield (operand, TensorType(I64, ())), {**attributes, "size": 1}


def _concat(op: Op, dtype: str) -> Iterator[Case]:
    for (operand,), attributes in _axes(op, dtype):
        yield (operand,) * 2, attributes


def _update(op: Op, dtype: str) -> Iterator[Case]:
    for (operand,), attributes in _axes(op, dtype):
        axis = attributes["axis"]
        assert isinstance(axis, int)
        row = operand.with_dims((*operand.dims[:axis], 1, *operand.dims[axis + 1 :]))
        yield (operand, row, TensorType(I64, ())), attributes


def _top_k(op: Op, dtype: str) -> Iterator[Case]:
    """The best one, and all of them or a few of a symbol."""
    for (operand,), attributes in _axes(op, dtype):
        axis = attributes["axis"]
        assert isinstance(axis, int)
        size = operand.dims[axis]
        for k in (1, size if isinstance(size, int) else 3):
            yield (operand,), {"k": k, **attributes}


CASES = {
    **dict.fromkeys(ELEMENTWISE, _plain),
    Family.NORMALIZE: _axes,
    Family.FIBER: _norm,
    Family.REDUCE: _reduce,
    Family.SHAPING: _shaping,
    Family.CAST: _cast,
    Family.CONTRACTION: _matmul,
    Family.SCAN: _axes,
    Family.SELECTION: _top_k,
}
SPECIAL = {
    "logsumexp": _axes,
    "gather": _gather,
    "take_along_axis": _take_along_axis,
    "select": _select,
    "iota": _iota,
    "random_uniform": _random_uniform,
    "transpose": _transpose,
    "slice": _slice,
    "concat": _concat,
    "update": _update,
}


def _function(name: str, op: Op, parameters: Operands, attributes: Attributes) -> FuncOp:
    """`name` applies `op` to the first parameters and returns its result."""
    types = [to_ir(type_) for type_ in parameters]
    block = Block(arg_types=types)
    operands = block.args if op.variadic else block.args[: len(op.operands)]
    result = build(op.name, operands, attributes)
    block.add_ops([result, ReturnOp(result)])
    return FuncOp(name, (types, [result.result.type]), Region(block))


def _module(op: Op) -> tuple[ModuleOp, int]:
    """All cases of `op`."""
    cases = SPECIAL.get(op.name) or CASES[op.family]
    numbers = count()
    functions = [
        _function(f"f{next(numbers)}", op, parameters, attributes)
        for dtype in DTYPES
        if dtype in op.dtypes
        for parameters, attributes in cases(op, dtype)
    ]
    return ModuleOp(list(functions)), len(functions)


def _printed(module: ModuleOp) -> str:
    output = io.StringIO()
    Printer(output).print_op(module)
    return output.getvalue()


@pytest.mark.parametrize("fast", [False, True], ids=["seed", "fast"])
@pytest.mark.parametrize("name", OPS)
def test_lowered_matrix_is_accepted(name: str, fast: bool) -> None:
    module, functions = _module(OPS[name])
    assert functions >= (len(FEW_SHAPES) if OPS[name].dtypes == BOOLS else 10)
    LowerKina(fast=fast).apply(Context(), module)
    text = _printed(module)
    assert "kina" not in text
    accepted = run(MLIR_OPT, ["--verify-each"], text)
    assert accepted.count("func.func") == functions


def test_refused_ir_is_noticed() -> None:
    """The check above can fail: mlir-opt refuses IR that xDSL lets pass."""
    text = "func.func @f() -> tensor<?xf32> {\n  %0 = tensor.empty() : tensor<?xf32>\n"
    with pytest.raises(KinaToolchainError, match="dynamic"):
        run(MLIR_OPT, [], f"{text}  return %0 : tensor<?xf32>\n}}")


def test_matrix_covers_every_dtype_of_every_operation() -> None:
    for op in OPS.values():
        cases = SPECIAL.get(op.name) or CASES[op.family]
        for dtype in op.dtypes:
            assert next(cases(op, dtype), None) is not None, (op.name, dtype)
