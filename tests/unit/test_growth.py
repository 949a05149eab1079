"""What is compiled grows in proportion to the program: operations, kernels, and our own work."""

from __future__ import annotations

import cProfile
import pstats
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kina
from kina.backend.lowering import Lowering
from kina.backend.options import Options
from kina.errors import KinaTypeError
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.machine import MACHINES, USUAL

HEAD = "let f = fn(x: tensor<F32, [N, 24]>) -> tensor<F32, [N, 24]> { "
NORM = (
    "let c = x - x.reduce_keep(op=mean, axis=1).broadcast([N, 24]) in "
    "let v = (c * c).reduce_keep(op=mean, axis=1) + 1e-5 in "
    "let x = c / v.sqrt().broadcast([N, 24]) + x in "
)
ROUND = (
    "let top = x.reduce_keep(op=max, axis=1).broadcast([N, 24]) in "
    "let x = x + (x - top).cast(Bool).cast(F32).log() in "
)


def chain(link: str) -> Callable[[int], str]:
    """A program of so many links."""
    return lambda count: HEAD + link * count + "x }"


CHAINS = {
    "softmax": chain("let x = x.softmax(axis=1) in "),
    "norm": chain(NORM),
    "strike": chain(ROUND),
    "exp": chain("let x = x.exp() in let x = x.log() in "),
}


def code(text: str) -> str:
    """What mlir-opt is given."""
    parts = Lowering(check(Source("growth.kina", text))).parts(Options())
    return "".join(part.code for part in parts)


def kernels(text: str) -> list[int]:
    """How many reductions each kernel has, without the second way of few long rows."""
    lowering = Lowering(check(Source("growth.kina", text)))
    lines = [line for part in lowering.parts(Options(threads=False)) for line in part.kernels]
    counts: list[int] = []
    for line in lines:
        if not line.startswith(" "):
            counts.append(0)
        counts[-1] += "reduction by" in line
    return counts


@pytest.mark.parametrize("name", CHAINS)
def test_twice_the_program_is_twice_the_code(name: str) -> None:
    sizes = [code(CHAINS[name](count)).count("\n") for count in (12, 24, 48)]
    assert sizes[2] - sizes[1] <= 2.1 * (sizes[1] - sizes[0])


@pytest.mark.parametrize("name", ["softmax", "norm", "strike"])
def test_a_chain_is_cut_into_kernels_of_a_few_reductions(name: str) -> None:
    links = MACHINES[USUAL].links
    counts = [count for count in kernels(CHAINS[name](12)) if count]
    assert len(counts) >= 12 * (1 if name == "strike" else 2) // links
    assert max(counts) <= 2 * links


def test_equal_kernels_are_one_function() -> None:
    """Each round after the first few is like one before: calls name the function that is kept."""
    text = code(CHAINS["strike"](12))
    _, *functions = text.split('"func.func"()')
    names = [re.findall(r'sym_name = "([^"]+)"', function)[0] for function in functions]
    bodies = [f.replace(f'"{name}"', "") for name, f in zip(names, functions, strict=True)]
    assert len(set(bodies)) == len(bodies)
    calls = re.findall(r"callee = @([\w$]+)", text)
    assert set(calls) <= set(names)
    assert max(map(calls.count, names)) > 4


@pytest.mark.parametrize("name", ["softmax", "exp"])
def test_our_own_work_grows_as_the_program_does(name: str) -> None:
    """Counted in calls of Python functions."""
    calls: list[int] = []
    code(CHAINS[name](2))
    for count in (4, 16):
        with cProfile.Profile() as profile:
            code(CHAINS[name](count))
        calls.append(int(pstats.Stats(profile).total_calls))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
    assert calls[1] < 4.5 * calls[0]


def test_a_value_of_one_stage_is_never_stored() -> None:
    """However long: nothing would compute it twice."""
    step = "let y = x.exp() in let x = x + y * y in "
    assert kernels(chain(step)(20)) == kernels(chain(step)(1))


@pytest.mark.parametrize("name", ["softmax", "norm", "strike"])
def test_storing_changes_no_bit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = CHAINS[name](6)
    x = np.random.default_rng(7).normal(size=(5, 24)).astype(np.float32)
    monkeypatch.setenv("KINA_CACHE", str(tmp_path / "stored"))
    cut = code(text)
    first = kina.compile(text).f(x)
    monkeypatch.setenv("KINA_CACHE", str(tmp_path / "whole"))
    for model, machine in MACHINES.items():
        whole = replace(machine, links=1000, costly=100_000, long_body=100_000)
        monkeypatch.setitem(MACHINES, model, whole)
    kernel = "callee = @kina_f$"
    assert 0 < code(text).count(kernel) < cut.count(kernel)
    np.testing.assert_array_equal(kina.compile(text).f(x).view(np.int32), first.view(np.int32))


DOUBLING = "let f0 = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x * x + 1.0 }\n"


def doubling(count: int, more: str = "") -> str:
    """Functions that each call the one before twice."""
    return (
        DOUBLING
        + "".join(
            f"let f{i} = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {{ f{i - 1}(f{i - 1}(x)) }}\n"
            for i in range(1, count)
        )
        + more
    )


def test_calls_of_large_functions_stay_calls() -> None:
    sizes = [Lowering(check(Source("d", doubling(n)))).kina_ir.count("\n") for n in (8, 15, 22)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]


def test_gradients_of_nested_calls_grow_as_the_program_does() -> None:
    """Sixteen deep, the calls stand for 65,536 bodies."""
    sizes = [
        Lowering(check(Source("d", doubling(n, f"let df = reverseMode(f{n - 1})")))).kina_ir
        for n in (8, 15, 22)
    ]
    lines = [text.count("\n") for text in sizes]
    assert lines[2] - lines[1] <= 1.05 * (lines[1] - lines[0])
    pullbacks = [text.count("func.func private") for text in sizes]
    assert pullbacks[2] - pullbacks[1] == pullbacks[1] - pullbacks[0] > 0


def test_a_gradient_of_a_hundred_calls_has_two_pullbacks() -> None:
    """That of the last call, and that of the others, which adds to the gradient of w."""
    layer = (
        "let layer = fn(x: tensor<F32, [N]>, w: tensor<F32, [N]>) -> tensor<F32, [N]> {"
        + "let x = (x * w).exp() / (x * x + 1.0) - w in " * 4
        + "x }\n"
    )
    head = "let f = fn(x: tensor<F32, [N]>, w: tensor<F32, [N]>) -> tensor<F32, [N]> { "
    counts: list[int] = []
    for calls in (50, 100):
        body = "let x = layer(x, w) in " * calls + "x }\nlet df = reverseMode(f)"
        text = Lowering(check(Source("d", layer + head + body))).kina_ir
        assert text.count("func.func private") == 2
        counts.append(text.count("\n"))
    # A call forward and one back for each.
    assert counts[1] - counts[0] <= 4 * 50


def test_second_derivatives_grow_as_the_program_does() -> None:
    more = "let d = reverseMode(f{0})\nlet dd = reverseMode(d, wrt=[x])"
    texts = [
        Lowering(check(Source("d", doubling(n, more.format(n - 1))))).kina_ir for n in (8, 15, 22)
    ]
    lines = [text.count("\n") for text in texts]
    assert lines[2] - lines[1] <= 1.05 * (lines[1] - lines[0])


def test_a_function_past_the_limit_is_refused_at_its_place() -> None:
    body = "let x = x.exp() + x in " * 2600
    text = HEAD + body + "x }\nlet df = reverseMode(f)"
    with pytest.raises(KinaTypeError, match="has more than 10000 operations") as caught:
        Lowering(check(Source("deep.kina", text)))
    assert str(caught.value).startswith("deep.kina:2:")


def test_a_fused_body_has_each_constant_once() -> None:
    """However often exp stands in it; 0.0 and -0.0 are two."""
    link = "let x = x.exp() * 0.0 + -0.0 in "
    once, often = (
        re.findall(r'arith\.constant"\(\) <\{value = (\S+) : f32\}', code(chain(link)(count)))
        for count in (1, 3)
    )
    assert len(often) == len(set(often)) == len(once)
    assert {"0.000000e+00", "-0.000000e+00"} <= set(often)
