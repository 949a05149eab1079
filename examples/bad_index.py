"""A target that is no class: the call raises, says where, and the next call is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kina

nll = kina.load(Path(__file__).parent / "storylm0_nll.kina").nll
logits = np.zeros((1, 4, 8), np.float32)

try:
    nll(logits, np.array([[0, 1, 8, 3]]))
except kina.KinaIndexError as error:
    print(error)

print("and a good call after it:", nll(logits, np.array([[0, 1, 7, 3]])))
