"""Random well-typed programs, as source text and as the steps that it stands for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from helpers.cases import Case, expression
from helpers.choose import Chooser
from helpers.inputs import PROFILES, random_array
from helpers.literals import LITERALS, NUMBERS, literal_array
from kina.contraction import matmul_mismatch
from kina.dtypes import DTYPES, I64, NUMERIC
from kina.ops import CONTESTS, OPS, REDUCTIONS, Family
from kina.rules.parts import Attribute
from kina.types import Dim, TensorType

SIZES = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70)
MAX_ELEMENTS = 1400
SYMBOLS = ("N", "M", "K")


@dataclass(frozen=True)
class Value:
    """A value in scope."""

    name: str
    type: TensorType
    bound: int | None = None
    """For indices: every element is in `0 .. bound-1`."""


@dataclass(frozen=True)
class Step:
    """One binding: the text, and what its value is computed from."""

    text: str
    operands: tuple[int, ...]
    """Positions of earlier values (parameters first)."""
    results: tuple[int, ...]
    case: Case | None = None
    """The operation, if it is one; else a call or a literal."""
    callee: str | None = None
    constant: np.ndarray | None = None


@dataclass
class Function:
    """A generated function: `values` holds the parameters, then what the steps bind."""

    name: str
    values: list[Value] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    """What each symbol stands for in the test's calls."""

    def shape(self, type_: TensorType) -> tuple[int, ...]:
        """The run-time shape of a type of this function."""
        return tuple(dim if isinstance(dim, int) else self.sizes[dim] for dim in type_.dims)

    @property
    def computed(self) -> list[int]:
        """Every value that a step binds, in order."""
        return [result for step in self.steps for result in step.results]

    def source(self, name: str, results: list[int]) -> str:
        """The function's text, returning the values at these positions."""
        parameters = ", ".join(
            f"{self.values[p].name}: {self.values[p].type}" for p in self.parameters
        )
        types = [str(self.values[r].type) for r in results]
        body = "".join(f"  {step.text} in\n" for step in self.steps)
        names = [self.values[r].name for r in results]
        result, value = types[0], names[0]
        if len(results) > 1:
            result, value = f"({', '.join(types)})", f"({', '.join(names)})"
        return f"let {name} = fn({parameters}) -> {result} {{\n{body}  {value}\n}}\n"

    def inputs(self, seed: int) -> list[np.ndarray]:
        """Arguments; indices are in range, the rest has special values now and then."""
        rng = np.random.default_rng(seed)
        return [self._input(rng, self.values[p]) for p in self.parameters]

    def _input(self, rng: np.random.Generator, value: Value) -> np.ndarray:
        shape = self.shape(value.type)
        if value.bound is not None:
            return np.asarray(rng.integers(0, value.bound, shape))
        return random_array(rng, value.type.dtype, shape, PROFILES[rng.integers(len(PROFILES))])


def generate(choose: Chooser, name: str, earlier: list[Function]) -> Function:
    """A function of up to 8 steps that may call the earlier ones."""
    maker = _Maker(choose, Function(name), earlier)
    for _ in range(choose.integer(1, 3)):
        maker.parameter(maker.fresh_type())
    for _ in range(choose.integer(1, 8)):
        maker.step()
    computed = maker.function.computed or [0]
    count = choose.integer(1, 3)
    maker.function.results = [choose.one([*computed, 0]) for _ in range(count)]
    return maker.function


@dataclass
class _Maker:
    choose: Chooser
    function: Function
    earlier: list[Function]

    def fresh_type(self) -> TensorType:
        dims: list[Dim] = []
        room = MAX_ELEMENTS
        for _ in range(self.choose.integer(0, 5)):
            dim, size = self._dim(room)
            dims.append(dim)
            room //= size
        return TensorType(self.choose.one(list(DTYPES.values())), tuple(dims))

    def _dim(self, room: int) -> tuple[Dim, int]:
        known = [(name, size) for name, size in self.function.sizes.items() if size <= room]
        if known and self.choose.chance(30):
            return self.choose.one(known)
        size = self.choose.one([size for size in SIZES if size <= room] or [1])
        unused = [name for name in SYMBOLS if name not in self.function.sizes]
        if unused and self.choose.chance(25):
            self.function.sizes[unused[0]] = size
            return unused[0], size
        return size, size

    def _new_value(self, type_: TensorType, prefix: str, bound: int | None = None) -> int:
        position = len(self.function.values)
        self.function.values.append(Value(f"{prefix}{position}", type_, bound))
        return position

    def parameter(self, type_: TensorType, bound: int | None = None) -> int:
        # Names like those of operations are legal: a call position decides.
        prefix = self.choose.one(("p", "log", "exp", "axis"))
        position = self._new_value(type_, prefix, bound)
        self.function.parameters.append(position)
        return position

    def step(self) -> None:
        makers = [self._operation] * 8 + [self._number, self._literal]
        if self.earlier:
            makers.append(self._call)
        self.choose.one(makers)()

    def _operation(self) -> None:
        op = OPS[self.choose.one(list(OPS))]
        if not op.operands:
            self._iota()
            return
        if op.name == "random_uniform":
            self._uniform()
            return
        positions = range(len(self.function.values))
        fitting = [p for p in positions if self._type(p).dtype.name in op.dtypes]
        if "axis" in op.attributes:
            least = 2 if op.name == "take_along_axis" else 1
            fitting = [p for p in fitting if self._type(p).rank >= least]
        if op.name == "matmul":
            fitting = [p for p in fitting if self._type(p).rank >= 2]
        if op.name == "gather":
            fitting = [p for p in fitting if self._type(p).rank == 2]
        if fitting:
            self._apply(op.name, self.choose.one(fitting))

    def _type(self, position: int) -> TensorType:
        return self.function.values[position].type

    def _apply(self, op: str, first: int) -> None:
        type_ = self._type(first)
        attributes = self._attributes(op, type_)
        if attributes is None:
            return
        operands = [first]
        if OPS[op].is_elementwise:
            operands = self._alike(op, first)
        elif op == "matmul":
            operands.append(self._right_of(type_))
        elif op == "gather":
            rank = self.choose.integer(0, 2)
            dims = tuple(self.choose.one((1, 2, 3)) for _ in range(rank))
            operands.append(self._indices(dims, self._size(type_.dims[0])))
        elif op == "take_along_axis":
            axis = attributes["axis"]
            assert isinstance(axis, int)
            dims = (*type_.dims[:axis], *type_.dims[axis + 1 :])
            operands.append(self._indices(dims, self._size(type_.dims[axis])))
        elif OPS[op].family is Family.FIBER:
            axis = attributes["axis"]
            assert isinstance(axis, int)
            wanted = type_.with_dims((type_.dims[axis],))
            known = [p for p in range(len(self.function.values)) if self._type(p) == wanted]
            operands += [
                self.choose.one(known) if known else self.parameter(wanted)
                for _ in OPS[op].operands[1:]
            ]
        elif op == "concat":
            axis = attributes["axis"]
            assert isinstance(axis, int)
            operands += self._beside(type_, axis)
            if len(operands) == 1:
                return
        elif op in ("slice", "update"):
            operands += self._window(op, type_, attributes)
        self._bind(op, operands, attributes)

    def _right_of(self, left: TensorType) -> int:
        """A right operand that fits, or a new parameter: a matrix, or as many as on the left."""
        fitting = [
            position
            for position in range(len(self.function.values))
            if (type_ := self._type(position)).dtype is left.dtype
            and matmul_mismatch(left.dims, type_.dims) is None
        ]
        if fitting and self.choose.chance(60):
            return self.choose.one(fitting)
        batch = left.dims[:-2] if self.choose.chance(50) else ()
        columns, _ = self._dim(70)
        return self.parameter(left.with_dims((*batch, left.dims[-1], columns)))

    def _iota(self) -> None:
        dims = self._broadcast(TensorType(I64, (1,)))
        assert dims is not None
        attributes: dict[str, Attribute] = {"dims": dims, "axis": len(dims) - 1}
        self._bind("iota", [], attributes)

    def _uniform(self) -> None:
        """Drawn from a seed that is there, or a new parameter."""
        dims = self._broadcast(TensorType(I64, (1,)))
        assert dims is not None
        wanted = TensorType(I64, (2,))
        known = [p for p in range(len(self.function.values)) if self._type(p) == wanted]
        seed = self.choose.one(known) if known else self.parameter(wanted)
        self._bind("random_uniform", [seed], {"dims": dims})

    def _beside(self, type_: TensorType, axis: int) -> list[int]:
        """One or two values that differ from a type at an axis only, if sizes can be added."""
        if not isinstance(type_.dims[axis], int):
            return []

        def fits(other: TensorType) -> bool:
            if other.rank != type_.rank or other.dtype != type_.dtype:
                return False
            same = [d for a, d in enumerate(other.dims) if a != axis]
            return isinstance(other.dims[axis], int) and same == [
                d for a, d in enumerate(type_.dims) if a != axis
            ]

        fitting = [p for p in range(len(self.function.values)) if fits(self._type(p))]
        return [self.choose.one(fitting) for _ in range(self.choose.integer(1, 2))]

    def _window(self, op: str, type_: TensorType, attributes: dict[str, Attribute]) -> list[int]:
        """What a window takes beside its tensor: where it starts and, before, what is written."""
        axis = attributes["axis"]
        assert isinstance(axis, int)
        dim = type_.dims[axis]
        whole = self._size(dim)
        size = self.choose.one([dim, 1, 1 if isinstance(dim, str) else max(1, dim - 1)])
        start = self._indices((), whole - self._size(size) + 1)
        if op == "slice":
            attributes["size"] = size
            return [start]
        wanted = type_.with_dims((*type_.dims[:axis], size, *type_.dims[axis + 1 :]))
        known = [p for p in range(len(self.function.values)) if self._type(p) == wanted]
        return [self.choose.one(known) if known else self.parameter(wanted), start]

    def _alike(self, op: str, first: int) -> list[int]:
        """`first` and operands that go with it: of its type, or of one other and its shape."""
        alike = OPS[op].alike
        positions = range(len(self.function.values))
        model = first
        if alike.start:
            dims = self._type(first).dims
            model = self.choose.one([p for p in positions if self._type(p).dims == dims])
        same = [p for p in positions if self._type(p) == self._type(model)]
        others = [self.choose.one(same) for _ in alike]
        return [first, *others] if alike.start else [first, *others[1:]]

    def _size(self, dim: Dim) -> int:
        return dim if isinstance(dim, int) else self.function.sizes[dim]

    def _indices(self, dims: tuple[Dim, ...], bound: int) -> int:
        """Known indices of that shape and bound, an argmax for example, or a new parameter."""
        wanted = TensorType(I64, dims)
        known = [
            p
            for p, value in enumerate(self.function.values)
            if value.type == wanted and value.bound is not None and value.bound <= bound
        ]
        return self.choose.one(known) if known else self.parameter(wanted, bound)

    def _attributes(self, op: str, type_: TensorType) -> dict[str, Attribute] | None:
        attributes: dict[str, Attribute] = {}
        for key in OPS[op].attributes:
            if key == "axis":
                axis = attributes[key] = self.choose.integer(0, type_.rank - 1)
                if op == "top_k":
                    size = self._size(type_.dims[axis])
                    attributes["k"] = self.choose.one(sorted({1, (size + 1) // 2, size}))
            elif key == "eps":
                attributes[key] = self.choose.one((1e-5, 0.25, 1e-12))
            elif key == "dtype":
                attributes[key] = self.choose.one(list(DTYPES.values()))
            elif key == "axes":
                attributes[key] = self._order(type_.rank)
            elif key in ("size", "k"):
                continue  # chosen with the window, and with the axis
            elif key == "op":
                kinds = list(REDUCTIONS)
                fitting = [k for k in kinds if type_.dtype.name in REDUCTIONS[k].dtypes]
                attributes[key] = self.choose.one(fitting)
            else:
                dims = self._broadcast(type_) if op == "broadcast" else self._reshape(type_)
                if dims is None:
                    return None
                attributes[key] = dims
        return attributes

    def _order(self, rank: int) -> tuple[int, ...]:
        left, order = list(range(rank)), list[int]()
        while left:
            order.append(left.pop(self.choose.integer(0, len(left) - 1)))
        return tuple(order)

    def _broadcast(self, type_: TensorType) -> tuple[Dim, ...] | None:
        room = MAX_ELEMENTS // max(1, prod(self._size(dim) for dim in type_.dims))
        dims: list[Dim] = []
        for dim in type_.dims:
            if dim == 1 and self.choose.chance(60):
                dim, size = self._known_dim(room)
                room //= size
            dims.append(dim)
        for _ in range(self.choose.integer(0, 5 - len(dims))):
            dim, size = self._known_dim(room)
            room //= size
            dims.insert(0, dim)
        return tuple(dims)

    def _known_dim(self, room: int) -> tuple[Dim, int]:
        """A size, or a symbol that a parameter binds already."""
        bound = {dim for p in self.function.parameters for dim in self._type(p).symbols}
        known = [(s, self.function.sizes[s]) for s in bound if self.function.sizes[s] <= room]
        if known and self.choose.chance(40):
            return self.choose.one(sorted(known))
        size = self.choose.one([size for size in SIZES if size <= room] or [1])
        return size, size

    def _reshape(self, type_: TensorType) -> tuple[Dim, ...]:
        dims = list(type_.dims)
        static = prod(dim for dim in dims if isinstance(dim, int))
        symbols: list[Dim] = [dim for dim in dims if isinstance(dim, str)]
        factors: list[Dim] = []
        while static > 1 and len(factors) + len(symbols) < 4 and self.choose.chance(60):
            factor = self.choose.one([d for d in range(1, static + 1) if static % d == 0])
            factors.append(factor)
            static //= factor
        target = [*factors, static] if static > 1 or self.choose.chance(20) else factors
        for symbol in symbols:
            target.insert(self.choose.integer(0, len(target)), symbol)
        return tuple(target)

    def _bind(self, op: str, operands: list[int], attributes: dict[str, Attribute]) -> None:
        values = [self.function.values[p] for p in operands]
        types = tuple(value.type for value in values)
        shapes = tuple(self.function.shape(type_) for type_ in types)
        scope = tuple(self.function.sizes.items())
        case = Case(op, types, tuple(attributes.items()), shapes, scope)
        if prod(case.result_shape) > 4 * MAX_ELEMENTS or case.result.rank > 5:
            return
        bound = None
        if attributes.get("op") in CONTESTS:
            axis = attributes["axis"]
            assert isinstance(axis, int)
            bound = shapes[0][axis]
        elif op in ("reshape", "broadcast", "transpose", "slice"):
            bound = values[0].bound
        elif op == "iota":
            bound = case.result_shape[-1]
        text = expression(case, [value.name for value in values])
        if op == "top_k":
            best = types[0].with_dims(case.result.dims)
            self._let(text, operands, [best, case.result], values[0].bound, case=case)
            self._limit(shapes[0][attributes["axis"]])
            return
        self._let(text, operands, [case.result], bound, case=case)

    def _limit(self, bound: int) -> None:
        """Bounds the value that was bound last."""
        self.function.values[-1] = replace(self.function.values[-1], bound=bound)

    def _let(
        self,
        text: str,
        operands: list[int],
        types: list[TensorType],
        bound: int | None = None,
        **meaning: object,
    ) -> None:
        results = [self._new_value(type_, "v", bound) for type_ in types]
        names = [self.function.values[r].name for r in results]
        pattern = names[0] if len(names) == 1 else f"({', '.join(names)})"
        step = Step(f"let {pattern} = {text}", tuple(operands), tuple(results), **meaning)
        self.function.steps.append(step)

    def _number(self) -> None:
        """A bare number beside a tensor, on either side."""
        ops = [name for name, op in OPS.items() if op.alike == range(2)]
        op = OPS[self.choose.one(ops)]
        fitting = [
            p
            for p in range(len(self.function.values))
            if self._type(p).dtype.name in op.dtypes & NUMERIC
        ]
        if not fitting:
            return
        position = self.choose.one(fitting)
        type_ = self._type(position)
        number = self.choose.one(NUMBERS[type_.dtype.kind])
        constant = literal_array(type_.dtype, [number], self.function.shape(type_))
        left = self.choose.chance(50)
        name = self.function.values[position].name
        names = [number, name] if left else [name, number]
        shape = self.function.shape(type_)
        case = Case(op.name, (type_, type_), (), (shape, shape))
        # The number is operand -1 (on the left) or 1: see `operands_of`.
        operands = [-1, position] if left else [position, -1]
        text = expression(case, names)
        self._let(text, operands, [case.result], case=case, constant=constant)

    def _literal(self) -> None:
        dtype = self.choose.one(list(DTYPES.values()))
        rank = self.choose.integer(0, 3)
        dims = tuple(self.choose.one((1, 2, 3)) for _ in range(rank))
        count = 1 if self.choose.chance(30) else prod(dims)
        values = [self.choose.one(LITERALS[dtype.kind]) for _ in range(count)]
        type_ = TensorType(dtype, dims)
        constant = literal_array(dtype, values, dims)
        self._let(f"{type_}({', '.join(values)})", [], [type_], constant=constant)

    def _call(self) -> None:
        """A call of an earlier function: arguments in scope where they fit, else new parameters."""
        callee = self.choose.one(self.earlier)
        binding = {symbol: self._binding(size) for symbol, size in callee.sizes.items()}
        operands = []
        for position in callee.parameters:
            value = callee.values[position]
            type_ = _substituted(value.type, binding)
            operands.append(self._argument(type_, value.bound))
        names = ", ".join(self.function.values[p].name for p in operands)
        types = [_substituted(callee.values[r].type, binding) for r in callee.results]
        self._let(f"{callee.name}({names})", operands, types, callee=callee.name)

    def _binding(self, size: int) -> Dim:
        same = [name for name, known in self.function.sizes.items() if known == size]
        unused = [name for name in SYMBOLS if name not in self.function.sizes]
        if unused and self.choose.chance(40):
            self.function.sizes[unused[0]] = size
            return unused[0]
        return self.choose.one([size, *same])

    def _argument(self, type_: TensorType, bound: int | None) -> int:
        fitting = [
            p
            for p, value in enumerate(self.function.values)
            if value.type == type_ and (bound is None or (value.bound or bound + 1) <= bound)
        ]
        if fitting and self.choose.chance(80):
            return self.choose.one(fitting)
        return self.parameter(type_, bound)


def _substituted(type_: TensorType, binding: dict[str, Dim]) -> TensorType:
    return type_.with_dims([binding[d] if isinstance(d, str) else d for d in type_.dims])
