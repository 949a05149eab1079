"""The tables agree: operations, dialect, type rules, reference and MLIR types."""

from __future__ import annotations

import inspect
from typing import cast

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import FixedBitwidthType

from kina.arrays import numpy_dtype
from kina.dialects.base import KinaOp
from kina.dialects.kina import Kina
from kina.dialects.reduce import ReductionKind
from kina.dialects.table import OP_CLASSES
from kina.dialects.types import element_type, from_ir, to_ir
from kina.dtypes import DTYPES, FREM, DType
from kina.ops import BINARY_SYMBOLS, COMPARISONS, OPS, REDUCTIONS, Family, Op
from kina.passes.expand_math import EXPANSIONS
from kina.passes.lowering.scalars import FORMS, SCALAR_OPS
from kina.passes.lowering.table import LOWERINGS
from kina.passes.vjp.chosen import CERTAIN
from kina.passes.vjp.counting import KINDS
from kina.passes.vjp.elementwise import ELEMENTWISE
from kina.passes.vjp.table import RULES
from kina.reference.meaning import MEANINGS
from kina.rules.requirements import OF_SOMETHING, REDUCTIONS_OF_SOMETHING
from kina.types import Placement, TensorType

COMPOSITE = {name for name, op in OPS.items() if op.composite}
"""Operations that decompose-kina writes as others, so that lower-kina never meets them."""

EXACT = {
    *("math.sqrt", "math.absf", "math.absi", "math.copysign"),
    *("math.floor", "math.ceil", "math.roundeven", "math.trunc"),
}
"""Operations of `math` that every processor has and rounds alike."""

UNIFORM = {name for name, op in OPS.items() if op.is_elementwise} - {"select", "stop_gradient"}
"""Operations that compute a scalar from scalars of one dtype."""

FLOATING = {
    name
    for name, op in OPS.items()
    if op.dtypes & FREM and op.family not in (Family.COMPARE, Family.SELECTION)
}
FLOATING |= {"select"}
SCALARS = {name for op in OPS.values() for name in (op.float_op, op.int_op, op.bool_op) if name}


def _has_scalars(op: Op) -> bool:
    """Whether the table gives a scalar operation for every dtype that the operation takes."""
    return all(op.scalar_op(DTYPES[name]) for name in op.dtypes)


TABLES: dict[str, tuple[set[str], set[str]]] = {
    "a class in kina/dialects": (set(OPS), set(OP_CLASSES)),
    "a meaning in kina/reference/meaning.py": (set(OPS), set(MEANINGS)),
    "a lowering in kina/passes/lowering/table.py": (
        set(OPS) - COMPOSITE,
        {name for name in OPS if f"kina.{name}" in LOWERINGS},
    ),
    "a rule in kina/passes/vjp": (
        FLOATING,
        {name for name in OPS if f"kina.{name}" in RULES},
    ),
    "a mask in kina/passes/vjp/counting.py": (
        {name.removeprefix("kina.") for name in RULES},
        {op.name.removeprefix("kina.") for op in Kina.operations if issubclass(op, KINDS)},
    ),
    "a word on empty axes in kina/requirements.py": (
        {name for name, op in OPS.items() if "axis" in op.attributes and "op" not in op.attributes},
        set(OF_SOMETHING),
    ),
    "a word on empty axes in kina/requirements.py, of a reduction": (
        set(REDUCTIONS),
        set(REDUCTIONS_OF_SOMETHING),
    ),
    "a scalar operation of MLIR": (SCALARS, set(SCALAR_OPS)),
    "a scalar operation in kina/ops.py or a form in kina/passes/lowering/scalars.py": (
        UNIFORM - COMPOSITE,
        {op.name for op in OPS.values() if op.name in FORMS or _has_scalars(op)},
    ),
    "an expansion in kina/passes/expand_math.py": (
        {name for name in SCALARS if name.startswith("math.")} - EXACT,
        {op.name for op in EXPANSIONS},
    ),
}
"""What needs an entry in each table, and what has one."""


@pytest.mark.parametrize("what", TABLES)
def test_no_operation_is_forgotten(what: str) -> None:
    needed, found = TABLES[what]
    forgotten = sorted(needed - found)
    assert not forgotten, f"{', '.join(forgotten)}: no {what.split(maxsplit=1)[1]}"


def test_no_table_knows_what_is_no_operation() -> None:
    for table in (ELEMENTWISE, MEANINGS, FORMS, CERTAIN, OF_SOMETHING):
        assert set(table) <= set(OPS)


@pytest.mark.parametrize("name", OPS)
def test_the_dialect_takes_what_the_table_says(name: str) -> None:
    """Constructors take the operands, then the compile-time arguments, in the table's order."""
    class_ = cast(type[KinaOp], OP_CLASSES[name])
    assert class_.name == f"kina.{name}"
    assert class_ in set(Kina.operations)
    parameters = list(inspect.signature(class_.__init__).parameters)[1:]
    spelled = ["kind" if key == "op" else key for key in OPS[name].attributes]
    assert parameters == [*OPS[name].operands, *spelled]
    assert class_.__doc__


def test_reductions_are_the_same_everywhere() -> None:
    assert [kind.value for kind in ReductionKind] == list(REDUCTIONS)


def test_operators_are_their_operations() -> None:
    arithmetic = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
    relations = {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal",
                 ">": "greater", ">=": "greater_equal"}  # fmt: skip
    assert {**arithmetic, **relations, "&&": "logical_and", "||": "logical_or"} == BINARY_SYMBOLS
    assert set(relations) == COMPARISONS


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.numpy], ids=lambda op: op.name)
def test_a_numpy_twin_is_an_elementwise_function(op: object) -> None:
    twin = getattr(np, op.numpy)
    assert isinstance(twin, np.ufunc)
    assert twin.nin == len(op.operands)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_a_dtype_is_the_same_in_mlir_and_numpy(dtype: DType) -> None:
    type_ = TensorType(dtype, (2, "N"), Placement.DEVICE)
    assert from_ir(to_ir(type_)) == type_
    assert str(element_type(dtype)) == dtype.mlir
    ir = element_type(dtype)
    assert isinstance(ir, FixedBitwidthType)
    assert ir.bitwidth == dtype.bits
    assert numpy_dtype(dtype).itemsize * 8 == dtype.storage_bits


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_lowest_and_highest_are_the_ends_of_the_dtype(dtype: DType) -> None:
    """The identity of max: -inf where there is one, else the least value."""
    numpy_type = numpy_dtype(dtype)
    if dtype.is_int:
        limits = ml_dtypes.iinfo(numpy_type)
        assert (int(dtype.lowest), int(dtype.highest)) == (int(limits.min), int(limits.max))
    elif dtype.is_float:
        with np.errstate(all="ignore"):
            infinite = np.isinf(np.array(np.inf, np.float32).astype(numpy_type).astype(np.float32))
        largest = float(ml_dtypes.finfo(numpy_type).max)
        assert float(dtype.highest) == (np.inf if infinite else largest)
        assert float(dtype.lowest) == -float(dtype.highest)
