"""The program's kina IR for the NumPy reference: the only part of the runtime that loads xDSL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func, FuncOp

from kina.arrays import Array
from kina.dialects.kina import Kina
from kina.errors import KinaIndexError
from kina.frontend.float_bits import BitsParser
from kina.reference import evaluate, first_failure
from kina.reference.checks import Lines


class _Reader(BitsParser):
    """Reads back any file name in a location: xDSL prints one outside ASCII as bytes."""

    def parse_optional_str_literal(self) -> str | None:
        """The next token as text if it is a string literal."""
        text = super().parse_optional_str_literal()
        if text is not None:
            return text
        encoded = self.parse_optional_bytes_literal()
        return None if encoded is None else encoded.decode("utf-8")


class Meaning:
    """Functions of one program, ready to be evaluated."""

    def __init__(self, kina_ir: str, source_lines: Lines) -> None:
        context = Context()
        for dialect in (Builtin, Func, Kina):
            context.load_dialect(dialect)
        module = _Reader(context, kina_ir).parse_module()
        self._lines = source_lines
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}

    def evaluate(
        self,
        name: str,
        arrays: Sequence[Array],
        sizes: Mapping[str, int],
        *,
        ordered: bool = False,
    ) -> tuple[Array, ...]:
        """The results of function `name`; raises `KinaIndexError` as a compiled call does."""
        return evaluate(self._functions[name], arrays, self._lines, sizes, ordered=ordered)

    def first_failure(
        self, name: str, arrays: Sequence[Array], sizes: Mapping[str, int]
    ) -> KinaIndexError | None:
        """The error that the first failing check of a call stands for."""
        return first_failure(self._functions[name], arrays, self._lines, sizes)
