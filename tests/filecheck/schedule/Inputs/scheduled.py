"""Prints a program as the schedule leaves it: kernels on memory and vectors, before LLVM.

Arguments: the file, and perhaps `--no-threads`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from kina.backend.lowering import lower
from kina.backend.options import Options
from kina.backend.pipeline import SCHEDULED_TO_LLVM, arguments, mlir_passes
from kina.backend.toolchain import MLIR_OPT, run
from kina.frontend.check import check
from kina.frontend.source import Source

options = Options("x86-64-v3", threads="--no-threads" not in sys.argv)
code = lower(check(Source.read(sys.argv[1])), options).code
assert code.schedule is not None
with tempfile.TemporaryDirectory() as folder:
    schedule = Path(folder, "schedule.mlir")
    schedule.write_text(code.schedule, encoding="utf-8")
    passes = mlir_passes(schedule)
    assert passes[-len(SCHEDULED_TO_LLVM) :] == SCHEDULED_TO_LLVM
    print(run(MLIR_OPT, arguments(passes[: -len(SCHEDULED_TO_LLVM)]), code.mlir))
