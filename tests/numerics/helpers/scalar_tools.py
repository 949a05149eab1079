"""The developer scripts in `tools/`, importable by tests."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

TOOLS = str(Path(__file__).resolve().parents[3] / "tools")


def load(name: str) -> ModuleType:
    """The script `tools/<name>.py` as a module; scripts import each other."""
    if TOOLS not in sys.path:
        sys.path.append(TOOLS)
    return import_module(name)
