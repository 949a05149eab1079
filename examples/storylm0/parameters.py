"""The model's parameters: where their shapes come from, how they begin, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from tensor_file import Array, BadFile, Tensors, load

import kina

HERE = Path(__file__).parent
STEP, LOSS, TRAIN = (HERE / f"storylm0_{name}.kina" for name in ("step", "loss", "train"))

Shapes = dict[str, tuple[int, ...]]
"""By name: `layers.qkv`."""
Nested = dict[str, Any]
"""A record as calls take it: a dictionary of arrays and dictionaries."""


def shapes(function: kina.Function, record: str) -> Shapes:
    """The shapes of the tensors of a parameter, a record of static sizes."""
    prefix = f"{record}."
    return {
        parameter.name.removeprefix(prefix): tuple(map(int, parameter.type.dims))
        for parameter in function.type.parameters
        if parameter.name.startswith(prefix)
    }


def initial(wanted: Shapes, seed: int = 1) -> Tensors:
    """Parameters before training: norms are ones, all else is random, in the order of the names."""
    random = np.random.RandomState(seed)
    layers = wanted["layers.qkv"][0]
    made: Tensors = {}
    for name, shape in wanted.items():
        if name.endswith("norm"):
            made[name] = np.ones(shape, np.float32)
        else:
            spread = _spread(name, shape, layers)
            made[name] = (random.normal(size=shape) * spread).astype(np.float32)
    return made


def _spread(name: str, shape: tuple[int, ...], layers: int) -> float:
    """The standard deviation to begin with: what is added to a row of the model begins small."""
    if not name.startswith("layers."):
        return 0.02
    inputs = shape[1] * shape[2] if name == "layers.out" else shape[1]
    adds = name in ("layers.out", "layers.down")
    return 1 / sqrt(inputs * (2 * layers if adds else 1))


def nested(tensors: Mapping[str, Any]) -> Nested:
    """`{"layers.up": …}` as `{"layers": {"up": …}}`."""
    made: Nested = {}
    for name, array in tensors.items():
        *outer, last = name.split(".")
        inner = made
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = array
    return made


def flat(record: Any, prefix: str = "") -> Tensors:
    """The tensors of a record that a call returned, each under its whole name."""
    if not hasattr(record, "_asdict"):
        return {prefix.removesuffix("."): np.asarray(record)}
    fields: dict[str, Any] = record._asdict()
    parts = (flat(value, f"{prefix}{name}.") for name, value in fields.items())
    return {name: array for part in parts for name, array in part.items()}


def check(path: Path, tensors: Mapping[str, Array], wanted: Shapes) -> None:
    """Raise `BadFile` unless a file has these tensors, of these shapes, in F32."""
    missing = [name for name in wanted if name not in tensors]
    extra = [name for name in tensors if name not in wanted]
    if missing or extra:
        words = [f"misses {name}" for name in missing[:1]] + [f"has {name}" for name in extra[:1]]
        raise BadFile(f"{path}: not this model's tensors: it {' and '.join(words)}")
    for name, shape in wanted.items():
        array = tensors[name]
        if array.shape != shape or array.dtype != np.float32:
            came = f"{array.dtype} {list(array.shape)}"
            raise BadFile(f"{path}: {name} is {came}, expected float32 {list(shape)}")


def read_weights(path: Path, wanted: Shapes) -> Tensors:
    """The parameters in a file. Raises `BadFile`, and OSError as `open` does."""
    tensors, _ = load(path)
    check(path, tensors, wanted)
    return tensors
