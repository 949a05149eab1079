"""The elements of a constant as the reference reads them from MLIR's bytes."""

from __future__ import annotations

import numpy as np
import pytest

from kina.dtypes import F32
from kina.reference.meaning import payload

HALF = np.float32(0.5).tobytes()


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_one_element_fills_every_shape_also_rank_0(shape: tuple[int, ...]) -> None:
    elements = payload(HALF, F32, shape)
    assert elements.shape == shape
    assert np.all(elements == 0.5)


def test_full_payloads_are_row_major() -> None:
    raw = np.arange(6, dtype=np.float32).tobytes()
    np.testing.assert_array_equal(payload(raw, F32, (2, 3)), [[0, 1, 2], [3, 4, 5]])
