"""One program both ways, fast and plain, against the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import kina
from helpers.expect import same_bits
from helpers.inputs import PROFILES, random_array
from kina.types import Signature


def arguments(
    signature: Signature, sizes: Mapping[str, int], seed: int, profile: str = "plain"
) -> list[np.ndarray]:
    """Arguments for these sizes; a parameter `in_V` holds indices below V."""
    rng = np.random.default_rng(seed)
    arrays: list[np.ndarray] = []
    for parameter in signature.parameters:
        shape = tuple(d if isinstance(d, int) else sizes[d] for d in parameter.type.dims)
        kind, _, bound = parameter.name.partition("_")
        if kind == "in":
            arrays.append(np.asarray(rng.integers(0, sizes[bound], shape)))
        else:
            arrays.append(random_array(rng, parameter.type.dtype, shape, profile))
    return arrays


def as_tuple(results: object) -> tuple[np.ndarray, ...]:
    """The results of a call, also of one."""
    return results if isinstance(results, tuple) else (np.asarray(results),)


def check_both_ways(text: str, sizes: Sequence[Mapping[str, int]]) -> None:
    """Every function of an exact program gives the bits of the reference, fast and plain."""
    modules = {
        "fast": kina.compile(text, threads=False),
        "plain": kina.compile(text, fast=False, threads=False),
    }
    for name in modules["fast"]:
        signature = modules["fast"][name].type
        for given in sizes:
            for seed, profile in enumerate(PROFILES):
                arrays = arguments(signature, given, seed, profile)
                wanted = as_tuple(modules["plain"][name].reference(*arrays))
                for way, module in modules.items():
                    got = as_tuple(module[name](*arrays))
                    for place, type_ in enumerate(signature.results):
                        same = same_bits(got[place], wanted[place], type_.dtype)
                        assert same.all(), f"{way} {name}, {given}, {profile}: result {place}"
