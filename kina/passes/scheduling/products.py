"""What a stage multiplies and adds up: a chain of fused multiply-adds, or a dot product.

Sums of integers are the same in any order, and of those that wrap only the lowest bits count. So a
sum of up to 32 bits of products of I8 or I16, widened before, is done in I32 by instructions that
take I8 or I16 as they are.
"""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i8, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from kina.frozen import frozen
from kina.machine import Machine
from kina.passes.scheduling.fusion import Stage


@frozen
class Products:
    """The two factors, before integers were widened, and the type that both are multiplied as."""

    factors: tuple[SSAValue, SSAValue]
    element: Attribute

    @property
    def is_chain(self) -> bool:
        """Whether their order can be seen."""
        return self.element == f32


def products_of(stage: Stage, machine: Machine) -> Products | None:
    """What a stage multiplies, if that may be done in tiles."""
    if stage.node.is_chain:
        fused = _yielded(stage)
        assert isinstance(fused, math.FmaOp)
        return Products((fused.a, fused.b), stage.element)
    if machine.dots is None or not _may_be_dot(stage):
        return None
    product = _integer_product(stage)
    if product is None:
        return None
    factors = narrow(product.lhs), narrow(product.rhs)
    if any(factor.type not in (i8, i16) for factor in factors):
        return None
    by_bytes = machine.dots.quads and all(factor.type == i8 for factor in factors)
    return Products(factors, i8 if by_bytes else i16)


def group_of(element: Attribute) -> int:
    """How many products each lane of a dot product of these elements adds up."""
    return 4 if element == i8 else 2


def depth_of(element: Attribute, machine: Machine) -> int:
    """How many k a block of a product of these elements has at most."""
    if element == f32 or machine.dots is None:
        return machine.tile_depth
    return machine.dots.depth * group_of(element)


def _yielded(stage: Stage) -> Operation | None:
    last = stage.block.last_op
    assert last is not None
    made = last.operands[0].owner
    return made if isinstance(made, Operation) else None


def _may_be_dot(stage: Stage) -> bool:
    node = stage.node
    if node.axis is None or node.is_scan or node.is_contest or node.is_selection:
        return False
    return stage.element in (i8, i16, i32)


def _integer_product(stage: Stage) -> arith.MuliOp | None:
    """The product that the body adds to what there is so far."""
    added, so_far = _yielded(stage), stage.block.args[-1]
    if not isinstance(added, arith.AddiOp) or so_far not in added.operands:
        return None
    others = [value.owner for value in added.operands if value is not so_far]
    return next((made for made in others if isinstance(made, arith.MuliOp)), None)


def narrow(value: SSAValue) -> SSAValue:
    """A value before it was widened."""
    while isinstance(value.owner, arith.ExtSIOp):
        value = value.owner.input
    return value
