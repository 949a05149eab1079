"""What schedule-cpu forms: kernels, their calls, and the schedule beside them."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects import func, linalg, llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.linalg.attrs import IteratorType

from kina.backend import lowering
from kina.frontend.source import Source
from kina.passes.schedule_cpu import SCHEDULE, ScheduleCpu
from kina.universe import pass_getter

NLL = """let nll = fn(x: tensor<F32, [{rows}, {size}]>, t: tensor<I64, [{rows}]>)
  -> {result} {{ let p = x.log_softmax(axis=1) in {value} }}"""
LOSS = "-p.take_along_axis(t, axis=1)"
PASSES = (
    *("inline-calls", "transform-ad", "simplify-kina", "decompose-kina", "simplify-kina"),
    *("lower-kina", "export-c", "assert-to-status", "expand-math", "expand-small-floats"),
)


def scheduled(text: str, *, threads: bool = False) -> tuple[ModuleOp, str]:
    """The module after schedule-cpu, and the schedule."""
    module, _ = lowering.kina_module(Source("test.kina", text))
    for name in PASSES:
        options = {"fast": True} if name == "lower-kina" else {}
        pass_getter(name)()(**options).apply(Context(), module)
    ScheduleCpu(threads).apply(Context(), module)
    module.verify()
    schedule = module.attributes[SCHEDULE]
    assert isinstance(schedule, StringAttr)
    return module, schedule.data


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


@pytest.mark.parametrize("both", [False, True])
def test_loss_and_probabilities_are_one_kernel(both: bool) -> None:
    module, schedule = scheduled(nll(1024, 50257, both=both))
    _bounds, kernel = kernels(module)
    reductions = [
        op
        for op in kernel.walk()
        if isinstance(op, linalg.ops.GenericOp)
        and any(kind.data is IteratorType.REDUCTION for kind in op.iterator_types)
    ]
    assert len(reductions) == 2
    assert schedule.count("structured.fuse ") == 1 + both
    assert schedule.count("loop.fuse_sibling") == both


def test_a_chunk_loop_only_where_a_row_is_longer_than_a_chunk() -> None:
    assert "tile_sizes [16384]" in scheduled(nll(4, 16385))[1]
    assert "tile_sizes [16384]" not in scheduled(nll(4, 16384))[1]
    assert "tile_sizes [16384]" in scheduled(nll(4, "V"))[1]


def test_small_work_never_meets_threads() -> None:
    assert "kina$" not in str(scheduled(nll(4, 8), threads=True)[0])
    assert "@kina$run(" in str(scheduled(nll(1024, 50257), threads=True)[0])
    assert "kina$" not in str(scheduled(nll(1024, 50257))[0])


def test_a_team_takes_what_it_needs_from_one_struct() -> None:
    """Values of the caller come through the pointer; constants are written where they are used."""
    module, _ = scheduled(nll(1024, 50257), threads=True)
    (share,) = (op for op in module.ops if isinstance(op, llvm.FuncOp))
    defined = {arg for block in share.body.blocks for arg in block.args}
    defined |= {result for op in share.walk() for result in op.results}
    assert all(operand in defined for op in share.walk() for operand in op.operands)
    loads = [op for op in share.walk() if isinstance(op, llvm.LoadOp)]
    (stored,) = (op for op in module.walk() if isinstance(op, llvm.StoreOp))
    assert [op.dereferenced_value.type for op in loads] == [stored.value.type]
    struct = stored.value.type
    assert isinstance(struct, llvm.LLVMStructType)
    assert all(isinstance(kind, llvm.LLVMPointerType) for kind in struct.types)


def test_run_time_sizes_choose_at_run_time() -> None:
    module, _ = scheduled(nll("B", "V"), threads=True)
    name = kernels(module)[-1].sym_name.data
    calls = [op for op in module.walk() if isinstance(op, func.CallOp)]
    assert sum(call.callee.string_value() == name for call in calls) == 2


def test_no_more_threads_are_asked_for_than_there_are_rows() -> None:
    """One long row that is not worth pieces is a plain call."""
    main = str(scheduled(nll("B", 30000), threads=True)[0]).partition("func.func private")[0]
    assert main.index("arith.minui") < main.index("@kina$run(")


def reduces(op: linalg.ops.GenericOp) -> bool:
    """Whether it is a reduction."""
    return any(kind.data is IteratorType.REDUCTION for kind in op.iterator_types)


def joins(text: str) -> int:
    """How many reductions are joined from pieces of a row."""
    return sum("$join" in f.sym_name.data for f in kernels(scheduled(text, threads=True)[0]))


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
    assert len(kernels(scheduled(text.format(w=64))[0])) == 1
    assert len(kernels(scheduled(text.format(w=100))[0])) == 2
    assert len(kernels(scheduled(text.format(w="W"))[0])) == 3


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
    for kernel in kernels(scheduled(text)[0]):
        ops = [op for op in kernel.walk() if isinstance(op, linalg.ops.GenericOp)]
        exponentials = [op for op in ops if not reduces(op) and "math.fma" in str(op)]
        assert not exponentials or not any(map(reduces, ops))


def test_sums_combine_as_a_halving_tree() -> None:
    schedule = scheduled(nll(4, 512))[1]
    for half in (32, 16, 8, 4, 2):
        assert f"split_factor = {half}," in schedule


@pytest.mark.parametrize("step", ["let x = x + x", "let e = x.exp() in let x = e * e"])
def test_long_chains_are_one_kernel(step: str) -> None:
    """No recursion along a chain, and no walk over each of its 2^n paths."""
    count = 600 if "exp" not in step else 60
    body = " in ".join([step] * count)
    text = f"let f = fn(x: tensor<F32, [16]>) -> tensor<F32, [16]> {{ {body} in x }}"
    module, _ = scheduled(text)
    assert len(kernels(module)) == 1


@pytest.mark.parametrize(
    ("size", "distance"),
    [
        (50257, "2:50257"),
        ("V", "3:%2"),
        (512, "2:512"),
        (200, "2:600"),
        (64, None),
        (1 << 20, None),
    ],
)
def test_rows_walked_twice_fetch_the_next(size: int | str, distance: str | None) -> None:
    """Only where a row is more than a vector, and still fits a core's cache."""
    module, _ = scheduled(nll(1024, size), threads=True)
    asks = [str(f.attributes.get("passthrough", "")) for f in kernels(module)]
    asks = [ask for ask in asks if "kina-next-row" in ask]
    assert len(asks) == (distance is not None)
    assert distance is None or f'"{distance}"' in asks[0]


@pytest.mark.parametrize(
    ("dtype", "shape", "axis", "distance"),
    [
        ("F32", (64, 50257), 1, "0:2048"),
        ("BF16", (64, 50257), 1, "0:4096"),
        ("F32", (8, 50257), 1, None),
        ("F32", (50257, 64), 0, None),
    ],
)
def test_a_single_walk_of_much_is_fetched_ahead(
    dtype: str, shape: tuple[int, int], axis: int, distance: str | None
) -> None:
    """8 KB before it is read, if it does not fit a core's cache; never bands of fibers."""
    module, _ = scheduled(
        f"let f = fn(x: tensor<{dtype}, {list(shape)}>) -> tensor<{dtype}, [{shape[1 - axis]}]>"
        f" {{ x.reduce(op=max, axis={axis}) }}"
    )
    asks = [f.attributes["passthrough"] for f in kernels(module) if "passthrough" in f.attributes]
    assert len(asks) == (distance is not None)
    assert distance is None or f'["kina-ahead", "{distance}"]' in str(asks[0])


def test_kernels_never_take_the_name_of_a_function() -> None:
    text = "let {} = fn(x: tensor<F32, [N]>) -> tensor<F32, []> {{ x.reduce(op=sum, axis=0) }}"
    names = ["f", *(f"f_{number}" for number in range(3))]
    module, _ = scheduled("\n".join(map(text.format, names)))
    assert len(kernels(module)) == len(names)
    assert len({f.sym_name.data for f in module.ops if isinstance(f, func.FuncOp)}) == 8
