"""Kina IR of one case, built by hand: the reference is tested before any source is parsed."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from helpers.cases import Case
from kina.dialects.table import build
from kina.dialects.types import to_ir


def function(case: Case, name: str = "f") -> FuncOp:
    """A function of one operation, inside a module of its own that verifies."""
    result = FuncOp(name, ([to_ir(type_) for type_ in case.types], [to_ir(case.result)]))
    op = build(case.op, result.body.block.args, dict(case.attributes))
    result.body.block.add_ops([op, ReturnOp(op.result)])
    ModuleOp([result]).verify()
    return result
