"""Discardable attributes by which one pass tells another what it knows."""

from __future__ import annotations

NAN_ELSEWHERE = "nan_elsewhere"
"""Of a max: where it meets a NaN its users give NaN in any case."""
