"""Builds elementwise functions, written as MLIR, into a shared library through Kina's passes.

For checks of single passes: `tools/ulp_sweep.py` and the numerics tests use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from kina.backend import pipeline, toolchain
from kina.backend.targets import TARGETS, Target, host_cpu
from kina.passes.expand_fma import ExpandFma

X86_TARGETS = ("native", "x86-64-v4", "x86-64-v3", "x86-64-v2")
DIALECTS = (builtin.Builtin, arith.Arith, func.Func, math.Math, memref.MemRef, scf.Scf)


def map_function(name: str, source: str, result: str, length: int, body: Sequence[str]) -> str:
    """MLIR of `name(const source *x, result *y)`, which maps `length` elements.

    The body computes `%r` from `%v`.
    """
    lines = "\n".join(f"      {line}" for line in body)
    return f"""
  func.func @{name}(%x: memref<{length}x{source}>, %y: memref<{length}x{result}>) {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %end = arith.constant {length} : index
    scf.for %i = %zero to %end step %one {{
      %v = memref.load %x[%i] : memref<{length}x{source}>
{lines}
      memref.store %r, %y[%i] : memref<{length}x{result}>
    }}
    func.return
  }}"""


def apply_passes(text: str, passes: Sequence[ModulePass]) -> str:
    """Parses MLIR, applies Kina passes, verifies and prints."""
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    for step in passes:
        step.apply(context, module)
    module.verify()
    return str(module)


def build(text: str, passes: Sequence[ModulePass], target: Target, output: Path) -> Path:
    """Builds the module into the shared library `output`, with an assembly file beside it."""
    lowering = pipeline.arguments(pipeline.TO_LLVM)
    if target.emulates:
        passes = [*passes, ExpandFma()]
    lowered = toolchain.run(toolchain.MLIR_OPT, lowering, apply_passes(text, passes))
    llvm_ir = toolchain.run(toolchain.MLIR_TRANSLATE, ["--mlir-to-llvmir"], lowered)
    optimised = toolchain.run(toolchain.OPT, ["-S", "-O3", *target.flags], llvm_ir)
    flags = [*target.flags, *pipeline.CODEGEN]
    assembly = output.with_suffix(".s")
    assembly.write_text(toolchain.run(toolchain.LLC, flags, optimised))
    # no library at all: a call into libm is an error here
    toolchain.run(toolchain.CC, ["-shared", "-nostdlib", "-Wl,-z,defs", assembly, "-o", output])
    return output


def cpu_runs(name: str) -> bool:
    """Whether this machine can execute code for the target of that name."""
    needed = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
    return TARGETS[name].cpu == "native" or f" {needed[name]} " in f" {host_cpu()} "
