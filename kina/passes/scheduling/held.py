"""Memory that stays with a call while its layers come and go: `backend/held.c`."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from kina.dialects.invoke import InvokeLayersOp
from kina.dialects.pointers import POINTER
from kina.passes.builder import INDEX

HOLD, RELEASE = "kina$hold", "kina$release"
"""What is given back between these is kept, and taken again."""
TAKE, GIVE = "kina$take", "kina$give"
"""What allocates and frees in a module whose functions are called for layers."""


def declare_memory(module: ModuleOp) -> bool:
    """Whether there is a fold; the functions are then declared."""
    if not any(isinstance(op, InvokeLayersOp) for op in module.walk()):
        return False
    block = module.body.block
    block.add_ops(func.FuncOp.external(name, [], []) for name in (HOLD, RELEASE))
    block.add_op(func.FuncOp.external(TAKE, [INDEX], [POINTER]))
    block.add_op(func.FuncOp.external(GIVE, [POINTER], []))
    return True
