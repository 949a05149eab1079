"""Asserting that a program is refused with the right words."""

from __future__ import annotations

import re

import pytest

import kina


def refused(text: str, words: str, error: type[kina.KinaError] = kina.KinaTypeError) -> None:
    """`text` must not compile; one diagnostic with a place has `words` (a regular expression)."""
    with pytest.raises(error) as caught:
        kina.compile(text, name="bad.kina")
    found = [d for d in caught.value.diagnostics if re.search(words, d.message)]
    assert found, f"no diagnostic says {words!r}: {caught.value}"
    assert all(d.span is not None and str(d.span).startswith("bad.kina:") for d in found)
