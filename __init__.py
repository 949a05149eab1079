"""Stands in for Kina where this folder is called `kina` and the folder above it is searched first.

That is so for a script that lies beside the clone. Without this file Python would take the folder
for a namespace package: `import kina` would work and `kina.load` would not exist. The file hands
over to the Kina that is installed, or else to the package inside. It belongs to no wheel.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def _installed(clone: Path) -> ModuleSpec | None:
    """The Kina that Python finds when it does not search the folder above the clone."""
    paths = [entry for entry in sys.path if Path(entry).resolve() != clone.parent]
    found = (finder.find_spec("kina", paths) for finder in sys.meta_path)
    return next((spec for spec in found if spec and spec.has_location), None)


def _hand_over(clone: Path) -> None:
    """Load the right package and put it in this one's place."""
    spec = _installed(clone) or spec_from_file_location("kina", clone / "kina" / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules["kina"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "kina":
    _hand_over(Path(__file__).resolve().parent)
