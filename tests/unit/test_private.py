"""Functions that a program keeps to itself: neither exported, nor compiled alone, nor in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kina
from kina.backend.compilation import checked
from kina.backend.exports import chosen
from kina.backend.lowering import Lowering
from kina.backend.options import Options
from kina.backend.stages import emit
from kina.frontend.check import check
from kina.frontend.source import Source

PROGRAM = """\
let _square = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x * x }
let _total = fn(x: tensor<F32, [N]>) -> tensor<F32, []> { _square(x).reduce(op=sum, axis=0) }
let _dtotal = reverseMode(_total)
let loss = fn(x: tensor<F32, [N]>) -> tensor<F32, []> { _total(x) }
let slope = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {
  let (_unused, gradient) = _dtotal(x) in
  gradient
}
"""
X = np.float32([1, 2, 3])


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(PROGRAM)


def test_what_private_functions_are_for(module: kina.Module) -> None:
    assert module.loss(X) == module.loss.reference(X) == 14
    np.testing.assert_array_equal(module.slope(X), [2, 4, 6])
    np.testing.assert_array_equal(module.slope.reference(X), [2, 4, 6])


def test_python_does_not_see_them(module: kina.Module) -> None:
    assert list(module) == ["loss", "slope"]
    assert "_total" not in dir(module)
    wanted = r"no function '_total' .*leading underscore makes a function private.* loss, slope"
    with pytest.raises(AttributeError, match=wanted):
        _ = module._total
    with pytest.raises(KeyError, match=wanted):
        module["_total"]


def symbols(library: Path) -> set[str]:
    """Every defined symbol, the local ones included."""
    command = ["nm", "--defined-only", library]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in shown.splitlines()}


def test_they_are_not_compiled_on_their_own(module: kina.Module) -> None:
    found = symbols(module.library_path)
    assert {"kina_loss", "kina_slope"} <= found
    assert not any("total" in name or "square" in name for name in found)


def test_ir_says_so() -> None:
    ir = emit(Source("t.kina", PROGRAM), "kina")
    assert "func.func private @_square(" in ir
    assert "func.func @loss(" in ir


def test_a_program_of_private_functions_is_an_error() -> None:
    lines = PROGRAM.splitlines()[:3]
    with pytest.raises(kina.KinaTypeError) as raised:
        check(Source("t.kina", "\n".join(lines)))
    (problem,) = raised.value.diagnostics
    assert problem.message == "every function is private, so the program has nothing to call"
    assert problem.span is not None
    assert problem.span.line == 3
    assert problem.notes[0].message == "a function whose name has no leading underscore is exported"


def test_only_chosen_functions_are_compiled() -> None:
    program = checked(Source("t.kina", PROGRAM), Options(functions=("loss",)))
    assert list(program.exported) == ["loss"]
    assert list(chosen(program, ()).exported) == ["loss"]
    (part,) = Lowering(program).parts(Options())
    assert [function.symbol for function in part.functions] == ["kina_loss"]


@pytest.mark.parametrize(
    ("name", "message", "advice"),
    [
        ("los", "t.kina has no such function", "did you mean `loss`?"),
        ("zzz", "t.kina has no such function", "it has: loss, slope"),
        ("_total", "the function is private", "a leading underscore makes it so"),
        ("_zzz", "t.kina has no such function", "it has: loss, slope"),
    ],
)
def test_what_cannot_be_chosen(name: str, message: str, advice: str) -> None:
    with pytest.raises(kina.KinaValueError) as raised:
        checked(Source("t.kina", PROGRAM), Options(functions=(name,)))
    assert str(raised.value).startswith(f"--function {name}: {message}\n  help: {advice}")


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "kina.cli.main", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_command_line(tmp_path: Path) -> None:
    program, library = tmp_path / "t.kina", tmp_path / "t.so"
    program.write_text(PROGRAM)
    shown = command("check", program).stdout
    assert "  _square(x: tensor<F32, [N]>) -> tensor<F32, [N]>  (private)\n" in shown
    assert "  loss(x: tensor<F32, [N]>) -> tensor<F32, []>\n" in shown
    done = command("run", program, "--fn", "_total")
    assert done.returncode == 1
    assert "no function '_total' in this program (a leading underscore makes" in done.stderr
    assert command("run", program, "--size", "N=3").stdout.startswith("slope(")
    target = ("--target", "native")
    assert command("build", program, "-o", library, "--function", "loss", *target).returncode == 0
    assert "kina_loss" in symbols(library)
    assert not any("slope" in name for name in symbols(library))
    assert "kina_slope" not in library.with_suffix(".h").read_text()
