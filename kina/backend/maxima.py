"""Maxima for which NaNs and the sign of zeros do not matter, as one instruction (on LLVM IR text).

`llvm.maximum` takes four instructions on x86, because of NaNs and zeros. In scheduled code it only
stands where neither counts: a NaN in a softmax reaches every result through the sum, the lanes of
an argmax hold none, and other maxima are those of integers. So it becomes a comparison and a
choice, which LLVM knows as one instruction. Fast-math flags would say the same, but then a NaN is
undefined behaviour, and upstream's reductions lose them.
"""

from __future__ import annotations

import re

_MAXIMUM = re.compile(
    r"^  %(?P<name>[\w.]+) = call (?P<type>float|<\d+ x float>) @llvm\.maximum\.\w+"
    r"\((?P=type) (?P<left>[^,]+), (?P=type) (?P<right>[^\n]+)\)",
    re.MULTILINE,
)


def compare_maxima(llvm_ir: str) -> str:
    """`llvm_ir` with each maximum as `left > right ? left : right`."""
    return _MAXIMUM.sub(_compared, llvm_ir)


def _compared(match: re.Match[str]) -> str:
    name, kind, left, right = match["name"], match["type"], match["left"], match["right"]
    above, choice = f"%kina.above.{name}", kind.replace("float", "i1")
    return (
        f"  {above} = fcmp ogt {kind} {left}, {right}\n"
        f"  %{name} = select {choice} {above}, {kind} {left}, {kind} {right}"
    )
