"""kina.constant survives a trip through text: the cache keeps kina IR as text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.builtin import TensorType as IRType
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from kina.backend.ir_text import show
from kina.backend.lowering import kina_module
from kina.dialects.elementwise import ConstantOp
from kina.dialects.kina import Kina
from kina.dialects.types import element_type
from kina.dtypes import BOOL, DTYPES, F8E4M3, DType
from kina.frontend.source import Source
from kina.runtime.meaning import Meaning
from kina.types import Placement

FLOATS = [dtype for dtype in DTYPES.values() if dtype.is_float]


def reparsed(text: str) -> ConstantOp:
    context = Context()
    for dialect in (Builtin, Kina):
        context.load_dialect(dialect)
    op = Parser(context, text).parse_op()
    assert isinstance(op, ModuleOp)
    (constant,) = op.ops
    assert isinstance(constant, ConstantOp)
    constant.verify()
    return constant


def round_trip(dtype: DType, values: list[float], shape: list[int], place: Placement) -> None:
    payload = DenseIntOrFPElementsAttr.from_list(IRType(element_type(dtype), shape), values)
    module = ModuleOp([ConstantOp(payload, place)])
    read = reparsed(str(module))
    assert read.value.data.data == payload.data.data
    assert read.result.type == ConstantOp(payload, place).result.type


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "values", [[math.nan], [math.inf], [-math.inf], [0.0], [-0.0], [0.1]], ids=str
)
def test_a_float_splat(dtype: DType, values: list[float]) -> None:
    for shape in ([], [1], [2, 3]):
        round_trip(dtype, values, shape, Placement.HOST)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_float_payload(dtype: DType) -> None:
    round_trip(dtype, [1.0, math.nan, -math.inf, -0.0, 0.1, 2.0], [2, 3], Placement.DEVICE)
    round_trip(dtype, [1.0, 0.5, -0.25, -0.0, 0.1, 2.0], [2, 3], Placement.HOST)


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if not d.is_float], ids=str)
def test_an_integer_payload(dtype: DType) -> None:
    ends = [0, 1] if dtype is BOOL else [int(dtype.lowest), int(dtype.highest)]
    round_trip(dtype, [*ends, 1, 0], [4], Placement.HOST)
    round_trip(dtype, ends[:1], [2, 2], Placement.HOST)


def test_readable_where_it_can_be() -> None:
    payload = DenseIntOrFPElementsAttr.from_list(IRType(element_type(F8E4M3), [2]), [1.0, -2.0])
    shown = str(ConstantOp(payload))
    assert (
        "dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>" in shown
    )


def test_a_constant_needs_a_dense_payload() -> None:
    with pytest.raises(ParseError, match="expected a dense<…> payload"):
        reparsed("builtin.module { %0 = kina.constant 3 : i64 -> tensor<1xi64> }")


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("values", [[0.0, -0.0, 0.0], [-0.0, 0.0, 0.0], [-0.0, -0.0, -0.0]])
def test_zeros_keep_their_signs(dtype: DType, values: list[float]) -> None:
    round_trip(dtype, values, [3], Placement.HOST)


@pytest.mark.parametrize("value", [16777216.0, -16777215.0, 3.4028235e38, 1e-45, 0.1])
def test_the_reference_computes_with_constants_of_many_digits(value: float) -> None:
    """xDSL prints some of them as bits, and reads those back as integers."""
    source = Source(
        "c.kina", f"let f = fn(x: tensor<F32, []>) -> tensor<F32, []> {{ x * {value} }}"
    )
    module, _ = kina_module(source)
    meaning = Meaning(show(module, locations=True), source.lines)
    (found,) = meaning.evaluate("f", [np.ones((), np.float32)], {})
    assert found == np.float32(value)
