"""No name in a program reaches anything of ours, or of Python's."""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest

import kina
from kina.backend.build import build
from kina.backend.options import Options
from kina.backend.targets import FAT, host_machine
from kina.frontend.source import Source
from kina.runtime.module import Function, Module
from kina.runtime.program import Program

X = np.ones(2, np.float32)
PUBLIC = sorted(
    {name for owner in (Module, Function, Program) for name in dir(owner) if name[0] != "_"}
    | {"self", "out", "lambda", "None", "print", "name", "source", "schedule", "set_threads"}
    | {"function", "numpy", "kina", "f", "f_message", "main", "malloc", "restore"}
)


@pytest.fixture(scope="module")
def module() -> Module:
    kind = "tensor<F32, [2]>"
    items = [
        f"let {name} = fn(x: {kind}) -> {kind} {{ x + {i}.0 }}" for i, name in enumerate(PUBLIC)
    ]
    return kina.compile("\n".join(items))


def test_functions_of_any_name_run(module: Module) -> None:
    for copy in (module, pickle.loads(pickle.dumps(module))):
        assert list(copy) == PUBLIC
        for number, name in enumerate(copy):
            np.testing.assert_array_equal(copy[name](X), X + number)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(copy[name]))(X), X + number)
            if not hasattr(Module, name):
                assert getattr(copy, name) is copy[name]
    assert module.library_path.is_file()
    assert module.mlir().startswith("builtin.module")
    assert "library_path" in repr(module)


def test_what_is_ours_comes_before_functions(module: Module) -> None:
    """Whatever gets into the dictionary of a module."""
    broken: Any = pickle.loads(pickle.dumps(module))
    broken.__dict__.update(dict.fromkeys(("_program", "_functions", "mlir", "library_path")))
    np.testing.assert_array_equal(broken["mlir"](X), module["mlir"](X))
    assert repr(broken) == repr(module)
    assert broken.library_path == module.library_path


def test_a_module_that_is_not_made_yet() -> None:
    """Such as `copy` and `pickle` ask for attributes."""
    with pytest.raises(AttributeError, match="no function '_functions'"):
        _ = Module.__new__(Module).nothing


PARAMETERS = sorted(
    {"self", "out", "args", "named", "extra", "function", "ndarray", "empty", "pointer", "missing"}
    | {"a0", "n0", "r0", "flags", "call", "None", "in_", "class", "MISSING", "_", "__class__"}
)


@pytest.fixture(scope="module")
def parameters() -> Any:
    listed = ", ".join(f"{name}: tensor<F32, [call]>" for name in PARAMETERS)
    body = " + ".join(PARAMETERS)
    return kina.compile(f"let f = fn({listed}) -> tensor<F32, [call]> {{ {body} }}").f


def test_parameters_of_any_name(parameters: Any) -> None:
    arrays = [X * 2**i for i in range(len(PARAMETERS))]
    wanted = X * (2 ** len(PARAMETERS) - 1)
    np.testing.assert_array_equal(parameters(*arrays), wanted)
    np.testing.assert_array_equal(parameters.reference(*arrays), wanted)
    named = dict(zip(PARAMETERS, arrays, strict=True))
    np.testing.assert_array_equal(parameters.reference(**named), wanted)
    before = [named.pop(name) for name in PARAMETERS if name <= "out"]
    np.testing.assert_array_equal(parameters(*before, **named), wanted)
    result = np.zeros_like(X)
    assert parameters(*before, **named, out=result) is result
    np.testing.assert_array_equal(result, wanted)


def test_out_is_the_array_to_write(parameters: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match="pass parameter 'out' by position"):
        parameters(**dict.fromkeys(PARAMETERS, X))


# What the compiler's C files, its IR and its tools call things.
INTERNAL = """
    best_level LEVELS EXPORTED wanted variants choose0 function0 a0 kina kina_schedule builtin func
    bit_AVX2 text init fini rax ptr st offset vec_malloc dso_local i32 label
"""


@pytest.mark.parametrize("target", ["native", "x86-64"])
def test_exported_names_of_any_kind(target: str) -> None:
    """Without a prefix, so that each is the name in C, in MLIR, LLVM IR and assembly."""
    if target in FAT and host_machine() != "x86_64":
        pytest.skip(f"{target} is not for this machine")
    names = INTERNAL.split()
    kind = "tensor<F32, [N]>"
    text = "\n".join(
        f"let {name} = fn(N: {kind}) -> {kind} {{ N.exp() + {i}.0 }}"
        for i, name in enumerate(names)
    )
    artifact = build(Source("t.kina", text), Options(target, prefix=""))
    library = ctypes.CDLL(str(artifact.library))
    x, result = np.zeros(3, np.float32), np.zeros(3, np.float32)
    for number, name in enumerate(names):
        arrays = (array.ctypes.data_as(ctypes.c_void_p) for array in (x, result))
        assert getattr(library, name)(ctypes.c_int64(3), *arrays) == 0
        np.testing.assert_array_equal(result, np.full(3, 1 + number))


def test_names_of_any_length() -> None:
    """Longer than an argument of a program may be."""
    name = "f" * 200_000
    function = kina.compile(f"let {name} = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {{ x }}")
    np.testing.assert_array_equal(function[name](X), X)
