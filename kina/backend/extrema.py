"""Extrema for which NaNs and signs of zeros do not matter, as one instruction (on LLVM IR text).

`llvm.maximum` takes four instructions on x86, because of NaNs and zeros. Where neither counts,
schedule-cpu says so of the kernel, in the function attribute `ATTRIBUTE`: a NaN in a softmax
reaches every result through the sum, the lanes of an argmax hold none. There it becomes a
comparison and a choice, which LLVM knows as one instruction. Fast-math flags would say the same,
but then a NaN is undefined behaviour, and upstream's reductions lose them.
"""

from __future__ import annotations

import re

from kina.backend.llvm_text import rewrite_functions

ATTRIBUTE = "kina-extrema"

_EXTREMUM = re.compile(
    r"^  %(?P<name>[\w.]+) = call (?P<type>float|<\d+ x float>) @llvm\.(?P<kind>maximum|minimum)"
    r"\.\w+\((?P=type) (?P<left>[^,]+), (?P=type) (?P<right>[^\n]+)\)",
    re.MULTILINE,
)
_COMPARISONS = {"maximum": "ogt", "minimum": "olt"}


def compare_extrema(llvm_ir: str) -> str:
    """`llvm_ir` with the extrema of kernels that allow it as `left > right ? left : right`."""
    return rewrite_functions(llvm_ir, ATTRIBUTE, lambda text, _: _EXTREMUM.sub(_compared, text))


def _compared(match: re.Match[str]) -> str:
    name, kind, left, right = match["name"], match["type"], match["left"], match["right"]
    above, choice = f"%kina.above.{name}", kind.replace("float", "i1")
    return (
        f"  {above} = fcmp {_COMPARISONS[match['kind']]} {kind} {left}, {right}\n"
        f"  %{name} = select {choice} {above}, {kind} {left}, {kind} {right}"
    )
