"""Random programs in folds: the bits and the errors of as many calls, and gradients beside both."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import kina
from helpers.choose import Seeded
from helpers.expect import same_bits
from helpers.layered import Layered, layered
from helpers.programs import generate

# A random literal may become a rounder one.
pytestmark = pytest.mark.filterwarnings("ignore::kina.KinaWarning")

FOLDS = 6
"""Per module."""


def folds_of(seed: int) -> list[Layered]:
    """The first generated functions that can be layers."""
    choose, found = Seeded(seed), list[Layered]()
    for number in count():
        fold = layered(choose, generate(choose, f"f{number}", []))
        if fold is not None:
            found.append(fold)
        if len(found) == FOLDS:
            return found
    raise AssertionError


def check_fold(module: kina.Module, fold: Layered, seed: int) -> None:
    """Compiled, and in the reference, a fold is what its calls make one after the other."""
    arrays = fold.inputs(seed)
    layer, whole = module[f"{fold.name}_layer"], module[fold.name]
    dtype = fold.function.values[fold.x].type.dtype
    for call, folded in ((layer, whole), (layer.reference, whole.reference)):
        x = arrays[fold.x]
        for at in range(fold.layers):
            x = np.asarray(call(*fold.layer(arrays, x, at)))
        got = np.asarray(folded(*fold.given(arrays)))
        assert got.shape == x.shape
        assert same_bits(got, x, dtype).all(), f"{fold.name}, seed {seed}"
    check_bad_index(module, fold, seed)


def check_bad_index(module: kina.Module, fold: Layered, seed: int) -> None:
    """A bad index in the last layer: an error that is the reference's, and names the layer."""
    indexed = [p for p in fold.over if fold.function.values[p].bound is not None]
    if not indexed:
        return
    arrays = fold.inputs(seed)
    arrays[indexed[0]].reshape(-1)[-1] = -1
    with pytest.raises(kina.KinaIndexError) as want:
        module[fold.name].reference(*fold.given(arrays))
    with pytest.raises(kina.KinaIndexError) as got:
        module[fold.name](*fold.given(arrays))
    assert str(got.value) == str(want.value)
    assert f"layer {fold.layers - 1}" in str(got.value)


def check_folds(seed: int) -> None:
    folds = folds_of(seed)
    text = "\n".join(fold.source for fold in folds)
    try:
        module = kina.compile(text)
        for fold in folds:
            for inputs in range(2):
                check_fold(module, fold, inputs)
    except Exception as error:
        error.add_note(text)
        raise


@pytest.mark.parametrize("seed", range(2))
def test_folds_are_calls(seed: int) -> None:
    check_folds(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_folds_are_calls(seed: int) -> None:
    check_folds(seed)
