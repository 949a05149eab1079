"""What is too much is refused, with its limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.transforms.dead_code_elimination import dce

from helpers.cases import Case, all_cases, source
from kina.backend.lowering import Lowering
from kina.cli import inputs
from kina.cli.check import check_files
from kina.cli.warning import WarningMode
from kina.dialects.call import CallOp
from kina.errors import KinaTypeError, KinaValueError
from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.source import Source
from kina.ops import OPS
from kina.passes import inline_calls, limits
from kina.passes.decompose_kina import DecomposeKina
from kina.passes.decomposition.weights import weight_of
from kina.passes.inline_calls import InlineCalls

PROGRAM = """let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x + x * x }
let g = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x - x }
"""


def test_a_program_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    program = check(Source("t.kina", PROGRAM))
    monkeypatch.setattr(limits, "MAX_PROGRAM", 5)
    assert Lowering(program)
    monkeypatch.setattr(limits, "MAX_PROGRAM", 4)
    with pytest.raises(
        KinaTypeError, match=r"^t\.kina:2:\d+: error: the program has more than 4 op"
    ):
        Lowering(program)


SOFTMAXES = (
    "let f = fn(x: tensor<F32, [8]>) -> tensor<F32, [8]> { x" + ".softmax(axis=0)" * 9 + " }\n"
)
HEAD = "let g = fn(x: tensor<F32, [8]>) -> tensor<F32, [8]> { "


@pytest.mark.parametrize("link", ["let x = f(x) in ", "let x = x.softmax(axis=0) in "])
def test_operations_count_as_what_they_expand_to(link: str) -> None:
    """Nested calls that become bodies, and the operation itself: 10,000 are 1428 softmaxes."""
    most = limits.MAX_OPERATIONS // 7 // (9 if "f(x)" in link else 1)
    for count, refused in ((most, False), (most + 1, True)):
        program = check(Source("deep.kina", SOFTMAXES + HEAD + link * count + "x }"))
        module = generate(program)
        if not refused:
            InlineCalls().apply(Context(), module)
            continue
        with pytest.raises(KinaTypeError, match="function g has more than 10000 operations") as e:
            InlineCalls().apply(Context(), module)
        assert str(e.value).startswith("deep.kina:2:")
        assert "a softmax as 7" in str(e.value)


def test_what_is_too_much_is_never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused at the first body too many."""
    made: list[Operation] = []

    def counted(op: Operation, callee: FuncOp) -> None:
        made.append(op)
        inline(op, callee)

    inline = inline_calls.inline
    monkeypatch.setattr(inline_calls, "inline", counted)
    text = SOFTMAXES + HEAD + "let x = f(x) in " * 1000 + "x }"
    with pytest.raises(KinaTypeError, match="more than 10000"):
        InlineCalls().apply(Context(), generate(check(Source("deep.kina", text))))
    assert len(made) == limits.MAX_OPERATIONS // 63


def test_a_body_that_expands_stays_a_function() -> None:
    """Sixteen softmaxes are 112 operations: too many for a copy at each of a hundred calls."""
    text = SOFTMAXES.replace(".softmax(axis=0)" * 9, ".softmax(axis=0)" * 16)
    module = generate(check(Source("t.kina", text + HEAD + "let x = f(x) in " * 100 + "x }")))
    InlineCalls().apply(Context(), module)
    (_, g) = module.ops
    assert sum(1 for op in g.walk() if isinstance(op, CallOp)) == 100


def sampled_cases() -> list[Case]:
    """Of every operation and dtype the first with two axes, if it has one."""
    found: dict[tuple[str, str], Case] = {}
    for case in all_cases():
        key = (case.op, str([type_.dtype for type_ in case.types[:1]]))
        if key not in found or (case.types and found[key].types[0].rank < 2 <= case.types[0].rank):
            found[key] = case
    return list(found.values())


def test_weights_are_what_the_decomposition_makes() -> None:
    """Of every operation on every dtype."""
    cases = sampled_cases()
    assert {case.op for case in cases} == OPS.keys()
    text = "\n".join(source(case, f"f{number}") for number, case in enumerate(cases))
    module = generate(check(Source("weights.kina", text)))
    dce(module)  # As the decomposition does.
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    weights = [weight_of(function.body.block.ops) for function in functions]
    DecomposeKina().apply(Context(), module)
    for case, expected, function in zip(cases, weights, functions, strict=True):
        assert len(function.body.block.ops) == expected, str(case)


def test_standard_input_is_one_program() -> None:
    mode = WarningMode.SHOW
    with pytest.raises(KinaValueError, match="`-` is given twice"):
        check_files([Path("-"), Path("-")], mode)


@pytest.mark.parametrize(
    ("name", "dtype"), [("x", "F32"), ("x", "BF16"), ("u", "F16"), ("T", "F32"), ("x", "I8")]
)
def test_random_inputs_are_the_same_in_any_blocks(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"let f = fn({name}: tensor<{dtype}, [7, 9]>) -> tensor<{dtype}, [7, 9]> {{ {name} }}"
    parameter = check(Source("t.kina", text)).signatures["f"].parameters[0]

    def drawn() -> np.ndarray:
        return inputs.drawn(np.random.default_rng(3), parameter, (7, 9), None)  # pyright: ignore

    whole = drawn()
    monkeypatch.setattr(inputs, "_BLOCK", 5)
    assert drawn().tobytes() == whole.tobytes()
    assert whole.shape == (7, 9)
