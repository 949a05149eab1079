"""Random chains of layers that become pipelines: linear, softmax, gelu, residual, mask, loss.

A chain walks rows of a matrix, or of a stack of matrices; what it makes on its way may be a result
too, or be used again further down, and weights may be used twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

LETTERS = {"B": 2, "N": 75, "C": 20, "D": 33, "E": 9, "K": 1}
"""The sizes of a call; B and N are rows."""
OTHERS = {"B": 3, "N": 1, "C": 7, "D": 16, "E": 65, "K": 40}
WIDTHS = ("C", "D", "E", "N", "K")


@dataclass
class Chain:
    """A function in the making: its parameters, and the lines of its body."""

    name: str
    rng: np.random.Generator
    parameters: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    made: list[tuple[str, str]] = field(default_factory=list)
    """What there is, with the width of a row."""
    results: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    fixed: bool = False
    """Whether the sizes are known when it is compiled."""

    def __post_init__(self) -> None:
        self.rows = ("B", "N") if self.rng.random() < 0.5 else ("N",)
        self.fixed = bool(self.rng.random() < 0.3)
        width = self.pick(WIDTHS)
        self.made.append((self.parameter("x", (*self.rows, width)), width))

    def pick(self, some: tuple[str, ...]) -> str:
        """One of some."""
        return some[self.rng.integers(len(some))]

    def parameter(self, start: str, shape: tuple[str, ...]) -> str:
        """A parameter; weights of the same shape are sometimes the same."""
        same = [name for name, known in self.parameters if known == shape and name[0] == start]
        if same and start == "w" and self.rng.random() < 0.3:
            return same[0]
        name = f"{start}{len(self.parameters)}"
        self.parameters.append((name, shape))
        return name

    def shape(self, *shape: str) -> str:
        """Sizes as they are written."""
        named = [str(LETTERS.get(each, each)) if self.fixed else each for each in shape]
        return f"[{', '.join(named)}]"

    def add(self, text: str, width: str) -> None:
        """A value of rows of a width."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"let {name} = {text} in")
        self.made.append((name, width))

    # Steps.

    def step(self) -> None:
        """One layer more."""
        steps = (
            self.linear, self.linear, self.linear, self.attend, self.bias, self.smooth,
            self.soften, self.residual, self.mask, self.center, self.norm, self.halve, self.choose,
        )  # fmt: skip
        steps[self.rng.integers(len(steps))]()

    def last(self) -> tuple[str, str]:
        """What comes next is made of this: what was made last, or something before."""
        if self.rng.random() < 0.85:
            return self.made[-1]
        return self.made[self.rng.integers(len(self.made))]

    def linear(self) -> None:
        """A product with weights, as they are or transposed, in F32 or narrower."""
        x, width = self.last()
        out = self.pick(WIDTHS)
        if self.rng.random() < 0.5:
            w = self.parameter("w", (width, out))
        else:
            w = self.parameter("w", (out, width)) + ".transpose([1, 0])"
        scaled = " * 0.3" if self.rng.random() < 0.3 else ""
        self.add(f"{x}.matmul({w}{scaled})", out)

    def attend(self) -> None:
        """Rows look at each other, or at some of their own."""
        x, _ = self.last()
        other = self.made[self.rng.integers(len(self.made))]
        turned = "[0, 2, 1]" if len(self.rows) == 2 else "[1, 0]"
        self.add(f"{x}.matmul({x}.transpose({turned})) * 0.1", "N")
        if self.rng.random() < 0.7:
            self.mask()
        self.soften()
        self.add(f"{self.made[-1][0]}.matmul({other[0]})", other[1])

    def bias(self) -> None:
        """A number for each column."""
        x, width = self.last()
        b = self.parameter("b", (width,))
        self.add(f"{x} + {b}.broadcast({self.shape(*self.rows, width)})", width)

    def smooth(self) -> None:
        """An activation."""
        x, width = self.last()
        kind = self.pick(("gelu()", "silu()", "tanh()", "maximum(0)", "sigmoid()"))
        self.add(f"{x}.{kind}", width)

    def soften(self) -> None:
        """A softmax of rows."""
        x, width = self.made[-1]
        kind = self.pick(("softmax", "softmax", "log_softmax"))
        self.add(f"{x}.{kind}(axis={len(self.rows)})", width)

    def residual(self) -> None:
        """The sum or the product with what was made before."""
        x, width = self.last()
        same = tuple(name for name, other in self.made if other == width)
        self.add(f"{x} {self.pick(('+', '+', '*', '-'))} {self.pick(same)}", width)

    def mask(self) -> None:
        """A choice by places."""
        x, width = self.made[-1]
        shape = self.shape(*self.rows, width)
        places = [f"iota({shape}, axis={axis})" for axis in range(len(self.rows) + 1)]
        row, column = places[-2], places[-1]
        conditions = (f"{column} <= {row}", f"{column} <= {row} && {row} - {column} < 30",
                      f"{column} < {row} + 3", f"{row} >= {column}")  # fmt: skip
        other = self.pick(("-30", "0", "-30"))
        self.add(f"({self.pick(conditions)}).select({x}, {other})", width)

    def center(self) -> None:
        """Less a number of the row."""
        x, width = self.last()
        axis, kind = len(self.rows), self.pick(("max", "mean", "sum"))
        row = self.shape(*self.rows, "1")
        whole = self.shape(*self.rows, width)
        kept = f"{x}.reduce(op={kind}, axis={axis}).reshape({row}).broadcast({whole})"
        self.add(f"{x} - {kept}", width)

    def norm(self) -> None:
        """Down to ordinary numbers again."""
        x, width = self.last()
        self.add(f"{x}.tanh() * 0.9", width)

    def halve(self) -> None:
        """The first part of each row, joined with something."""
        x, width = self.last()
        axis = len(self.rows)
        part = f"{x}.slice(axis={axis}, start=0, size=1)"
        whole = self.shape(*self.rows, width)
        self.add(f"{part}.broadcast({whole}) + {x}", width)

    def choose(self) -> None:
        """A row of weights for each row."""
        x, width = self.last()
        g = self.parameter("g", self.rows)
        row = self.shape(*self.rows, "1")
        whole = self.shape(*self.rows, width)
        self.add(f"{x} * {g}.reshape({row}).broadcast({whole})", width)

    # The end.

    def finish(self) -> None:
        """A loss of the rows, or the last value; sometimes another value beside it."""
        x, width = self.made[-1]
        axis = len(self.rows)
        shape: tuple[str, ...] = (*self.rows, width)
        if self.rng.random() < 0.5:
            t = self.parameter("t", self.rows)
            self.targets = (t, width)
            self.lines.append(
                f"let loss = -{x}.log_softmax(axis={axis}).take_along_axis({t}, axis={axis}) in"
            )
            x, shape = "loss", self.rows
            if self.rng.random() < 0.5:
                for _ in self.rows:
                    x = f"{x}.reduce(op=sum, axis=0)"
                shape = ()
        else:
            self.targets = ("", "")
        self.results.append((x, shape))
        if self.rng.random() < 0.3:
            other, width = self.made[self.rng.integers(1, len(self.made))]
            if other != x:
                self.results.append((other, (*self.rows, width)))

    def source(self) -> str:
        """The function, and its gradient."""
        kinds = [
            f"{name}: tensor<{'I64' if name[0] == 't' else 'F32'}, {self.shape(*shape)}>"
            for name, shape in self.parameters
        ]
        results = [f"tensor<F32, {self.shape(*shape)}>" for _, shape in self.results]
        values = [name for name, _ in self.results]
        several = len(values) > 1
        given = f"({', '.join(results)})" if several else results[0]
        body = "\n  ".join([*self.lines, f"({', '.join(values)})" if several else values[0]])
        text = f"let {self.name} = fn({', '.join(kinds)}) -> {given} {{\n  {body}\n}}\n"
        return text + f"let d{self.name} = reverseMode({self.name})\n"

    def arguments(self, sizes: Mapping[str, int], seed: int) -> list[np.ndarray]:
        """Of the gradient: those of the function, then a cotangent of each result but a number."""
        rng = np.random.default_rng(seed)
        sizes = LETTERS if self.fixed else sizes

        def some(shape: tuple[str, ...], scale: float) -> np.ndarray:
            made = rng.standard_normal([sizes[letter] for letter in shape], np.float32)
            return made * np.float32(scale)

        given: list[np.ndarray] = []
        for name, shape in self.parameters:
            if name[0] == "t":
                most = sizes[self.targets[1]]
                given.append(rng.integers(0, most, [sizes[letter] for letter in shape]))
            else:
                scale = sizes[shape[0]] ** -0.5 if name[0] == "w" else 1.0
                given.append(some(shape, scale))
        wanted = [shape for _, shape in self.results if shape]
        return [*given, *(some(shape, 1.0) for shape in wanted)]


def chain(name: str, seed: int) -> Chain:
    """A chain of some layers."""
    made = Chain(name, np.random.default_rng(seed))
    made.linear()
    for _ in range(made.rng.integers(2, 7)):
        made.step()
    made.linear()
    made.finish()
    return made
