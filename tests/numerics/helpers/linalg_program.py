"""Programs written as linalg, on their way to a library: what no `.kina` file says yet."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe

from kina.backend import codegen, linking, pipeline
from kina.backend.ir_text import show
from kina.backend.targets import TARGETS
from kina.universe import PASSES

NATIVE = TARGETS["native"]


def scheduled(text: str, *, fast: bool = True, threads: bool = False) -> str:
    """A module as `lower-kina` leaves it, through the passes behind that one."""
    context = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, dialect)
    module = Parser(context, text).parse_module()
    loops = pipeline.SCHEDULE if fast else pipeline.PLAIN
    for name in pipeline.TO_C + pipeline.SMALL_FLOATS + loops:
        options = {"threads": threads} if name in pipeline.SCHEDULE else {}
        PASSES[name](**options).apply(context, module)
    assert isinstance(module, ModuleOp)
    return show(module)


def library(code: str, folder: Path) -> ctypes.CDLL:
    """The library of a module for this machine, whose one function is `kina_f`."""
    optimised = codegen.optimise(codegen.to_llvm_ir(code), NATIVE, ["kina_f"])
    codegen.to_object(optimised, NATIVE, folder / "f.o")
    linking.link([folder / "f.o"], folder / "f.so", NATIVE)
    return ctypes.CDLL(str(folder / "f.so"))


def call(loaded: ctypes.CDLL, sizes: tuple[int, ...], *arrays: np.ndarray) -> None:
    """Call `kina_f` with sizes, inputs and outputs."""
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    assert loaded.kina_f(*map(ctypes.c_int64, sizes), *pointers) == 0
