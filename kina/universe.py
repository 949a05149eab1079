"""What Kina adds to xDSL's tools, found through the `xdsl.universe` entry point.

Each import sits inside its getter, so that listing what exists loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.frontend import Frontend


def get_kina() -> Dialect:
    """The `kina` dialect."""
    from kina.dialects.kina import Kina

    return Kina


def get_frontend() -> type[Frontend]:
    """The reader of `.kina` files."""
    from kina.frontend.xdsl_frontend import KinaFrontend

    return KinaFrontend


_PASSES: dict[str, str] = {
    "specialise-sizes": "SpecialiseSizes",
    "inline-calls": "InlineCalls",
    "transform-ad": "TransformAd",
    "simplify-kina": "SimplifyKina",
    "decompose-kina": "DecomposeKina",
    "lower-kina": "LowerKina",
    "export-c": "ExportC",
    "check-sizes": "CheckSizes",
    "assert-to-status": "AssertToStatus",
    "expand-math": "ExpandMath",
    "expand-small-floats": "ExpandSmallFloats",
    "allocate-temporaries": "AllocateTemporaries",
    "schedule-cpu": "ScheduleCpu",
    "expand-fma": "ExpandFma",
}
"""Pass name to class name; the module is the pass name in snake case."""


def pass_getter(name: str) -> Callable[[], type[ModulePass]]:
    """A function that imports pass `name` when it is called."""
    return lambda: getattr(import_module(f"kina.passes.{name.replace('-', '_')}"), _PASSES[name])


KINA_UNIVERSE = Universe(
    all_dialects={"kina": get_kina},
    all_passes={name: pass_getter(name) for name in _PASSES},
    all_frontends={"kina": get_frontend},
)
