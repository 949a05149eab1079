"""simplify-kina on random programs: the same bits, the same checks, and no growth."""

from __future__ import annotations

import random

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from kina.dialects.elementwise import BinaryOp, CastOp, UnaryOp
from kina.dialects.indexing import GatherOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.table import build
from kina.dialects.types import from_ir, to_ir
from kina.dtypes import DTYPES, F32, I64
from kina.errors import KinaIndexError
from kina.ops import OPS
from kina.passes.simplify_kina import SimplifyKina
from kina.reference import evaluate
from kina.rules.parts import Attributes, RuleError, without_axis
from kina.types import Dim, TensorType

SEEDS = range(60)
SIZES: dict[Dim, int] = {"N": 3, "M": 2, 1: 1, 2: 2, 4: 4}
# Mostly what the pass moves, and enough else to stand in its way.
OPERATIONS = [
    *["take_along_axis"] * 5,
    *["broadcast"] * 4,
    *["reshape", "cast", "neg", "sub", "add", "mul"] * 2,
    *["exp", "log", "div", "reduce", "reduce_keep", "log_softmax", "gather"],
]
ELEMENTWISE = (UnaryOp, BinaryOp, CastOp)


class Program:
    """A random function; parameters appear as they are needed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.block = Block()
        self.values: list[SSAValue] = []
        for dims in ([4, "N"], ["N", 2, 4], [4], [], ["M", 1, "N"]):
            dtype = self.rng.choice([F32, F32, *DTYPES.values()])
            self.parameter(TensorType(dtype, tuple(dims)))
        for _ in range(25):
            self.step()
        results = self.rng.sample(self.values, 3)
        self.block.add_op(ReturnOp(*results))
        inputs = [argument.type for argument in self.block.args]
        types = (inputs, [result.type for result in results])
        self.function = FuncOp("f", types, Region(self.block))
        self.module = ModuleOp([self.function])

    def parameter(self, type_: TensorType) -> SSAValue:
        self.values.append(self.block.insert_arg(to_ir(type_), len(self.block.args)))
        return self.values[-1]

    def step(self) -> None:
        """Append one operation whose type rule holds."""
        while True:
            name = self.rng.choice(OPERATIONS)
            first = self.rng.choice(self.values)
            type_ = from_ir(first.type)
            try:
                op = build(name, self.operands(name, first, type_), self.attributes(name, type_))
            except (RuleError, IndexError):
                continue
            op.location = FileLineColLoc(StringAttr("r"), IntAttr(self.count()), IntAttr(1))
            self.block.add_op(op)
            self.values.append(op.results[0])
            return

    def count(self) -> int:
        return sum(1 for _ in self.block.ops) + 1

    def operands(self, name: str, first: SSAValue, type_: TensorType) -> list[SSAValue]:
        if name == "take_along_axis":
            self.axis = self.rng.randrange(type_.rank) if type_.rank > 1 else 0
            dims = [dim for axis, dim in enumerate(type_.dims) if axis != self.axis]
            return [first, self.indices(dims)]
        if name == "gather":
            return [first, self.indices(self.rng.choice([[2], ["N"], []]))]
        if len(OPS[name].operands) == 2:
            same = [value for value in self.values if value.type == first.type]
            return [first, self.rng.choice(same)]
        return [first]

    def indices(self, dims: list[Dim]) -> SSAValue:
        wanted = TensorType(I64, tuple(dims))
        known = [value for value in self.block.args if from_ir(value.type) == wanted]
        if known and self.rng.random() < 0.6:
            return self.rng.choice(known)
        return self.parameter(wanted)

    def attributes(self, name: str, type_: TensorType) -> Attributes:
        if name == "take_along_axis":
            return {"axis": self.axis}
        if name == "cast":
            return {"dtype": self.rng.choice(list(DTYPES.values()))}
        if name == "broadcast":
            spread = [self.rng.choice([1, 2, 4, "N"]) if dim == 1 else dim for dim in type_.dims]
            extra = [self.rng.choice([1, 2, "M"]) for _ in range(self.rng.randrange(2))]
            return {"dims": (*extra, *spread)[-4:]}
        if name == "reshape":
            ones = [1] * self.rng.randrange(2)
            return {"dims": tuple(ones + [dim for dim in type_.dims if dim != 1])}
        kind = self.rng.choice(["sum", "max", "argmax"])
        return {"op": kind, "axis": self.rng.randrange(type_.rank or 1)}

    def arrays(self, seed: int, bad: float = 0.0) -> list[np.ndarray]:
        """Inputs; with probability `bad` an index tensor holds an index that is far out."""
        rng = np.random.default_rng(seed)
        return [self._array(rng, from_ir(value.type), bad) for value in self.block.args]

    def _array(self, rng: np.random.Generator, type_: TensorType, bad: float) -> np.ndarray:
        shape = tuple(SIZES[dim] for dim in type_.dims)
        if type_.dtype is I64:
            array = rng.integers(0, 1 if rng.random() < 0.5 else 2, shape)
            return np.where(rng.random(shape) < 0.3, 99, array) if rng.random() < bad else array
        values = rng.normal(0, 3, shape).astype(np.float32)
        package, name = type_.dtype.numpy.split(".")
        module = {"numpy": np, "ml_dtypes": ml_dtypes}[package]
        return np.asarray(values).astype(getattr(module, name))


def outcome(function: FuncOp, arrays: list[np.ndarray]) -> list[bytes] | tuple[str, ...]:
    """The results' bits (any NaN is one NaN), or the place and words of the first failed check."""
    try:
        with np.errstate(all="ignore"):
            results = evaluate(function, arrays)
    except KinaIndexError as error:
        (diagnostic,) = error.diagnostics
        place = str(diagnostic.span)
        return (place, diagnostic.message.split(" (axis")[0])
    return [bits(result) for result in results]


def bits(array: np.ndarray) -> bytes:
    wide = array.astype(np.float64)
    return (
        np.where(np.isnan(wide), 0, array.view(f"u{array.itemsize}")).tobytes()
        + np.isnan(wide).tobytes()
    )


def simplified(program: Program) -> FuncOp:
    module = program.module.clone()
    SimplifyKina().apply(Context(), module)
    module.verify()
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return function


@pytest.mark.parametrize("seed", SEEDS)
def test_bits_and_failures_stay(seed: int) -> None:
    program = Program(seed)
    program.module.verify()
    function = simplified(program)
    assert not [op for op in function.walk() if isinstance(op, TakeAlongAxisOp)]
    for trial, bad in enumerate((0.0, 0.0, 0.3, 0.6)):
        arrays = program.arrays(seed * 10 + trial, bad)
        assert outcome(function, arrays) == outcome(program.function, arrays)


def test_random_programs_move_selections_and_fail_checks() -> None:
    moved, failed, passed = 0, 0, 0
    for seed in SEEDS:
        program = Program(seed)
        function = simplified(program)
        moved += sum(_reads_elementwise(op) for op in program.function.walk())
        assert not any(_reads_elementwise(op) for op in function.walk())
        result = outcome(function, program.arrays(seed, 0.3))
        failed += isinstance(result, tuple)
        passed += isinstance(result, list)
    assert moved > 20
    assert failed > 10
    assert passed > 10


def _reads_elementwise(op: Operation) -> bool:
    """Whether `op` selects from all of what an elementwise operation computes."""
    if not isinstance(op, TakeAlongAxisOp | SelectAlongAxisOp):
        return False
    values, indices = op.kina_operand_types()
    whole = without_axis(values.dims, op.axis_value) == indices.dims
    return whole and isinstance(op.values.owner, ELEMENTWISE)


def test_shared_operands_are_selected_once() -> None:
    type_ = to_ir(TensorType(F32, (2, 4)))
    block = Block(arg_types=[type_, to_ir(TensorType(I64, (2,)))])
    value: SSAValue = block.args[0]
    for _ in range(60):  # 2^60 selections, if each use had its own
        op = build("add", [value, value], {})
        block.add_op(op)
        value = op.results[0]
    take = build("take_along_axis", [value, block.args[1]], {"axis": 1})
    block.add_ops([take, ReturnOp(take)])
    types = ([argument.type for argument in block.args], [take.results[0].type])
    module = ModuleOp([FuncOp("f", types, Region(block))])
    SimplifyKina().apply(Context(), module)
    names = [op.name for op in module.walk()]
    assert names.count("kina.select_along_axis") == 1
    assert names.count("kina.add") == 60


def test_gather_keeps_its_check_when_unused() -> None:
    type_ = to_ir(TensorType(F32, (2, 4)))
    block = Block(arg_types=[type_, to_ir(TensorType(I64, (3,)))])
    block.add_ops([GatherOp(block.args[0], block.args[1]), ReturnOp(block.args[0])])
    function = FuncOp("f", (block.arg_types, [type_]), Region(block))
    SimplifyKina().apply(Context(), ModuleOp([function]))
    with pytest.raises(KinaIndexError):
        evaluate(function, [np.zeros((2, 4), np.float32), np.array([0, 2, 0])])
