"""Changes element types everywhere in a module, bits unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.rewriter import Rewriter


def retype(module: ModuleOp, types: Mapping[Attribute, IntegerType]) -> None:
    """Replace the float types by integers of their width, in values, attributes and constants.

    Only for types that nothing computes on any more: values are moved, and bitcast.
    """
    retyped = _Retyped(types)
    for op in module.walk():
        retyped.rewrite(op)
    for op in list(module.walk()):
        if isinstance(op, arith.BitcastOp) and op.input.type == op.result.type:
            op.result.replace_all_uses_with(op.input)
            Rewriter.erase_op(op)


class _Retyped:
    """What attributes become; each distinct one is looked at once."""

    def __init__(self, types: Mapping[Attribute, IntegerType]) -> None:
        self._known: dict[Attribute, Attribute] = dict(types)

    def rewrite(self, op: Operation) -> None:
        """Rewrites one operation in place, and the arguments of its blocks."""
        for attributes in (op.properties, op.attributes):
            for key, value in attributes.items():
                attributes[key] = self._of(value)
        blocks = (block for region in op.regions for block in region.blocks)
        for value in [*op.results, *(arg for block in blocks for arg in block.args)]:
            if (new := self._of(value.type)) != value.type:
                Rewriter.replace_value_with_new_type(value, new)

    def _of(self, attribute: Attribute) -> Attribute:
        if attribute not in self._known:
            self._known[attribute] = self._convert(attribute)
        return self._known[attribute]

    def _convert(self, attribute: Attribute) -> Attribute:
        if isinstance(attribute, ArrayAttr):
            items = cast(ArrayAttr[Attribute], attribute).data
            return ArrayAttr([self._of(item) for item in items])
        if not isinstance(attribute, ParametrizedAttribute):
            return attribute
        parameters = [self._of(parameter) for parameter in attribute.parameters]
        if parameters == list(attribute.parameters):
            return attribute
        if isinstance(attribute, FloatAttr):
            return _as_integer(cast(FloatAttr[AnyFloat], attribute), self._known)
        return type(attribute).new(parameters)


def _as_integer(number: FloatAttr[AnyFloat], types: Mapping[Attribute, Attribute]) -> Attribute:
    code = int.from_bytes(number.type.pack([number.value.data]), "little")
    return IntegerAttr(code, cast(IntegerType, types[number.type]), truncate_bits=True)
