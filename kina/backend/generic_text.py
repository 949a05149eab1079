"""IR as text for mlir-opt alone: in the generic form, without places, and quickly.

Values and blocks are numbers; an attribute or type, of which a module has few, is printed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

from xdsl.dialects.builtin import FunctionType, ModuleOp, UnitAttr, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

_OWN_NAME = "op_name__"
"""Where xDSL keeps the name of an operation that it does not know."""


def generic_text(module: ModuleOp) -> str:
    """The module as mlir-opt reads it."""
    text = _Text()
    text.operation(module)
    return "".join(text.parts)


class _Text:
    """The text so far, and what the names in it stand for."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._values: dict[SSAValue, str] = {}
        self._blocks: dict[Block, str] = {}
        self._attributes = _Attributes()

    def operation(self, op: Operation) -> None:
        """Print one operation and what is inside it."""
        operands, results, regions = op.operands, op.results, op.regions
        name, attributes = op.name, op.attributes
        if isinstance(op, UnregisteredOp):
            name = op.op_name.data
            attributes = {key: item for key, item in attributes.items() if key != _OWN_NAME}
        add = self.parts.append
        if results:
            add(f"{', '.join([self._define(result) for result in results])} = ")
        add(f'"{name}"({", ".join([self._values[operand] for operand in operands])})')
        if op.successors:
            add(f"[{', '.join([self._blocks[block] for block in op.successors])}]")
        if op.properties:
            add(f" <{self._attributes.dictionary(op.properties)}>")
        for number, region in enumerate(regions):
            add(", {\n" if number else " ({\n")
            self._region(region)
            add("}")
        if regions:
            add(")")
        if attributes:
            add(f" {self._attributes.dictionary(attributes)}")
        add(f" : {self._attributes.operation_type(op)}\n")

    def _region(self, region: Region) -> None:
        blocks = list(region.blocks)
        for block in blocks:
            self._blocks[block] = f"^bb{len(self._blocks)}"
        for block in blocks:
            if block.args or len(blocks) > 1:
                self._header(block)
            for op in block.ops:
                self.operation(op)

    def _header(self, block: Block) -> None:
        shown = self._attributes.shown
        arguments = [f"{self._define(argument)}: {shown(argument.type)}" for argument in block.args]
        listed = f"({', '.join(arguments)})" if arguments else ""
        self.parts.append(f"{self._blocks[block]}{listed}:\n")

    def _define(self, value: SSAValue) -> str:
        name = self._values[value] = f"%{len(self._values)}"
        return name


class _Attributes:
    """What attributes look like."""

    def __init__(self) -> None:
        self._shown: dict[Attribute, str] = {}
        self._same: dict[int, str] = {}
        self._keys: dict[str, str] = {}

    def shown(self, attribute: Attribute) -> str:
        """One attribute or type."""
        # Attributes are compared by all that is in them: most are met as the same object again.
        text = self._same.get(id(attribute))
        if text is None:
            text = self._shown.get(attribute)
            if text is None:
                text = self._shown[attribute] = _printed(attribute)
            self._same[id(attribute)] = text
        return text

    def dictionary(self, items: Mapping[str, Attribute]) -> str:
        """Attributes or properties of an operation."""
        return f"{{{', '.join([self._entry(key, item) for key, item in items.items()])}}}"

    def operation_type(self, op: Operation) -> str:
        """The types of its operands and of its results."""
        taken = ", ".join([self.shown(operand.type) for operand in op.operands])
        return f"({taken}) -> {self._results([result.type for result in op.results])}"

    def _results(self, types: Sequence[Attribute]) -> str:
        if len(types) == 1 and not isinstance(types[0], FunctionType):
            return self.shown(types[0])
        return f"({', '.join([self.shown(kind) for kind in types])})"

    def _entry(self, key: str, item: Attribute) -> str:
        shown = self._keys.get(key)
        if shown is None:
            stream = StringIO()
            Printer(stream).print_identifier_or_string_literal(key)
            shown = self._keys[key] = stream.getvalue()
        return shown if isinstance(item, UnitAttr) else f"{shown} = {self.shown(item)}"


def _printed(attribute: Attribute) -> str:
    stream = StringIO()
    Printer(stream).print_attribute(attribute)
    return stream.getvalue()
