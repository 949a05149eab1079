"""What a command does with the warnings of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from kina.cli.streams import report
from kina.errors import Diagnostic, KinaTypeError, Severity, render_all


class WarningMode(StrEnum):
    """The words of `-W`."""

    SHOW = "show"
    ERROR = "error"
    IGNORE = "ignore"


def chosen(warnings: Sequence[Diagnostic], mode: WarningMode) -> tuple[Diagnostic, ...]:
    """The warnings to show, unless they are raised as the errors of a `KinaTypeError`."""
    if not warnings or mode is WarningMode.IGNORE:
        return ()
    if mode is WarningMode.ERROR:
        raise KinaTypeError(*(replace(found, severity=Severity.ERROR) for found in warnings))
    return tuple(warnings)


def show(warnings: Sequence[Diagnostic], mode: WarningMode) -> None:
    """Print the warnings, or raise them as the errors of a `KinaTypeError`."""
    found = chosen(warnings, mode)
    if found:
        report(render_all(found))
