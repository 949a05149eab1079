"""Which results of 8 MB and more are written past the caches: the assembly of each function.

docs/schedule.md lists them. The sizes are those just at the limit, or known at run time.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from kina.backend.options import Options
from kina.backend.stages import emit
from kina.frontend.source import Source

STORES = {
    "x86-64-v2": r"\bmovnt(?:ps|pd|dq|i)\b",
    "x86-64-v3": r"\bvmovnt(?:ps|pd|dq)\b",
    "x86-64-v4": r"\bvmovnt(?:ps|pd|dq)\b",
    "aarch64": r"\bstnp\b",
}
LABEL = re.compile(r'^"?kina_(\w+?)(?:\$\w+)*"?:')


def streamed(program: str, target: str) -> Counter[str]:
    """How many stores past the caches stand in the code of each function."""
    # Names without a path: the source's is part of no label.
    assembly = emit(Source("t.kina", program), "asm", Options(target, threads=False))
    found: Counter[str] = Counter()
    name = ""
    for line in assembly.splitlines():
        if label := LABEL.match(line):
            name = label[1]
            found[name] += 0
        elif name and re.search(STORES[target], line):
            found[name] += 1
    return found


def function(name: str, body: str, kind: str, shape: str, result: str = "") -> str:
    taken = f"x: tensor<{kind}, {shape}>, y: tensor<{kind}, {shape}>"
    return f"let {name} = fn({taken}) -> tensor<{result or kind}, {shape}> {{ {body} }}"


def along(kind: str, axis: int, shape: str) -> str:
    return f"x.reduce_keep(op={kind}, axis={axis}).broadcast({shape})"


def of_rows(shape: str) -> dict[str, str]:
    """Results that read a value of their row."""
    largest, least, total, mean = (along(k, 1, shape) for k in ("max", "min", "sum", "mean"))
    return {
        "less_max": f"x - {largest}",
        "plus_min": f"x + {least}",
        "times_sum": f"x * {total}",
        "centred": f"(x - {mean}) * 2.0",
        "logs": "x.log_softmax(axis=1)",
        "probabilities": "x.softmax(axis=1)",
        "normed": f"(x - {mean}) / sqrt((x * x).reduce_keep(op=mean, axis=1)"
        f".broadcast({shape}) + 1.0)",
    }


ELEMENTWISE = {"doubled": "x + x", "power": "exp(x)", "product": "x * y", "negated": "-x"}
CASTS = [
    *(("I8", "I64"), ("I16", "I64"), ("I32", "I64"), ("Bool", "I64"), ("F32", "I64")),
    *(("I8", "I32"), ("I8", "F32"), ("Bool", "F32"), ("BF16", "F32"), ("F16", "F32")),
    *(("F32", "BF16"), ("F32", "F16"), ("I64", "I8"), ("F32", "F8E4M3"), ("I64", "Bool")),
]
BYTES = {"I64": 8, "I32": 4, "F32": 4, "F16": 2, "BF16": 2, "I8": 1, "F8E4M3": 1, "Bool": 1}
LARGE = 8 << 20


def rows_of(kind: str, length: int, size: int = LARGE) -> str:
    return f"[{size // BYTES[kind] // length}, {length}]"


def casts(size: int) -> str:
    """Casts with results of so many bytes."""
    return "\n".join(
        function(f"{source}_{to}", f"x.cast({to})", source, rows_of(to, 1024, size), to)
        for source, to in CASTS
    )


@pytest.mark.parametrize("target", STORES)
@pytest.mark.parametrize("kind", ["F32", "BF16"])
def test_results_of_eight_megabytes(kind: str, target: str) -> None:
    shape = rows_of(kind, 4096)
    bodies = ELEMENTWISE | of_rows(shape)
    program = "\n".join(function(name, body, kind, shape) for name, body in bodies.items())
    found = streamed(program, target)
    assert sorted(name for name, count in found.items() if count) == sorted(bodies)


@pytest.mark.parametrize("target", STORES)
def test_conversions(target: str) -> None:
    found = streamed(casts(LARGE), target)
    assert sorted(name for name, count in found.items() if count) == sorted(
        f"{source}_{to}" for source, to in CASTS
    )


def test_sizes_known_at_run_time() -> None:
    """One more way in the same code: the kernel counts the elements."""
    bodies = ELEMENTWISE | of_rows("[N, V]")
    program = "\n".join(function(name, body, "F32", "[N, V]") for name, body in bodies.items())
    found = streamed(program, "x86-64-v3")
    assert sorted(name for name, count in found.items() if count) == sorted(bodies)


def test_smaller_results_stay_in_the_caches() -> None:
    program = casts(LARGE // 2) + "\n" + function("small", "x + x", "F32", "[1023, 2048]")
    assert sum(streamed(program, "x86-64-v3").values()) == 0


@pytest.mark.parametrize(
    ("shape", "axis", "streams"),
    [
        ("[50000, 1024]", 1, True),
        ("[100000, 100]", 1, False),  # short rows that begin within lines
        ("[50000, 128]", 1, True),  # short rows of whole lines
        ("[1024, 50257]", 0, False),  # a band goes down the axis, in short stretches
        ("[1025, 50257]", 0, True),  # a deep axis: results are written in memory order
    ],
)
def test_rows_and_bands_of_whole_lines(shape: str, axis: int, streams: bool) -> None:
    body = f"x - {along('max', axis, shape)}"
    found = streamed(function("f", body, "F32", shape), "x86-64-v3")
    assert (found["f"] > 0) is streams


def test_what_is_moved_is_written_plainly() -> None:
    """Copies are left to libc, which knows what to do."""
    program = """
    let moved = fn(x: tensor<F32, [4096, 1024]>) -> tensor<F32, [1024, 4096]> {
      x.reshape([1024, 4096])
    }
    """
    found = streamed(program, "x86-64-v3")
    assert set(found) == {"moved"}
    assert sum(found.values()) == 0
