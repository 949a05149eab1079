"""Recursion without Python's recursion limit.

A recursive function is written as a generator that yields the sub-steps it needs and gets their
results back, so that a program nested deeply, or a long sum, costs memory and not stack frames.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")

Steps = Generator[Any, Any, T]
"""A computation that yields sub-computations and returns a `T`."""


def run(steps: Steps[T]) -> T:
    """The result of `steps`; an exception in a sub-step ends the whole computation."""
    stack: list[Steps[Any]] = [steps]
    value: Any = None
    while stack:
        try:
            sub_step = stack[-1].send(value)
        except StopIteration as finished:
            stack.pop()
            value = finished.value
        else:
            stack.append(sub_step)
            value = None
    return value
