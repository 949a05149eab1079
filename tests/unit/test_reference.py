"""The NumPy reference against the oracles, over every operation, dtype, shape and axis."""

from __future__ import annotations

import pytest

from helpers.cases import Case, all_cases
from helpers.expect import check
from helpers.ir import function
from helpers.oracles import expected
from kina.ops import OPS
from kina.reference import evaluate

CASES = list(all_cases())


def _run(case: Case, seed: int) -> None:
    arrays = case.inputs(seed)
    copies = [array.copy() for array in arrays]
    (got,) = evaluate(function(case), arrays)
    wanted = expected(case.op, list(case.types), dict(case.attributes), arrays, case.result_shape)
    check(got, wanted, case.result.dtype, f"{case}, seed {seed}")
    for array, copy in zip(arrays, copies, strict=True):
        assert array.tobytes() == copy.tobytes(), f"{case}: an input was written to"


@pytest.mark.parametrize("op", OPS)
def test_every_operation_agrees_with_its_oracle(op: str) -> None:
    cases = [case for case in CASES if case.op == op]
    assert cases, f"no case for {op}"
    for seed, case in enumerate(cases[:: 1 if len(cases) < 400 else 3]):
        _run(case, seed)


@pytest.mark.sweep
@pytest.mark.parametrize("op", OPS)
def test_every_operation_on_every_profile(op: str) -> None:
    for case in (case for case in CASES if case.op == op):
        for seed in range(6):
            _run(case, seed)


@pytest.mark.parametrize("op", OPS)
def test_symbolic_sizes_come_from_the_arguments(op: str) -> None:
    cases = [case.symbolic() for case in CASES if case.op == op]
    for seed, case in enumerate(cases[::7]):
        if case is not None:
            _run(case, seed)


def test_the_sweep_covers_every_dtype_of_every_operation() -> None:
    # Without operands, an operation has the type of its result.
    firsts = [(case.op, case.types[0] if case.types else case.result) for case in CASES]
    covered = {(op, type_.dtype.name) for op, type_ in firsts}
    assert covered == {(op.name, dtype) for op in OPS.values() for dtype in op.dtypes}
    assert {type_.rank for _, type_ in firsts} == {0, 1, 2, 3, 4, 5}
