"""IR as text for mlir-opt alone: in the generic form, without places, and quickly.

Values and blocks are numbers, in each function from 0; an attribute or type, of which a module has
few, is printed once. Private functions whose text is the same but for the name are one function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnregisteredOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

_OWN_NAME = "op_name__"
"""Where xDSL keeps the name of an operation that it does not know."""


def generic_text(module: ModuleOp) -> str:
    """The module as mlir-opt reads it."""
    attributes = _Attributes()
    operations = list(module.body.block.ops)
    # Kernels first, those that others call before these: a call then names the one that is kept.
    order = sorted(reversed(operations), key=_may_be_shared, reverse=True)
    texts: dict[Operation, str] = {}
    known: dict[str, StringAttr] = {}
    for op in order:
        text = _printed_operation(op, attributes)
        if isinstance(op, FuncOp) and _may_be_shared(op):
            kept = known.setdefault(_without_name(text, op, attributes), op.sym_name)
            if kept is not op.sym_name and attributes.rename(op.sym_name, kept):
                continue
        texts[op] = text
    body = "".join(texts[op] for op in operations if op in texts)
    given = f" {attributes.dictionary(module.attributes)}" if module.attributes else ""
    return f'"builtin.module"() ({{\n{body}}}){given} : () -> ()\n'


def _printed_operation(op: Operation, attributes: _Attributes) -> str:
    text = _Text(attributes)
    text.operation(op)
    return "".join(text.parts)


def _may_be_shared(op: Operation) -> bool:
    if not isinstance(op, FuncOp) or op.is_declaration:
        return False
    visibility = op.sym_visibility
    return visibility is not None and visibility.data == "private"


def _without_name(text: str, function: FuncOp, attributes: _Attributes) -> str:
    """What a function is: its text but for its name, which stands in front of its body."""
    return text.replace(f"sym_name = {attributes.shown(function.sym_name)}", "", 1)


class _Text:
    """The text of one operation so far, and what the names in it stand for."""

    def __init__(self, attributes: _Attributes) -> None:
        self.parts: list[str] = []
        self._values: dict[SSAValue, str] = {}
        self._blocks: dict[Block, str] = {}
        self._attributes = attributes

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

    def rename(self, name: StringAttr, kept: StringAttr) -> bool:
        """From here on, show the one function for the other; False if that was shown already."""
        symbol = SymbolRefAttr(name)
        if symbol in self._shown:
            return False
        self._shown[symbol] = _printed(SymbolRefAttr(kept))
        return True

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
