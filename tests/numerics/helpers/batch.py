"""Many functions in one module: a library costs far more to build than a function in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

import kina
from helpers.cases import Case, all_cases, source
from helpers.expect import check
from helpers.oracles import expected


def compile_cases(cases: Sequence[Case]) -> kina.Module:
    """One module with a function `f0`, `f1`, … per case; their inputs are small."""
    text = "\n".join(source(case, f"f{i}") for i, case in enumerate(cases))
    return kina.compile(text, threads=False)


def check_case(case: Case, function: kina.Function, seed: int) -> None:
    """Compiled code and reference give what the oracle allows, and leave their inputs alone."""
    arrays = case.inputs(seed)
    copies = [array.tobytes() for array in arrays]
    wanted = expected(case.op, list(case.types), dict(case.attributes), arrays, case.result_shape)
    for how, got in (("compiled", function(*arrays)), ("reference", function.reference(*arrays))):
        check(got, wanted, case.result.dtype, f"{how} {case}, seed {seed}")
        assert isinstance(got, np.ndarray), f"{how} {case}: not an array"
    assert [array.tobytes() for array in arrays] == copies, f"{case}: an input was written to"


def sample(op: str, each: int) -> Iterator[Case]:
    """`each` cases of every dtype × variant of an operation, static and symbolic in turn.

    Shapes and axes go round, so that the sample as a whole meets all of them.
    """
    cases = sorted((case for case in all_cases() if case.op == op), key=lambda c: str(_variant(c)))
    turn = 0
    for _, group in groupby(cases, key=_variant):
        members = list(group)
        for _ in range(min(each, len(members))):
            case = members[turn * 7 % len(members)]
            yield case if turn % 2 else case.symbolic() or case
            turn += 1


def _variant(case: Case) -> Hashable:
    """What is compiled differently for equal shapes: dtype, reduction, target of a cast."""
    attributes = dict(case.attributes)
    dtypes = str([t.dtype for t in case.types[:1]]), str([t.dtype for t in case.types[1:]])
    return *dtypes, attributes.get("op"), str(attributes.get("dtype"))


def chunks(cases: Iterable[Case], size: int) -> Iterator[list[Case]]:
    """The cases in lists of `size`."""
    everything = list(cases)
    for start in range(0, len(everything), size):
        yield everything[start : start + size]
