"""Random programs as layers: a generated function is folded over stacks, some of them in a record.

A fold has the bits of as many calls, so the calls are what it is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.choose import Chooser
from helpers.inputs import PROFILES, random_array
from helpers.programs import Function, Value
from kina.types import TensorType

LAYERS = "L"


@dataclass(frozen=True)
class Layered:
    """A fold of `function`; positions are those of its parameters."""

    function: Function
    result: int
    """The value that is the x of the next layer."""
    x: int
    over: tuple[int, ...]
    whole: tuple[int, ...]
    in_record: frozenset[int]
    """Those of `over` that are fields of one record."""
    layers: int
    is_symbolic: bool

    @property
    def name(self) -> str:
        """Of the fold; a prefix of the names of all else."""
        return f"{self.function.name}_folded"

    @property
    def source(self) -> str:
        """The function, the block that calls it, the fold, as many calls, and their gradients."""
        name, x = self.name, self._value(self.x)
        record = [self._value(p) for p in self.over if p in self.in_record]
        apart = [p for p in self.over if p not in self.in_record]
        fields = ", ".join(f"{v.name}: {v.type}" for v in record)
        stacks = ", ".join(f"{v.name}: {self._stack(v.type)}" for v in record)
        kind = f"type {name}_type = {{ {fields} }}\ntype {name}_stack = {{ {stacks} }}\n"
        one = [f"r: {name}_type"] if record else []
        many = [f"{v.name}: {self._stack(v.type)}" for v in record]
        block = [f"x: {x.type}", *one, *(self._declared(p) for p in (*apart, *self.whole))]
        folded = [f"x: {x.type}", *many]
        folded += [f"{self._value(p).name}: {self._stack(self._value(p).type)}" for p in apart]
        folded += [self._declared(p) for p in self.whole]
        made = f"{name}_stack({', '.join(f'{v.name}={v.name}' for v in record)})"
        over = [made] if record else []
        over += [self._value(p).name for p in apart]
        whole = ", ".join(self._value(p).name for p in self.whole)
        arguments = ", ".join(self._argument(p) for p in self.function.parameters)
        return (
            (kind if record else "")
            + self.function.source(f"{name}_layer", [self.result])
            + f"let {name}_block = fn({', '.join(block)}) -> {x.type} {{\n"
            f"  {name}_layer({arguments})\n}}\n"
            f"let {name} = fn({', '.join(folded)}) -> {x.type} {{\n"
            f"  fold({name}_block, x, over=[{', '.join(over)}], with=[{whole}])\n}}\n"
        )

    def _value(self, position: int) -> Value:
        return self.function.values[position]

    def _declared(self, position: int) -> str:
        value = self._value(position)
        return f"{value.name}: {value.type}"

    def _argument(self, position: int) -> str:
        if position == self.x:
            return "x"
        name = self._value(position).name
        return f"r.{name}" if position in self.in_record else name

    def _stack(self, type_: TensorType) -> TensorType:
        return type_.with_dims((LAYERS if self.is_symbolic else self.layers, *type_.dims))

    def inputs(self, seed: int) -> dict[int, np.ndarray]:
        """The argument for each parameter of the function, stacked where it has layers."""
        rng = np.random.default_rng(seed)
        found: dict[int, np.ndarray] = {}
        for position in self.function.parameters:
            value = self._value(position)
            layers = (self.layers,) if position in self.over else ()
            shape = (*layers, *self.function.shape(value.type))
            profile = PROFILES[rng.integers(len(PROFILES))]
            if value.bound is not None:
                found[position] = np.asarray(rng.integers(0, value.bound, shape))
            else:
                found[position] = random_array(rng, value.type.dtype, shape, profile)
        return found

    def given(self, arrays: dict[int, np.ndarray]) -> Sequence[np.ndarray]:
        """The arguments of the fold."""
        record = [p for p in self.over if p in self.in_record]
        apart = [p for p in self.over if p not in self.in_record]
        return [arrays[p] for p in (self.x, *record, *apart, *self.whole)]

    def layer(self, arrays: dict[int, np.ndarray], x: np.ndarray, at: int) -> Sequence[np.ndarray]:
        """The arguments of one layer's function."""
        return [
            x if p == self.x else arrays[p][at] if p in self.over else arrays[p]
            for p in self.function.parameters
        ]


def layered(choose: Chooser, function: Function) -> Layered | None:
    """A fold of a function, if it has a result of a parameter's type and another parameter."""
    values = function.values
    pairs = [
        (result, p)
        for p in function.parameters
        if values[p].bound is None and len(function.parameters) > 1
        for result in function.computed
        if values[result].type == values[p].type
    ]
    if not pairs:
        return None
    result, x = choose.one(pairs)
    others = [p for p in function.parameters if p != x]
    over = [p for p in others if choose.chance(60)] or [choose.one(others)]
    whole = tuple(p for p in others if p not in over)
    in_record = frozenset(p for p in over if choose.chance(40))
    is_symbolic = LAYERS not in function.sizes and choose.chance(50)
    return Layered(
        function, result, x, tuple(over), whole, in_record, choose.integer(1, 3), is_symbolic
    )
