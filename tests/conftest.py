"""All that is compiled is verified, after each pass and in the end; the libraries of some tests.

Fixtures for those, and the mark `peer`.
"""

from __future__ import annotations

import gc
import os
from types import ModuleType

import pytest

from kina.backend.contents import VARIABLE

os.environ.setdefault(VARIABLE, "1")
# All that is collected and imported stays: to look through it often takes a sixth of the time.
gc.set_threshold(100_000, 20, 50)

PEERS = {"torch", "jax"}


def peer(name: str) -> ModuleType:
    """The library, or a skip that says where its tests run."""
    reason = f"{name} is not installed here; `make test-peers` runs this"
    return pytest.importorskip(name, reason=reason)


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    return peer("torch")


@pytest.fixture(scope="session")
def jax() -> ModuleType:
    return peer("jax")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses one of these fixtures."""
    for item in items:
        if isinstance(item, pytest.Function) and PEERS & set(item.fixturenames):
            item.add_marker(pytest.mark.peer)
