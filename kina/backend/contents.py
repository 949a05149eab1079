"""What the IR may contain after each pass: a cheap check, on in tests and with `KINA_VERIFY=1`.

Verifiers say what an operation looks like. This says where it may stand: that no composite one
outlives `decompose-kina`, no check `assert-to-status`, no `exp` `expand-math`. An operation that
slipped through would end in a message of mlir-opt's, or in a call of libm.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Operation

from kina.errors import Diagnostic, KinaError, Note
from kina.frozen import frozen
from kina.passes.lowering.places import span_of

VARIABLE = "KINA_VERIFY"
"""The environment variable that turns the check on."""


@frozen
class Contents:
    """The operations of a stage: those named, and all of the dialects named, but for some."""

    allowed: frozenset[str]
    but: frozenset[str] = frozenset()

    def holds(self, name: str) -> bool:
        """Whether an operation may stand there."""
        dialect, _, _ = name.partition(".")
        return name not in self.but and (name in self.allowed or dialect in self.allowed)

    def __add__(self, more: str) -> Contents:
        return Contents(self.allowed | set(more.split()), self.but - set(more.split()))

    def __sub__(self, less: str) -> Contents:
        return Contents(self.allowed - set(less.split()), self.but | set(less.split()))


def _of(names: str) -> Contents:
    return Contents(frozenset(names.split()))


_KINA = _of("builtin func kina") - "kina.invoke kina.invoke_layers func.call"
_CALLED = _KINA + "func.call"
_PRIMITIVE = _CALLED - "kina.vjp kina.softmax kina.log_softmax kina.matmul"
_LINALG = Contents(
    frozenset(["builtin", "func", "arith", "math", "linalg", "tensor", "scf", "cf.assert"])
)
_C = (
    _LINALG
    - "func.call"
    + (
        "bufferization.to_tensor bufferization.materialize_in_destination memref.reinterpret_cast "
        "kina.invoke kina.invoke_layers"
    )
)
_STATUS = _C - "cf.assert"
_MATH = (
    "math.absf math.absi math.ceil math.copysign math.cttz math.floor math.fma math.roundeven "
    "math.sqrt math.trunc"
)
"""What processors have an instruction for, with one result."""
_EXACT = _STATUS - "math" + _MATH
_MEMORY = "memref cf.cond_br bufferization.to_buffer func.call"
_POINTERS = (
    "llvm.extractvalue llvm.getelementptr llvm.insertvalue llvm.mlir.constant llvm.mlir.undef"
)
"""Into the layers of a fold, and into what a team captures."""
_INVOKED = "kina.invoke kina.invoke_layers"
_PLAIN = _EXACT - f"{_INVOKED} tensor.empty" + f"{_MEMORY} {_POINTERS}"
_TEAM = "llvm.alloca llvm.func llvm.load llvm.mlir.addressof llvm.return llvm.store"
_HARDWARE = "llvm.fence llvm.call_intrinsic"
_SCHEDULED = (
    _EXACT - f"{_INVOKED} tensor.empty" + f"vector {_MEMORY} {_POINTERS} {_TEAM} {_HARDWARE}"
)

AFTER: Mapping[str, Contents] = {
    "specialise-sizes": _CALLED,
    "inline-calls": _CALLED,
    "transform-ad": _CALLED - "kina.vjp",
    "simplify-kina": _CALLED - "kina.vjp",
    "decompose-kina": _PRIMITIVE,
    "lower-kina": _LINALG,
    "export-c": _C,
    "check-sizes": _C,
    "assert-to-status": _STATUS,
    "expand-math": _EXACT,
    "expand-small-floats": _EXACT,
    "allocate-temporaries": _PLAIN,
    "schedule-cpu": _SCHEDULED,
    "expand-fma": _SCHEDULED - "math.fma",
    "split-masks": _SCHEDULED,
}
"""By the pass that ran last."""

KERNEL = _of(f"func arith scf vector memref {_MATH} {_HARDWARE}") - "memref.alloc memref.dealloc"
"""What a kernel may contain: it never allocates, and no loop in it is another's to write."""


def is_on() -> bool:
    """Whether the environment asks for this check, and for xDSL's own of what goes to the tools."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def check_contents(module: ModuleOp, stage: str) -> None:
    """Raise `KinaError` for the first operation that may not stand after pass `stage`."""
    if stage not in AFTER:
        return
    for function in module.ops:
        allowed = AFTER[stage]
        if stage == "schedule-cpu" and _is_kernel(function):
            allowed = KERNEL
        for op in function.walk():
            if not allowed.holds(name_of(op)):
                raise _misplaced(op, stage)


def name_of(op: Operation) -> str:
    """The name of an operation, also of one that xDSL does not know."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _is_kernel(function: Operation) -> bool:
    """By its name and kind: what a team's threads do calls kernels and is an `llvm.func`.

    A pullback has a `$` in its name as well, and is a function like any of the program.
    """
    name = function.get_attr_or_prop("sym_name")
    if function.name != "func.func" or not isinstance(name, StringAttr):
        return False
    _, mark, last = name.data.rpartition("$")
    return bool(mark) and not last.startswith("vjp")


def _misplaced(op: Operation, stage: str) -> KinaError:
    message = f"{name_of(op)} is left after {stage}, which may not leave one"
    note = Note(f"{VARIABLE}=1 asked for this check; it is a fault of the compiler, please report")
    return KinaError(Diagnostic(message, span_of(op.location), notes=(note,)))
