"""The program that these tests call, and what it is called with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kina
from helpers.called import PROGRAM


@pytest.fixture(scope="module")
def module() -> Any:
    return kina.compile(PROGRAM, name="program.kina")


@pytest.fixture
def logits() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((1, 4, 8)).astype(np.float32)


@pytest.fixture
def targets() -> np.ndarray:
    return np.array([[0, 7, 3, 1]])
