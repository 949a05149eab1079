"""Non-temporal stores in LLVM IR."""

from __future__ import annotations

import re

import pytest

from kina.backend import toolchain
from kina.backend.streaming import stream_stores
from kina.backend.toolchain import run

KERNEL = """define void @kernel(i64 %0, ptr %1, ptr %2) #0 {
  br label %4

4:                                                ; preds = %7, %3
  %5 = phi i64 [ %11, %7 ], [ 0, %3 ]
  %6 = icmp slt i64 %5, 50240
  br i1 %6, label %7, label %12

7:                                                ; preds = %4
  %8 = getelementptr float, ptr %1, i64 %5
  %9 = load <64 x float>, ptr %8, align 4
  %10 = getelementptr float, ptr %2, i64 %5
  store <64 x float> %9, ptr %10, align 4
  %11 = add i64 %5, 64
  br label %4

12:                                               ; preds = %4
  ret void
}
"""
ASKS = 'attributes #0 = { "kina-stream"="2:WHAT" }\n'


def streamed(kernel: str, elements: str = "51463168") -> str:
    return stream_stores(kernel + ASKS.replace("WHAT", elements))


def test_whole_lines_are_stored_past_the_caches() -> None:
    text = streamed(KERNEL)
    stores = re.findall(r"store <16 x i32> .*, align 64, !nontemporal !\{i32 1\}", text)
    assert len(stores) == 4
    assert text.count("store <64 x float>") == 1
    assert text.count("fence seq_cst") == 1


@pytest.mark.parametrize("elements", ["51463168", "%0"])
def test_the_result_is_valid(elements: str) -> None:
    run(toolchain.OPT, ["-S", "-passes=verify"], streamed(KERNEL, elements))


@pytest.mark.parametrize("element", ["float", "half", "i16", "i8"])
def test_every_element_gets_past_the_caches(element: str) -> None:
    """LLVM has to select the instruction for all of them."""
    target = ["-mtriple=x86_64-unknown-linux-gnu", "-mcpu=x86-64-v4", "-mattr=-prefer-256-bit"]
    text = streamed(KERNEL.replace("float", element))
    optimised = run(toolchain.OPT, ["-S", "-passes=default<O3>", *target], text)
    assert "vmovnt" in run(toolchain.LLC, target, optimised)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load <64 x float>, ptr %8", "load <64 x float>, ptr %10"),  # reads what it writes
        ("add i64 %5, 64", "add i64 %5, 32"),
        ("64 x float", "64 x double"),
        ("  %11 =", "  store float 0.0, ptr %8, align 4\n  %11 ="),
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    kernel = KERNEL.replace(old, new)
    assert kernel != KERNEL
    assert streamed(kernel) == kernel + ASKS.replace("WHAT", "51463168")


def test_a_prefetch_is_no_effect() -> None:
    fetch = "  call void @llvm.prefetch.p0(ptr %8, i32 0, i32 2, i32 1)\n  %10 ="
    assert "!nontemporal" in streamed(KERNEL.replace("  %10 =", fetch))
    call = fetch.replace("llvm.prefetch", "other")
    assert "!nontemporal" not in streamed(KERNEL.replace("  %10 =", call))


def test_other_functions_stay() -> None:
    assert stream_stores(KERNEL) == KERNEL
