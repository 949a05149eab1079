"""Every run compiles with the code at hand, and checks the IR after each pass.

Fixtures for the libraries of some tests, and the mark `peer`.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from types import ModuleType

import pytest

from kina.backend.contents import VARIABLE

os.environ.setdefault(VARIABLE, "1")
# All that is collected and imported stays: to look through it often takes a sixth of the time.
gc.set_threshold(100_000, 20, 50)

PEERS = {"torch", "jax"}


@pytest.fixture(scope="session", autouse=True)
def fresh_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Point `KINA_CACHE`, also for the commands that tests run, to a folder that starts empty.

    The processes of one run share it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINA_CACHE", str(shared / "cache"))
        yield


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
