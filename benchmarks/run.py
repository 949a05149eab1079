"""Kina and its peers, side by side: `python benchmarks/run.py --help`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Before site-packages, where another package may be called `benchmarks` too.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import_module("benchmarks.main").main()
