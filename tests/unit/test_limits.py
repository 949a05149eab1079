"""What is too much is refused, with its limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kina.backend.lowering import Lowering
from kina.cli import inputs
from kina.cli.check import check_files
from kina.cli.warning import WarningMode
from kina.errors import KinaTypeError, KinaValueError
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.passes import limits

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
        return inputs._drawn(np.random.default_rng(3), parameter, (7, 9), None)  # pyright: ignore

    whole = drawn()
    monkeypatch.setattr(inputs, "_BLOCK", 5)
    assert drawn().tobytes() == whole.tobytes()
    assert whole.shape == (7, 9)
