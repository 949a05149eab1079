"""Operations of upstream that xDSL lacks, or whose definition is too narrow for vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    UnregisteredOp,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

_PREFETCH = UnregisteredOp.with_name("memref.prefetch")
_STORE = UnregisteredOp.with_name("vector.store")  # xDSL's has no alignment
_FENCE = UnregisteredOp.with_name("llvm.fence")
_INTRINSIC = UnregisteredOp.with_name("llvm.call_intrinsic")  # xDSL's dialect takes long to load
_SELECT = UnregisteredOp.with_name("arith.select")  # xDSL's takes no vector of conditions
_NARROW: dict[type[Operation], type[Operation]] = {
    op: UnregisteredOp.with_name(op.name)
    for op in (
        arith.CmpiOp, arith.CmpfOp, arith.SelectOp, arith.IndexCastOp, arith.SIToFPOp,
        arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp, arith.ExtSIOp, arith.ExtUIOp,
        arith.TruncIOp, arith.ExtFOp, arith.TruncFOp,
    )
}  # fmt: skip
"""xDSL's comparisons make one truth value, its select takes one, its casts take one number."""

MISSING = frozenset({"memref.prefetch", "llvm.fence", "llvm.call_intrinsic"})
"""Operations that xDSL does not have, or not as cheaply."""


def is_unknown(op: Operation) -> bool:
    """Whether an operation says more than xDSL's definition of it allows."""
    if isinstance(op, vector.StoreOp):
        return "alignment" in op.properties
    kinds = [*op.operand_types, *op.result_types]
    return type(op) in _NARROW and any(isinstance(kind, VectorType) for kind in kinds)


def lane_select(mask: SSAValue, yes: SSAValue, no: SSAValue) -> Operation:
    """`arith.select` by lanes."""
    return _SELECT.create(operands=[mask, yes, no], result_types=[yes.type])


def lane_compare(predicate: str, left: SSAValue, right: SSAValue, *, is_integer: bool) -> Operation:
    """`arith.cmpi` or `arith.cmpf` by lanes."""
    names = arith.CMPI_COMPARISON_OPERATIONS if is_integer else arith.CMPF_COMPARISON_OPERATIONS
    properties: dict[str, Attribute] = {"predicate": IntegerAttr(names.index(predicate), i64)}
    if not is_integer:
        properties["fastmath"] = arith.FastMathFlagsAttr("none")
    lanes = cast(VectorType[Attribute], left.type).get_shape()
    return _NARROW[arith.CmpiOp if is_integer else arith.CmpfOp].create(
        operands=[left, right], result_types=[VectorType(i1, lanes)], properties=properties
    )


def lane_op(kind: type[Operation], operands: Sequence[SSAValue], result: Attribute) -> Operation:
    """An op of one result, by lanes."""
    return _NARROW.get(kind, kind).create(operands=operands, result_types=[result])


def like(op: Operation, operands: Sequence[SSAValue], results: Sequence[Attribute]) -> Operation:
    """`op` on vectors."""
    kind = _NARROW.get(type(op), type(op))
    return kind.create(
        operands=operands,
        result_types=results,
        properties=op.properties,
        attributes=op.attributes,
    )


def prefetch(buffer: SSAValue, at: SSAValue, level: int) -> Operation:
    """A hint that an element will be read soon: 3 is the first level of cache, 2 the second."""
    properties: dict[str, Attribute] = {
        "isWrite": BoolAttr.from_bool(False),
        "localityHint": IntegerAttr(level, i32),
        "isDataCache": BoolAttr.from_bool(True),
    }
    return _PREFETCH.create(operands=[buffer, at], properties=properties)


def stream(value: SSAValue, buffer: SSAValue, at: SSAValue) -> Operation:
    """A store of whole cache lines past the caches."""
    properties: dict[str, Attribute] = {
        "nontemporal": BoolAttr.from_bool(True),
        "alignment": IntegerAttr(64, i64),
    }
    return _STORE.create(operands=[value, buffer, at], properties=properties)


def intrinsic(name: str, operands: Sequence[SSAValue], result: Attribute) -> Operation:
    """An instruction of a processor by LLVM's name."""
    properties: dict[str, Attribute] = {
        "intrin": StringAttr(name),
        "op_bundle_sizes": DenseArrayBase.from_list(i32, []),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(operands), 0]),
    }
    return _INTRINSIC.create(operands=operands, result_types=[result], properties=properties)


def fence() -> Operation:
    """Orders all stores before it with whatever comes next."""
    return _FENCE.create(properties={"ordering": IntegerAttr(7, i64), "syncscope": StringAttr("")})
