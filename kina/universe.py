"""What Kina adds to xDSL's tools, found through the `xdsl.universe` entry point.

Each import sits inside its getter, so that listing what exists loads nothing.
"""

from __future__ import annotations

from functools import partial

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.frontend import Frontend

from kina.lazy import LazyTable


def get_kina() -> Dialect:
    """The `kina` dialect."""
    from kina.dialects.kina import Kina

    return Kina


def get_frontend() -> type[Frontend]:
    """The reader of `.kina` files."""
    from kina.frontend.xdsl_frontend import KinaFrontend

    return KinaFrontend


PASSES: LazyTable[type[ModulePass]] = LazyTable(
    "kina.passes",
    {
        "specialise-sizes": "specialise_sizes.SpecialiseSizes",
        "inline-calls": "inline_calls.InlineCalls",
        "transform-ad": "transform_ad.TransformAd",
        "simplify-kina": "simplify_kina.SimplifyKina",
        "decompose-kina": "decompose_kina.DecomposeKina",
        "lower-kina": "lower_kina.LowerKina",
        "export-c": "export_c.ExportC",
        "check-sizes": "check_sizes.CheckSizes",
        "assert-to-status": "assert_to_status.AssertToStatus",
        "expand-math": "expand_math.ExpandMath",
        "expand-small-floats": "expand_small_floats.ExpandSmallFloats",
        "allocate-temporaries": "allocate_temporaries.AllocateTemporaries",
        "schedule-cpu": "schedule_cpu.ScheduleCpu",
        "expand-fma": "expand_fma.ExpandFma",
        "split-masks": "split_masks.SplitMasks",
    },
)


KINA_UNIVERSE = Universe(
    all_dialects={"kina": get_kina},
    all_passes={name: partial(PASSES.__getitem__, name) for name in PASSES},
    all_frontends={"kina": get_frontend},
)
