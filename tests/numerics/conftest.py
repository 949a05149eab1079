"""Every test run compiles with the code at hand: the cache is a fresh folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def fresh_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Point `KINA_CACHE`, also for the commands that tests run, to an empty folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
