"""Recursion without Python's recursion limit.

A recursive function is written as a generator that yields the sub-steps it needs and gets their
results back, so that a program nested deeply, or a long sum, costs memory and not stack frames.
A sub-step that needs no others may be its result at once: most expressions are names and numbers.
"""

from __future__ import annotations

from collections.abc import Generator
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import TypeIs

T = TypeVar("T")

Steps = Generator[Any, Any, T]
"""A computation that yields sub-steps and returns a `T`."""
Step = Steps[T] | T
"""A sub-step: a computation, or the result itself."""

_COMPUTATION: type[Any] = GeneratorType


def is_open(step: Step[T]) -> TypeIs[Steps[T]]:
    """Whether a sub-step is a computation, and not yet its result."""
    return type(step) is _COMPUTATION


def run(step: Step[T]) -> T:
    """The result of `step`; an exception in a sub-step ends the whole computation."""
    stack: list[Steps[Any]] = []
    value: Any = step
    while True:
        if type(value) is _COMPUTATION:
            stack.append(value)
            value = None
        elif not stack:
            return value
        try:
            value = stack[-1].send(value)
        except StopIteration as finished:
            stack.pop()
            value = finished.value
