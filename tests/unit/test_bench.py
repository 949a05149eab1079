"""`kina bench`, and the harness of `benchmarks/`: never times, always what is said about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from benchmarks import conductor, plot, report, workloads
from benchmarks.main import main as run_benchmarks
from benchmarks.peers import PEERS
from benchmarks.processes import WorkerDied, WorkerProcess
from benchmarks.results import Memory, Missing, Results, Timing
from benchmarks.workloads import WORKLOADS, Workload
from kina.arrays import numpy_dtype
from kina.cli import memory_limit, timing
from kina.cli.main import main
from kina.frontend.check import check
from kina.frontend.source import Source

SMALL = Workload("nll", (8, 128, 512))
TINY = Workload("nll", (1, 4, 8))
ADD = "let f = fn(x: tensor<F32, [N]>) -> (tensor<F32, [N]>, tensor<F32, [N]>) { (x + x, -x) }"


def kina(*arguments: str | Path) -> tuple[object, str, str]:
    output, errors = StringIO(), StringIO()
    with redirect_stdout(output), redirect_stderr(errors), pytest.raises(SystemExit) as leaving:
        main([str(argument) for argument in arguments])
    return leaving.value.code, output.getvalue(), errors.getvalue()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "add.kina"
    path.write_text(ADD)
    return path


def test_bench_of_a_small_function(program: Path) -> None:
    status, output, errors = kina("bench", program, "--size", "N=10", "--repeat", "2")
    assert (status, errors) == (0, "")
    assert "40 bytes in, 80 bytes out" in output
    assert "the call takes the time, not memory" in output
    assert "memory limit" not in output
    assert "out=" not in output
    assert "Largest difference from the reference: 0\n" in output


@pytest.mark.parametrize(
    ("variables", "threads"),
    [
        ({"OMP_NUM_THREADS": "4,2"}, "4 threads"),
        ({"KINA_NUM_THREADS": "1", "OMP_NUM_THREADS": "3"}, "1 thread"),
    ],
)
def test_bench_takes_the_threads_of_the_environment(
    program: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], threads: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    status, output, errors = kina("bench", program, "--size", "N=10", "--repeat", "1")
    assert (status, errors) == (0, "")
    assert f"out; {threads}; medians" in output


def test_bench_of_a_large_function(program: Path) -> None:
    status, output, errors = kina(
        "bench", program, "--size", "N=500000", "--repeat", "1", "--threads", "1"
    )
    assert (status, errors) == (0, "")
    assert "2.00 MB in, 4.00 MB out; 1 thread; medians of 1\n" in output
    table = {line[2:18].strip() for line in output.splitlines() if line.startswith("  ")}
    assert table >= {"Kina", "Kina, out=", "memory limit", "NumPy reference"}
    assert output.count(" x limit") == 2
    assert "the 6.00 MB" in output


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--repeat", "0"), "--repeat 0: expected at least 1"),
        (("--threads", "0"), "the count is 0, expected at least 1"),
        (("--fn", "g"), "no function 'g'"),
        (("--size", "M=3"), "no 'M' here"),
    ],
)
def test_bench_refuses(program: Path, option: tuple[str, str], said: str) -> None:
    status, output, errors = kina("bench", program, *option)
    assert status == 1
    assert said in errors
    assert errors.count("error: ") == 1
    assert "Traceback" not in output + errors


@pytest.mark.parametrize(("read", "written"), [(4096, 4096), (8192, 0), (0, 8192), (8192, 400)])
@pytest.mark.parametrize("threads", [1, 3])
def test_mover_moves_all_of_it(
    monkeypatch: pytest.MonkeyPatch, read: int, written: int, threads: int
) -> None:
    moved: list[tuple[int, int]] = []
    move = memory_limit._move

    def watched(part: memory_limit._Part) -> None:
        source, copy, only_read, only_written = part
        move(part)
        assert (copy == 1).all()
        assert (only_written == 0).all()
        moved.append((source.nbytes + only_read.nbytes, copy.nbytes + only_written.nbytes))

    monkeypatch.setattr(memory_limit, "_move", watched)
    memory_limit.mover(read, written, threads)()
    assert len(moved) == threads
    assert tuple(map(sum, zip(*moved, strict=True))) == (read, written)


def test_a_sample_is_the_mean_of_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(0.0, 6.0)
    monkeypatch.setattr(timing, "perf_counter", lambda: next(clock))
    calls: list[None] = []
    assert timing.sample(lambda: calls.append(None), 3) == 2.0
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.50 s"), (0.0135, "13.5 ms"), (1.35e-4, "135 µs"), (9e-10, "0.90 ns")],
)
def test_duration(seconds: float, text: str) -> None:
    assert timing.duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (36_000, "36.0 KB"), (205_852_672, "206 MB")]
)
def test_size(count: int, text: str) -> None:
    assert timing.size(count) == text


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_programs_take_the_inputs(workload: Workload) -> None:
    """Same parameters, dtypes and sizes; the symbolic program is the same function."""
    fixed = check(Source.read(workload.program)).signatures[workload.op]
    symbolic = check(Source.read(workload.symbolic_program)).signatures[workload.op]
    small = Workload(workload.op, (2, 3, 4), workload.dtype, workload.axis)
    inputs = workloads.make_inputs(small)
    assert (
        [p.name for p in fixed.parameters] == list(inputs) == [p.name for p in symbolic.parameters]
    )
    logits = fixed.parameters[0].type
    assert logits.dims == workload.shape
    for parameter, same, array in zip(
        fixed.parameters, symbolic.parameters, inputs.values(), strict=True
    ):
        assert parameter.type.dtype == same.type.dtype
        assert numpy_dtype(parameter.type.dtype) == array.dtype
        assert parameter.type.rank == same.type.rank == array.ndim
    assert len(symbolic.symbols) == 3
    assert len({w.name for w in WORKLOADS}) == len(WORKLOADS)


def test_error_sees_a_wrong_row() -> None:
    workload = Workload("argmax", (2, 3, 4))
    inputs = workloads.make_inputs(workload)
    right = inputs["logits"].argmax(axis=2)
    assert workloads.error(workload, inputs, right) == 0
    right[1, 2] += 1
    assert workloads.error(workload, inputs, right) == pytest.approx(1 / 6)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("dtype", ["F32", "BF16"])
def test_error_of_log_softmax(axis: int, dtype: str) -> None:
    workload = Workload("log_softmax", (2, 3, 4), dtype, axis)
    inputs = workloads.make_inputs(workload)
    wide = inputs["logits"].astype(np.float64)
    right = wide - np.log(np.exp(wide).sum(axis=axis, keepdims=True))
    assert workloads.error(workload, inputs, right) < 1e-12
    right[1, 2, 3] += 0.25
    assert workloads.error(workload, inputs, right) == pytest.approx(0.25)


def test_necessary_bytes() -> None:
    elements = 8 * 128 * 512
    assert (SMALL.bytes_read, SMALL.bytes_written) == (elements * 4, 0)
    bf16 = Workload("log_softmax", (8, 128, 512), "BF16")
    assert (bf16.bytes_read, bf16.bytes_written) == (elements * 2, elements * 2)
    assert Workload("sample", (8, 128, 512)).bytes_read == elements * 8


@pytest.fixture
def results() -> Results:
    """Two numbers of threads; Kina could not run the second workload."""
    timings = [
        Timing(SMALL.name, threads, peer, variant, [seconds / threads] * 3, error)
        for threads in (1, 2)
        for peer, variant, seconds, error in (
            ("limit", "read np.max", 1e-3, None),
            ("limit", "read loop", 1.25e-3, None),
            ("kina", "kina", 2e-3, 1e-7),
            ("numpy", "numpy", 8e-3, 2e-7),
            ("torch", "torch", 4e-3, 0.0),
            ("numba", "numba", 3e-3, 0.0),
        )
    ]
    timings.append(Timing(TINY.name, 1, "numpy", "numpy", [1.1e-5], 0.0))
    missing = [Missing(TINY.name, 1, "kina", "no | code"), Missing("", 0, "jax", "jax is absent")]
    return Results(
        {"cpu": "c"},
        timings,
        missing,
        [Memory(SMALL.name, "kina", 4096), Memory(SMALL.name, "jax", None)],
        {"x": 36000},
    )


def test_report(results: Results) -> None:
    text = report.markdown(results)
    assert (
        "| NLL [8, 128, 512] F32 | 1.00 ms / 500 µs | 2.00 ms (2.00) / 1.00 ms (2.00) "
        "| torch: 4.00 ms (4.00) / 2.00 ms (4.00) | 3.00 ms (3.00) / 1.50 ms (3.00) "
        "| **2.00x / 2.00x** |"
    ) in text
    assert "| NLL [1, 4, 8] F32 | – / – | not available: no \\| code | numpy: 11.0 µs / – |" in text
    assert "| kina | not available: no \\| code |" in text
    assert "| **kina** | 2.00 ms | 2.00 | 1.00 ms | 2.00 | 1e-07 |" in text
    assert "| NLL [8, 128, 512] F32 | kina | 4.10 KB |" in text
    assert "| NLL [8, 128, 512] F32 | jax | not measured |" in text
    assert "- jax: not run, jax is absent" in text


def test_report_tables_have_one_width_each(results: Results) -> None:
    for table in _tables(report.markdown(results)):
        assert len({line.replace("\\|", "").count("|") for line in table}) == 1, table


def _tables(text: str) -> Iterator[list[str]]:
    table: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            table.append(line)
        elif table:
            yield table
            table = []


@pytest.mark.skipif(not plot.available(), reason="Matplotlib is not installed")
def test_plot(results: Results, tmp_path: Path) -> None:
    plot.draw(results, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_worker_that_fails_says_why(tmp_path: Path) -> None:
    worker = WorkerProcess("numpy", 1, tmp_path)
    try:
        with pytest.raises(WorkerDied, match="KeyError: 'no such workload'"):
            worker.ask({"do": "prepare", "workload": "no such workload"})
    finally:
        worker.close()


def test_conductor_goes_on_after_a_failure(tmp_path: Path) -> None:
    """The inputs of the first workload are damaged; the worker is replaced for the second."""
    results = Results()
    (tmp_path / SMALL.name).mkdir()
    with conductor.Conductor(["numpy"], 1, tmp_path, results) as running:
        running.run(SMALL, 1, 0.0)
        running.run(TINY, 2, 0.0)
    (lost,) = results.missing
    assert (lost.workload, lost.peer) == (SMALL.name, "numpy")
    assert "FileNotFoundError" in lost.reason
    (timing,) = results.timings
    assert (timing.workload, timing.variant) == (TINY.name, "numpy")
    assert len(timing.seconds) >= 4
    assert timing.error is not None
    assert timing.error < 1e-6


def test_an_absent_peer_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.peers.find_spec", {"numpy": object()}.get)
    results = Results()
    assert conductor.installed(["numpy", "torch"], results) == ["numpy"]
    assert results.missing == [Missing("", 0, "torch", "torch is not installed")]


def test_one_command_end_to_end(tmp_path: Path) -> None:
    """Kina, NumPy and the limit on one workload; the page in docs stays as it is."""
    with redirect_stdout(StringIO()) as output:
        run_benchmarks(
            [
                "--quick",
                "--only",
                SMALL.name,
                "--peers",
                "kina,numpy",
                "--threads",
                "1",
                "--output",
                str(tmp_path),
            ]
        )
    written = (tmp_path / "latest.md").read_text()
    assert written in output.getvalue()
    for variant in ("**kina**", "**kina symbolic**", "numpy", "read np.max"):
        assert f"| {variant} | " in written
    assert "not available" not in written
    assert "Kina, library of NLL, one thread" in written
    assert (tmp_path / "latest.json").stat().st_size > 0


def test_every_peer_has_a_module() -> None:
    folder = Path(conductor.__file__).parent / "peers"
    for peer in PEERS.values():
        assert (folder / f"{peer.module}.py").is_file()
