"""What schedule-cpu forms: kernels, their loops and their calls."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, scf, vector
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, VectorType
from xdsl.ir import Operation, SSAValue

from kina.backend import lowering
from kina.dialects import pointers
from kina.frontend.source import Source
from kina.order import CHUNK
from kina.passes.schedule_cpu import ScheduleCpu
from kina.universe import PASSES

NLL = """let nll = fn(x: tensor<F32, [{rows}, {size}]>, t: tensor<I64, [{rows}]>)
  -> {result} {{ let p = x.log_softmax(axis=1) in {value} }}"""
LOSS = "-p.take_along_axis(t, axis=1)"
PIPELINE = (
    *("inline-calls", "transform-ad", "simplify-kina", "decompose-kina", "simplify-kina"),
    *("lower-kina", "export-c", "assert-to-status", "expand-math", "expand-small-floats"),
)


def scheduled(text: str, *, threads: bool = False) -> ModuleOp:
    """The module after schedule-cpu."""
    module, _ = lowering.kina_module(Source("test.kina", text))
    for name in PIPELINE:
        options = {"fast": True} if name == "lower-kina" else {}
        PASSES[name](**options).apply(Context(), module)
    ScheduleCpu(threads).apply(Context(), module)
    module.verify()
    return module


def kernels(module: ModuleOp) -> list[func.FuncOp]:
    """The private functions with a body."""
    functions = (op for op in module.ops if isinstance(op, func.FuncOp))
    return [f for f in functions if f.sym_visibility is not None and not f.is_declaration]


def nll(rows: int | str, size: int | str, *, both: bool = False) -> str:
    """The loss, or the loss and the log-probabilities."""
    loss = f"tensor<F32, [{rows}]>"
    result = f"({loss}, tensor<F32, [{rows}, {size}]>)" if both else loss
    value = f"({LOSS}, p)" if both else LOSS
    return NLL.format(rows=rows, size=size, result=result, value=value)


def loops(kernel: func.FuncOp) -> list[scf.ForOp]:
    """Every loop of a kernel."""
    return [op for op in kernel.walk() if isinstance(op, scf.ForOp)]


def walks(kernel: func.FuncOp) -> list[scf.ForOp]:
    """The innermost loops: those that go along a row."""
    return [
        loop for loop in loops(kernel) if not any(isinstance(op, scf.ForOp) for op in inside(loop))
    ]


def inside(loop: scf.ForOp) -> list[Operation]:
    """The ops of a loop without itself."""
    return [op for op in loop.walk() if op is not loop]


def number(value: SSAValue) -> int | None:
    """The constant that a value is."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


@pytest.mark.parametrize("both", [False, True])
def test_loss_and_probabilities_are_one_kernel(both: bool) -> None:
    """Two reductions, and one walk that stores the probabilities: all within one loop over rows."""
    _bounds, kernel = kernels(scheduled(nll(1024, 50257, both=both)))
    found = walks(kernel)
    assert [bool(walk.results) for walk in found] == [True, True] + [False] * both
    assert len([loop for loop in loops(kernel) if loop.parent_op() is kernel]) == 1
    stores = [op for op in kernel.walk() if isinstance(op, vector.StoreOp)]
    assert any(not is_on_stack(op.base) for op in stores) is both


def is_on_stack(buffer: SSAValue) -> bool:
    """Whether a kernel has a buffer for itself."""
    view = buffer.owner
    assert isinstance(view, memref.ReinterpretCastOp)
    return isinstance(view.source.owner, memref.AllocaOp)


def steps(text: str) -> set[int | None]:
    """The steps of all loops."""
    return {number(loop.step) for f in kernels(scheduled(text)) for loop in loops(f)}


def test_a_chunk_loop_only_where_a_row_is_longer_than_a_chunk() -> None:
    assert CHUNK in steps(nll(4, 16385))
    assert CHUNK not in steps(nll(4, 16384))
    assert CHUNK in steps(nll(4, "V"))


def test_small_work_never_meets_threads() -> None:
    assert "kina$" not in str(scheduled(nll(4, 8), threads=True))
    assert "@kina$run(" in str(scheduled(nll(1024, 50257), threads=True))
    assert "kina$" not in str(scheduled(nll(1024, 50257)))


def test_a_team_takes_what_it_needs_from_one_struct() -> None:
    """Values of the caller come through the pointer; constants are written where they are used."""
    module = scheduled(nll(1024, 50257), threads=True)
    (share,) = (op for op in module.ops if isinstance(op, pointers.RoutineOp))
    defined = {arg for block in share.body.blocks for arg in block.args}
    defined |= {result for op in share.walk() for result in op.results}
    assert all(operand in defined for op in share.walk() for operand in op.operands)
    loads = [op for op in share.walk() if isinstance(op, pointers.LoadOp)]
    (stored,) = (op for op in module.walk() if isinstance(op, pointers.StoreOp))
    assert [op.dereferenced_value.type for op in loads] == [stored.value.type]
    struct = stored.value.type
    assert isinstance(struct, pointers.StructType)
    assert all(isinstance(kind, pointers.PointerType) for kind in struct.types)


def test_run_time_sizes_choose_at_run_time() -> None:
    module = scheduled(nll("B", "V"), threads=True)
    name = kernels(module)[-1].sym_name.data
    calls = [op for op in module.walk() if isinstance(op, func.CallOp)]
    assert sum(call.callee.string_value() == name for call in calls) == 2


def test_no_more_threads_are_asked_for_than_there_are_rows() -> None:
    """One long row that is not worth pieces is a plain call."""
    main = str(scheduled(nll("B", 30000), threads=True)).partition("func.func private")[0]
    assert main.index("arith.minui") < main.index("@kina$run(")


def joins(text: str) -> int:
    """How many reductions are joined from pieces of a row."""
    return sum("$join" in f.sym_name.data for f in kernels(scheduled(text, threads=True)))


@pytest.mark.parametrize("rows", [1, 3, 255, "B"])
@pytest.mark.parametrize("size", [1 << 21, "V"])
def test_few_long_rows_may_go_by_pieces(rows: int | str, size: int | str) -> None:
    assert joins(nll(rows, size)) == 2
    assert joins(nll(rows, size, both=True)) == 2


@pytest.mark.parametrize(
    ("rows", "size"), [(1, 8), ("B", 8), ("B", 32767), (1, 32768), (256, 1 << 21), (256, "V")]
)
def test_short_or_many_rows_pay_nothing_for_pieces(rows: int | str, size: int | str) -> None:
    assert joins(nll(rows, size)) == 0


@pytest.mark.parametrize(
    ("width", "count"), [("8", 1), ("70", 1), ("W", 0), (str(64 * 256), 0), ("1", 1)]
)
def test_a_long_first_axis_goes_by_pieces(width: str, count: int) -> None:
    """All bands of a piece are done together; a width known only at run time is not cut."""
    text = (
        "let s = fn(x: tensor<F32, [N, {0}]>) -> tensor<F32, [{0}]> {{ x.reduce(op=sum, axis=0) }}"
    )
    assert joins(text.format(width)) == count


def test_an_interior_axis_is_done_in_bands() -> None:
    text = (
        "let s = fn(x: tensor<F32, [300, {w}]>) -> tensor<F32, [{w}]>"
        " {{ x.reduce(op=sum, axis=0) }}"
    )
    assert len(kernels(scheduled(text.format(w=64)))) == 1
    assert len(kernels(scheduled(text.format(w=100)))) == 2
    assert len(kernels(scheduled(text.format(w="W")))) == 3


@pytest.mark.parametrize("dims", ["1, 512, 1", "1, 4096, 1", "1, 4096, 64"])
@pytest.mark.parametrize("order", ["{0}, {1}", "{1}, {0}"])
def test_elements_beside_a_deep_axis_are_a_kernel_of_their_own(dims: str, order: str) -> None:
    """Before or after the reductions: in their kernel, a vector would be as long as the axis."""
    kept = dims.partition(", ")[0] + ", " + dims.rpartition(", ")[2]
    both = {
        f"tensor<F32, [{dims}]>": "x.softmax(axis=1)",
        f"tensor<I64, [{kept}]>": "x.reduce(op=argmax, axis=1)",
    }
    result, value = order.format(*both), order.format(*both.values())
    text = f"let f = fn(x: tensor<F32, [{dims}]>) -> ({result}) {{ ({value}) }}"
    for kernel in kernels(scheduled(text)):
        reduces = any(loop.results for loop in loops(kernel))
        written = [op for op in kernel.walk() if isinstance(op, math.FmaOp) and not carried(op)]
        assert not (reduces and written)


def carried(op: Operation) -> bool:
    """Whether the loop around an op carries a value: that of a reduction."""
    parent = op.parent_op()
    while not isinstance(parent, scf.ForOp):
        assert parent is not None
        parent = parent.parent_op()
    return bool(parent.results)


def test_sums_combine_as_a_halving_tree() -> None:
    """Each level adds the upper half of the lanes to the lower one."""
    (kernel,) = (f for f in kernels(scheduled(nll(4, 512))) if loops(f))
    halves: list[tuple[int, int]] = []
    for op in kernel.walk():
        sides = [side.owner for side in op.operands] if isinstance(op, arith.AddfOp) else []
        masks = [side.mask.get_values() for side in sides if isinstance(side, vector.ShuffleOp)]
        if masks:
            low, high = masks
            assert low + high == tuple(range(2 * len(low)))
            halves.append((len(low), len(high)))
    assert halves == [(half, half) for half in (32, 16, 8, 4, 2, 1)]


@pytest.mark.parametrize("step", ["let x = x + x", "let e = x.exp() in let x = e * e"])
def test_long_chains_are_one_kernel(step: str) -> None:
    """No recursion along a chain, and no walk over each of its 2^n paths."""
    count = 600 if "exp" not in step else 60
    body = " in ".join([step] * count)
    text = f"let f = fn(x: tensor<F32, [16]>) -> tensor<F32, [16]> {{ {body} in x }}"
    module = scheduled(text)
    assert len(kernels(module)) == 1


Fetched = tuple[int, int | None]
"""The level of cache, and how many elements ahead; None if that is known at run time."""


def fetches(module: ModuleOp) -> list[Fetched]:
    """What each load asks for: the nearest of its prefetches."""
    found: list[Fetched] = []
    for load in (op for op in module.walk() if isinstance(op, vector.LoadOp)):
        asked = [fetch for op in following(load) if (fetch := fetched(op, load)) is not None]
        found += asked[:1]
    return found


def following(load: vector.LoadOp) -> list[Operation]:
    """The ops between a load and the next."""
    ops: list[Operation] = []
    op = load.next_op
    while op is not None and not isinstance(op, vector.LoadOp):
        ops.append(op)
        op = op.next_op
    return ops


def fetched(op: Operation, load: vector.LoadOp) -> Fetched | None:
    """What a prefetch asks for, counted from the place of a load."""
    if "memref.prefetch" not in str(op):
        return None
    buffer, place = op.operands
    assert buffer is load.base
    level = op.properties["localityHint"]
    assert isinstance(level, IntegerAttr)
    ahead: int | None = 0
    if isinstance(place.owner, arith.SubiOp):  # one line of several steps
        place, within = place.owner.operands
        assert isinstance(within.owner, arith.RemUIOp)
        assert within.owner.operands[0] is place
    while place is not load.indices[0]:
        assert isinstance(place.owner, arith.AddiOp)
        place, more = place.owner.operands
        known = number(more)
        ahead = None if ahead is None or known is None else ahead + known
    return level.value.data, ahead


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (50257, [(2, 50257)]),
        ("V", [(2, None)]),
        (512, [(3, 512)]),
        (200, [(3, 600)]),
        (64, []),
        (1 << 20, []),
    ],
)
def test_rows_walked_twice_fetch_the_next(size: int | str, expected: list[Fetched]) -> None:
    """Only where a row is more than a vector, and still fits a core's cache.

    Rows of a length known at run time are also shared by pieces, which fetch nothing.
    """
    module = scheduled(nll(1024, size), threads=True)
    assert fetches(module) == expected


@pytest.mark.parametrize(
    ("dtype", "shape", "axis", "expected"),
    [
        ("F32", (64, 50257), 1, [(2, 2048)]),
        ("BF16", (128, 50257), 1, [(2, 4096)]),
        ("BF16", (64, 50257), 1, [(2, 4096)]),
        ("BF16", (40, 50257), 1, []),
        ("F32", (8, 50257), 1, []),
        ("F32", (50257, 64), 0, []),
    ],
)
def test_a_single_walk_of_much_is_fetched_ahead(
    dtype: str, shape: tuple[int, int], axis: int, expected: list[Fetched]
) -> None:
    """8 KB before it is read, if it has 2^21 elements or more; never bands of fibers."""
    module = scheduled(
        f"let f = fn(x: tensor<{dtype}, {list(shape)}>) -> tensor<{dtype}, [{shape[1 - axis]}]>"
        f" {{ x.reduce(op=max, axis={axis}) }}"
    )
    assert fetches(module) == expected


def test_kernels_never_take_the_name_of_a_function() -> None:
    text = "let {} = fn(x: tensor<F32, [N]>) -> tensor<F32, []> {{ x.reduce(op=sum, axis=0) }}"
    names = ["f", *(f"f_{number}" for number in range(3))]
    module = scheduled("\n".join(map(text.format, names)))
    assert len(kernels(module)) == len(names)
    assert len({f.sym_name.data for f in module.ops if isinstance(f, func.FuncOp)}) == 8


def exponentials(text: str) -> int:
    """The fused multiply-adds on vectors in the last kernel."""
    ops = kernels(scheduled(text))[-1].walk()
    return sum(isinstance(op, math.FmaOp) and isinstance(op.result.type, VectorType) for op in ops)


def test_the_end_of_a_row_is_done_by_the_same_code() -> None:
    """A row of 512 elements has no end."""
    whole = exponentials(nll(4, 512))
    assert whole > 0
    assert exponentials(nll(4, 500)) == whole
    assert exponentials(nll("B", "V")) == whole
