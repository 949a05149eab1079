"""Checked heap and bounded stack in LLVM IR text; what is not understood is refused."""

from __future__ import annotations

import re

import pytest

from kina.backend import toolchain
from kina.backend.frames import check_allocations
from kina.backend.options import Options
from kina.backend.stages import checked
from kina.backend.toolchain import run
from kina.errors import KinaToolchainError
from kina.frontend.source import Source

FUNCTION = """declare ptr @malloc(i64)
declare void @free(ptr)

define i32 @f(i64 %0) {
  %2 = alloca { ptr, i64 }
  %3 = call ptr @malloc(i64 %0)
  br label %4

4:                                                ; preds = %4, %1
  %5 = alloca float, i64 64, align 64
  %6 = icmp eq ptr %5, %2
  br i1 %6, label %4, label %7

7:                                                ; preds = %4
  call void @free(ptr %3)
  ret i32 0
}
"""


def test_every_allocation_is_checked_and_no_loop_grows_the_stack() -> None:
    """The first alloca's line ends as the function does."""
    text = check_allocations(FUNCTION)
    run(toolchain.OPT, ["-S", "-passes=verify"], text)
    entry, _, rest = text.partition("br i1 %kina.failed0, label %kina.out_of_memory")
    assert entry.count(" alloca ") == 3  # with the slot
    assert " alloca " not in rest
    assert "ret i32 -1" in rest


UNKNOWN = {
    "a stack of run-time size": ("alloca float, i64 64,", "alloca float, i64 %0,"),
    "a call with flags": ("call ptr @malloc", "tail call ptr @malloc"),
    "a call with attributes": ("call ptr @malloc", "call noalias ptr @malloc"),
    "an invoke": (
        "call ptr @malloc(i64 %0)",
        "invoke ptr @malloc(i64 %0) to label %4 unwind label %7",
    ),
    "a quoted name": ("call ptr @malloc", 'call ptr @"malloc"'),
    "a pointer to it": ("%6 = icmp eq ptr %5, %2", "%6 = icmp eq ptr %5, @malloc"),
    "another call of free": ("call void @free", "tail call void @free"),
    "free with attributes": ("@free(ptr %3)", "@free(ptr nonnull %3)"),
    "inalloca": ("= alloca { ptr, i64 }", "= alloca inalloca { ptr, i64 }, i64 %0"),
    "another allocator": ("declare ptr @malloc(i64)", "declare ptr @aligned_alloc(i64, i64)"),
    "zeroed memory": ("declare ptr @malloc(i64)", "declare noalias ptr @calloc(i64, i64)"),
    "a generic one": (
        "declare ptr @malloc(i64)",
        "declare ptr @_mlir_memref_to_llvm_alloc(i64)",
    ),
    "a saved stack": ("declare void @free(ptr)", "declare ptr @llvm.stacksave.p0()"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_memory_in_any_other_form_is_a_defect_not_unchecked(what: str) -> None:
    old, new = UNKNOWN[what]
    text = FUNCTION.replace(old, new)
    assert text != FUNCTION
    with pytest.raises(KinaToolchainError, match="this is a defect of Kina"):
        check_allocations(text)


def test_code_outside_of_a_function_is_a_defect() -> None:
    text = FUNCTION.replace("}\n", "} ; @f\n")
    with pytest.raises(KinaToolchainError, match="this is a defect of Kina"):
        check_allocations(text)


@pytest.mark.parametrize("name", ["calloc", "my_mmap", "free", "memalign"])
def test_names_of_a_program_are_no_allocators(name: str) -> None:
    from kina.backend.codegen import to_llvm_ir
    from kina.backend.lowering import lower

    text = (
        f"let {name} = fn(x: tensor<F32, [N, V]>) -> (tensor<F32, [V, N]>, tensor<F32, [N]>)"
        " { (x.softmax(axis=0).reshape([V, N]), x.softmax(axis=0).reduce(op=sum, axis=1)) }"
    ).replace("[V, N]", "[N, V]")
    options = Options("native")
    made = to_llvm_ir(lower(checked(Source("t.kina", text), options), options).code)
    mallocs = re.findall(r"call ptr @malloc", made)
    assert mallocs
    assert len(re.findall(r"%kina\.failed\d+ = icmp eq ptr", made)) == len(mallocs)
