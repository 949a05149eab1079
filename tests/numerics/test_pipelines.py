"""Kernels over the same rows, block by block: what lies in memory, and the bits.

One module holds the programs: a library costs more to build than a function in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pytest
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

import kina
from helpers.settings import SMALL, arrays, machines
from kina.backend import ir_text, lowering
from kina.backend.options import Options
from kina.backend.stages import checked
from kina.frontend.source import Source

LOSS = """
let {name} = fn(x: tensor<F32, [{N}, {D}]>, w: tensor<F32, [{W}]>, t: tensor<I64, [{N}]>)
    -> tensor<F32, []> {{
  (-x.matmul({weights}).log_softmax(axis=1).take_along_axis(t, axis=1)).reduce(op=mean, axis=0)
}}
let {gradient} = reverseMode({name})
"""
ATTENTION = """
let {name} = fn(q: tensor<F32, [{B}, {H}, {T}, {K}]>, k: tensor<F32, [{B}, {H}, {T}, {K}]>,
    v: tensor<F32, [{B}, {H}, {T}, {K}]>) -> tensor<F32, [{B}, {H}, {T}, {K}]> {{
  let scores = q.matmul(k.transpose([0, 1, 3, 2])) * 0.125 in
  let past = iota([{T}, {T}], axis=1) <= iota([{T}, {T}], axis=0) in
  let seen = past.broadcast([{B}, {H}, {T}, {T}]) in
  seen.select(scores, tensor<F32, [{B}, {H}, {T}, {T}]>(-inf)).softmax(axis=3).matmul(v)
}}
let {gradient} = reverseMode({name})
"""
MLP = """
let {name} = fn(x: tensor<F32, [{N}, {D}]>, w: tensor<F32, [{D}, {V}]>, b: tensor<F32, [{V}]>,
    u: tensor<F32, [{V}, {D}]>) -> tensor<F32, [{N}, {D}]> {{
  (x.matmul(w) + b.broadcast([{N}, {V}])).gelu().matmul(u) + x
}}
let {gradient} = reverseMode({name})
"""
STEP = """
let {name} = fn(x: tensor<F32, [{B}, {T}, {D}]>, w: tensor<F32, [{D}, {V}]>, b: tensor<F32, [{V}]>,
    t: tensor<I64, [{B}, {T}]>) -> tensor<F32, [{B}, {T}]> {{
  let logits = x.matmul(w) + b.broadcast([{B}, {T}, {V}]) in
  -logits.log_softmax(axis=2).take_along_axis(t, axis=2)
}}
let {gradient} = reverseMode({name})
"""
NAMES = {letter: letter for letter in "BHTKNDV"}
FIXED = {"B": "2", "H": "3", "T": "300", "K": "24", "N": "700", "D": "20", "V": "1600"}
LARGE = {"B": "8", "H": "12", "T": "512", "K": "64", "N": "1024", "D": "768", "V": "50257"}
TEMPLATES = {"loss": LOSS, "tied": LOSS, "attend": ATTENTION, "mlp": MLP, "step": STEP}


def source(sizes: Mapping[str, str], wanted: Sequence[str], suffix: str = "") -> str:
    """The functions of these names with their gradients; those that are not wanted are private."""
    text = ""
    for kind, template in TEMPLATES.items():
        if f"d{kind}" in wanted:
            tied = kind == "tied"
            d, v = sizes["D"], sizes["V"]
            text += template.format(
                name=(kind if kind in wanted else f"_{kind}") + suffix,
                gradient=f"d{kind}{suffix}",
                W=f"{v}, {d}" if tied else f"{d}, {v}",
                weights="w.transpose([1, 0])" if tied else "w",
                **sizes,
            )
    return text


FUNCTIONS = ["loss", "dloss", "dtied", "attend", "dattend", "dmlp", "dstep"]
WITH_FIXED = ["dstep"]
SOURCE = source(NAMES, FUNCTIONS) + source(FIXED, WITH_FIXED, "_fixed")
MACHINE_SETTINGS: dict[str, dict[str, int]] = {
    "kernel by kernel": {**SMALL, "block_rows": 0},
    "usual": {},
    "absurd": {
        **SMALL,
        "block_rows": 7,
        "least_block_rows": 1,
        "block_bytes": 1000,
        "shared_block_bytes": 1000,
        "grain": 1 << 8,
        "worth_blocks": 0,
        "tile_depth": 5,
    },
}


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, kina.Module]]:
    """The programs as each machine runs them."""
    made: dict[str, kina.Module] = {}
    for name, settings in MACHINE_SETTINGS.items():
        with machines(settings, tmp_path_factory.mktemp("cache")):
            made[name] = kina.compile(SOURCE)
    yield made
    kina.set_num_threads(None)


def arguments(name: str, sizes: Mapping[str, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(list(sizes.values()))
    b, h, t, k, n, d, v = (sizes[letter] for letter in "BHTKNDV")

    def some(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32)

    match name.removeprefix("d").removesuffix("_fixed"):
        case "loss" | "tied" as kind:
            weights = some(d, v) if kind == "loss" else some(v, d)
            return [some(n, d), weights, rng.integers(0, v, n)]
        case "attend":
            cotangent = [some(b, h, t, k)] if name.startswith("d") else []
            return [some(b, h, t, k) for _ in range(3)] + cotangent
        case "mlp":
            cotangent = [some(n, d)] if name.startswith("d") else []
            return [some(n, d), some(d, v), some(v), some(v, d), *cotangent]
        case _:
            cotangent = [some(b, t)] if name.startswith("d") else []
            return [some(b, t, d), some(d, v), some(v), rng.integers(0, v, (b, t)), *cotangent]


def results(module: kina.Module, name: str, given: list[np.ndarray]) -> list[bytes]:
    return [each.tobytes() for each in arrays(module[name](*given))]


ONES = dict.fromkeys("BHTKNDV", 1)
SIZES = (
    ONES,
    {"B": 2, "H": 3, "T": 70, "K": 9, "N": 65, "D": 33, "V": 130},
    {"B": 3, "H": 1, "T": 257, "K": 16, "N": 513, "D": 70, "V": 17},
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_blocks_have_the_bits_of_the_whole(name: str, modules: dict[str, kina.Module]) -> None:
    fixed = {letter: int(size) for letter, size in FIXED.items()}
    for sizes in (*SIZES, fixed):
        given = arguments(name, sizes)
        kina.set_num_threads(1)
        wanted = results(modules["kernel by kernel"], name, given)
        names = [name, f"{name}_fixed"] if sizes is fixed and name in WITH_FIXED else [name]
        for machine, threads in (("usual", 1), ("usual", 2), ("absurd", 1), ("absurd", 3)):
            kina.set_num_threads(threads)
            for function in names:
                got = results(modules[machine], function, given)
                assert got == wanted, (machine, threads, function, sizes)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_blocks_mean_what_the_program_says(name: str, modules: dict[str, kina.Module]) -> None:
    kina.set_num_threads(2)
    given = arguments(name, SIZES[1])
    function = modules["usual"][name]
    found, wanted = arrays(function(*given)), arrays(function.reference(*given))
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)


def test_sums_of_nothing_are_stored(modules: dict[str, kina.Module]) -> None:
    """Gradients of weights where there are no rows at all."""
    sizes = {**SIZES[1], "N": 0, "B": 0}
    for name, zeros in (("dmlp", (2, 3, 4)), ("dstep", (2, 3))):
        found = modules["usual"][name](*arguments(name, sizes))
        for place in zeros:
            assert found[place].size
            assert not found[place].any()


# What lies in memory.


@cache
def scheduled() -> tuple[list[ModuleOp], list[str]]:
    """What goes to mlir-opt of the programs of large sizes, and the words about its kernels."""
    shown: list[ModuleOp] = []

    def kept(module: ModuleOp, **_: object) -> str:
        shown.append(module)
        return ""

    options = Options("x86-64-v4", threads=False)
    program = checked(Source("t.kina", source(LARGE, FUNCTIONS)), options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ir_text, "show", kept)
        lines = lowering.lower(program, options).kernels
    return shown, [*lines]


def known(value: SSAValue) -> int:
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() as number):
            return number.value.data
        case arith.MuliOp(lhs=left, rhs=right):
            return known(left) * known(right)
        case other:
            raise AssertionError(f"{other} is not known")


def allocated(name: str) -> list[int]:
    """The elements of each allocation of a function."""
    parts, _ = scheduled()
    functions = [op for part in parts for op in part.ops if isinstance(op, FuncOp)]
    (function,) = (f for f in functions if f.sym_name.data == name and not f.is_declaration)
    made = [op for op in function.walk() if isinstance(op, memref.AllocOp)]
    return [
        known(op.dynamic_sizes[0]) if op.dynamic_sizes else op.memref.type.get_shape()[0]
        for op in made
    ]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("loss", 64_000_000),
        ("dloss", 64_000_000),
        ("dtied", 64_000_000),
        ("attend", 2_000_000),
        ("dattend", 16_000_000),
        ("dmlp", 64_000_000),
    ],
)
def test_only_a_block_lies_in_memory(name: str, most: int) -> None:
    """Bytes of all temporaries; logits as a whole are 206 MB, scores 100 MB."""
    elements = allocated(f"kina_{name}")
    assert elements
    assert 4 * sum(elements) <= most, elements


def test_the_schedule_names_pipelines() -> None:
    _, lines = scheduled()
    found = [line for line in lines if line.startswith("pipeline of")]
    named = [f"from kina_{name}$" for name in FUNCTIONS]
    for start in named:
        assert any(start in line for line in found), start
    held = [line for line in lines if "held for a block" in line]
    assert held[0].endswith(str(4 * 50257))
