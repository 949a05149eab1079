"""Tables that say where things are, and load them when they are first wanted.

A program uses few of the operations and needs few of the kernels: loading the code of all of them
would take longer than compiling it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


class LazyTable(Mapping[str, T]):
    """Things by their keys, each written as `module.name`, below a package.

    Which keys there are, and how many, loads nothing.
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package = package
        self._places = places
        self._found: dict[str, T] = {}

    def __getitem__(self, key: str) -> T:
        if key not in self._found:
            module, name = self._places[key].rsplit(".", 1)
            self._found[key] = getattr(import_module(f"{self._package}.{module}"), name)
        return self._found[key]

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
