"""Matrix products, and the contractions that they and their gradients are."""

from __future__ import annotations

from xdsl.dialects.builtin import I64, DenseArrayBase, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import Pure

from kina.contraction import Contraction, Loops, problem, result_dims
from kina.dialects.base import TENSOR, KinaOp, Value, inferred, kina_type_of
from kina.dialects.internal import InternalOp
from kina.dialects.types import to_ir
from kina.dtypes import NUMERIC
from kina.rules.parts import RuleError
from kina.types import TensorType


@irdl_op_definition
class MatmulOp(KinaOp):
    """`[.., M, K] x [.., K, N]`, with equal leading dimensions or a right operand of rank 2.

    Each element is one chain of fused multiply-adds in the order of k (`kina/order.py`).
    """

    name = "kina.matmul"

    left = operand_def(TENSOR)
    right = operand_def(TENSOR)
    assembly_format = (
        "$left `,` $right attr-dict `:` type($left) `,` type($right) `->` type($result)"
    )

    traits = traits_def(Pure())

    def __init__(self, left: Value, right: Value) -> None:
        result = inferred("matmul", [left, right], {})
        super().__init__(operands=[left, right], result_types=[result])


@irdl_op_definition
class ContractOp(InternalOp):
    """A product of two tensors summed over the loops that are no axis of the result.

    `left_loops` and `right_loops` say which loop walks each axis of an operand; the first loops
    are the axes of the result. Each element is one chain of fused multiply-adds from +0.0; of
    several summed loops the last one runs fastest. Integers wrap.
    """

    name = "kina.contract"

    left = operand_def(TENSOR)
    right = operand_def(TENSOR)
    left_loops = prop_def(DenseArrayBase[I64])
    right_loops = prop_def(DenseArrayBase[I64])
    assembly_format = (
        "$left $left_loops `,` $right $right_loops attr-dict `:` "
        "type($left) `,` type($right) `->` type($result)"
    )

    def __init__(self, left: Value, right: Value, loops: Contraction) -> None:
        types = [kina_type_of(left), kina_type_of(right)]
        dims = result_dims(loops, types[0].dims, types[1].dims)
        properties = {
            "left_loops": DenseArrayBase.from_list(i64, loops.left),
            "right_loops": DenseArrayBase.from_list(i64, loops.right),
        }
        super().__init__(
            operands=[left, right],
            properties=properties,
            result_types=[to_ir(types[0].with_dims(dims))],
        )

    @property
    def loops(self) -> Contraction:
        """Which loop walks what."""
        left: Loops = self.left_loops.get_values()
        right: Loops = self.right_loops.get_values()
        return Contraction(self.kina_type.rank, left, right)

    def check_types(self) -> TensorType:
        """The operands' dtype, with the dimensions that the loops say."""
        left, right = self.kina_operand_types()
        if left.dtype is not right.dtype or left.dtype.name not in NUMERIC:
            raise RuleError(
                f"operands have dtypes {left.dtype} and {right.dtype}, expected one numeric dtype"
            )
        if left.placement is not right.placement:
            raise RuleError("operands are on different placements")
        found = problem(self.loops, left.dims, right.dims)
        if found is not None:
            raise RuleError(found)
        return left.with_dims(result_dims(self.loops, left.dims, right.dims))
