"""Records: what a call takes for one, what it gives, and what it says of one that does not fit."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import kina
from kina.errors import KinaError, KinaTypeError, KinaValueError

PROGRAM = """\
type Attention = { wq: tensor<F32, [D, D]>, lambda: tensor<F32, [D]> }
type Layer = { attention: Attention, norm: tensor<F32, [D]> }

let loss = fn(p: Layer, x: tensor<F32, [D]>) -> tensor<F32, []> {
  let rows = p.attention.wq.reduce(op=sum, axis=0) in
  (p.norm * p.norm * x + rows * p.attention.lambda).reduce(op=sum, axis=0)
}
let dloss = reverseMode(loss, wrt=[p])
let dpart = reverseMode(loss, wrt=[p.attention.lambda, x])
let step = fn(p: Layer, x: tensor<F32, [D]>) -> (Layer, tensor<F32, []>) {
  let (value, d) = dloss(p, x) in
  let attention = Attention(wq=p.attention.wq, lambda=d.attention.lambda) in
  (Layer(norm=p.norm - d.norm, attention=attention), value)
}
let wide = fn(p: Attention<D=2 * H>, h: tensor<F32, [H]>) -> Attention<D=2 * H> { p }
type Attentions = { lambda: tensor<F32, [L, D]>, wq: tensor<F32, [L, D, D]> }
type Layers = { norm: tensor<F32, [L, D]>, attention: Attentions }
let _layer = fn(x: tensor<F32, [D]>, p: Layer, q: Attention) -> tensor<F32, [D]> {
  x * p.norm + p.attention.lambda + (p.attention.wq + q.wq).reduce(op=sum, axis=0)
}
let folded = fn(x: tensor<F32, [D]>, p: Layers, q: Attention) -> tensor<F32, [D]> {
  fold(_layer, x, over=[p], with=[q])
}
let dfolded = reverseMode(folded, wrt=[p])
"""
X = np.float32([1, 2, 3])
WQ, LAMBDA, NORM = np.eye(3, dtype=np.float32), np.float32([1, 0, 2]), np.float32([3, 2, 1])
LAYER = {"attention": {"wq": WQ, "lambda": LAMBDA}, "norm": NORM}
LOSS = 9 + 8 + 3 + 1 + 2


@dataclass
class Layer:
    """The fields in another order."""

    norm: Any
    attention: Any


class Attention(NamedTuple):
    """The keyword with its `_`, and the fields in another order."""

    lambda_: Any
    wq: Any


class Other(NamedTuple):
    """One field of the record, and one that it has not."""

    norm: Any
    more: Any


TWO = Other(NORM, NORM)


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(PROGRAM)


def test_any_object_with_the_fields_is_a_record(module: kina.Module) -> None:
    attention = Attention(LAMBDA, WQ)
    for given in (
        LAYER,
        Layer(NORM, attention),
        Layer(NORM, LAYER["attention"]),
        SimpleNamespace(norm=NORM, attention=attention),
        module.step(LAYER, X)[0]._replace(norm=NORM, attention=attention),
    ):
        assert module.loss(given, X) == module.loss(x=X, p=given) == LOSS
        assert module.loss.reference(given, X) == LOSS


def test_fields_of_a_folded_record_go_by_their_names(module: kina.Module) -> None:
    """They stand in another order in the record of stacks, and nested ones do as well."""
    stacks = {"attention": {"wq": np.stack([WQ, 2 * WQ]), "lambda": np.stack([LAMBDA, X])}}
    stacks |= {"norm": np.stack([NORM, 2 * NORM])}
    expected = X
    for norm, wq, added in zip(
        stacks["norm"], stacks["attention"]["wq"], stacks["attention"]["lambda"], strict=True
    ):
        expected = expected * norm + added + (wq + WQ).sum(0)
    given = (X, stacks, LAYER["attention"])
    for function in (module.folded, module.folded.reference):
        assert function(*given).tolist() == expected.tolist()
    _, slope = module.dfolded(*given, np.ones(3, np.float32))
    assert slope.attention._fields == ("lambda_", "wq")
    assert slope.attention.lambda_.tolist() == [(2 * NORM).tolist(), [1, 1, 1]]
    assert slope.attention.wq[1].tolist() == np.ones((3, 3)).tolist()


@pytest.mark.parametrize(
    ("count", "field", "message"),
    [
        (30, "a: {}, b: {}", "a record holds at most 10000 tensors, R14 has 16384"),
        (400, "a: {}", "records nest at most 64 deep, R64 is one deeper"),
        (30, "a: {}<D=D * D>", "at most 64 symbols"),
        (30, "a: {}<D=D * D + 1>", "cannot have these sizes"),
        (30, "a: {}<D=9000000000 * D>", "a coefficient of a dimension is at most"),
    ],
)
def test_records_made_of_records_end(count: int, field: str, message: str) -> None:
    """Each twice, or larger than the last: nothing grows with the number of all of them."""
    lines = ["type R0 = { a: tensor<F32, [D]> }"]
    lines += [f"type R{i} = {{ {field.replace('{}', f'R{i - 1}')} }}" for i in range(1, count)]
    lines += [f"let f = fn(p: R{count - 1}) -> R{count - 1} {{ p }}"]
    with pytest.raises(KinaTypeError, match=message):
        kina.compile("\n".join(lines))


def test_results_are_named_tuples(module: kina.Module) -> None:
    value, gradient = module.dloss(LAYER, X)
    assert value == LOSS
    np.testing.assert_array_equal(gradient.norm, 2 * NORM * X)
    np.testing.assert_array_equal(gradient.attention.wq, np.tile(LAMBDA, (3, 1)))
    np.testing.assert_array_equal(gradient.attention.lambda_, WQ.sum(axis=0))
    again = pickle.loads(pickle.dumps(gradient))
    assert type(again) is type(gradient)
    assert again._fields == ("attention", "norm")
    expected = module.dloss.reference(LAYER, X)[1]
    np.testing.assert_array_equal(expected.norm, gradient.norm)
    _, part, dx = module.dpart(LAYER, X)
    np.testing.assert_array_equal(part, gradient.attention.lambda_)
    np.testing.assert_array_equal(dx, NORM * NORM)


TENSOR = "tensor<F32, [1]>"
WORDS = ("class", "class_", "_x", "x_", "lambda", "None", "count", "index", "self", "_", "_1")
KEYWORDS = f"""
type import = {{ {", ".join(f"{word}: {TENSOR}" for word in WORDS)} }}
type _and = {{ class: import, is: {TENSOR} }}
let def = fn(if: import, from: _and) -> (import, _and) {{ (if, from) }}
"""


def test_words_of_python_are_names() -> None:
    """Of records, fields, functions and parameters; a name that is taken gets one `_` more."""
    function = kina.compile(KEYWORDS, threads=False)["def"]
    given = {word: np.float32([number]) for number, word in enumerate(WORDS)}
    outer = {"class": given, "is": given["_x"]}
    inner, around = function(given, outer)
    assert inner._fields == (
        *("class__", "class_", "x__", "x_", "lambda_", "None_", "count", "index", "self"),
        *("field_", "field_1"),
    )
    assert type(inner).__name__ == "import_"
    assert [float(value[0]) for value in inner] == list(range(len(WORDS)))
    assert around._fields == ("class_", "is_")
    again = pickle.loads(pickle.dumps(around))
    for first in (given, inner, inner._asdict(), SimpleNamespace(**inner._asdict())):
        for second in (outer, around, again, around._asdict(), SimpleNamespace(**outer)):
            result, _ = function(**{"from": second, "if": first})
            assert result._asdict() == inner._asdict()
    with pytest.raises(KinaTypeError, match=r"'from' misses field 'is' of _and and has .* 'was'"):
        function(given, {"class": inner, "was": inner.class_})


def test_a_result_into_a_record(module: kina.Module) -> None:
    norm, value = np.empty(3, np.float32), np.empty((), np.float32)
    stepped, returned = module.step(LAYER, X, out=({"attention": None, "norm": norm}, value))
    assert stepped.norm is norm
    assert returned is value
    np.testing.assert_array_equal(norm, NORM - 2 * NORM * X)
    again, _ = module.step(stepped, X, out=None)
    assert again.norm is not norm


def test_the_sizes_of_a_record(module: kina.Module) -> None:
    four = {"wq": np.ones((4, 4), np.float32), "lambda": np.ones(4, np.float32)}
    assert module.wide(four, np.ones(2, np.float32)).wq.shape == (4, 4)
    with pytest.raises(KinaValueError, match=r"2 \* H"):
        module.wide(four, np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"norm": NORM}, "loss: parameter 'p' misses field 'attention' of Layer"),
        ({**LAYER, "z": X}, "loss: parameter 'p' has a field 'z' that Layer has not"),
        (
            Other(NORM, NORM),
            "misses field 'attention' of Layer and has a field 'more' that Layer has not",
        ),
        ({**LAYER, "attention": X}, "'p.attention': expected a record Attention, got ndarray"),
        ({**LAYER, "attention": {"wq": WQ}}, "'p.attention' misses field 'lambda'"),
        ({**LAYER, "norm": X[:2]}, "'D' is 3 in parameter 'p.attention.wq' and 2 in .*'p.norm'"),
        ({**LAYER, "norm": WQ}, r"'p.norm': expected shape \[D\], got \[3, 3\]"),
        ({**LAYER, "norm": [1.0]}, "'p.norm': expected an array, got list"),
        ({**LAYER, "norm": X.astype(float)}, "'p.norm': expected dtype float32"),
        ((WQ, LAMBDA, NORM), "'p': expected a record Layer, got tuple"),
        (None, "'p': expected a record Layer, got NoneType"),
        (X, "'p': expected a record Layer, got ndarray"),
    ],
)
def test_what_does_not_fit_is_one_error(module: kina.Module, given: object, message: str) -> None:
    for call in (module.loss, module.loss.reference):
        with pytest.raises(KinaError, match=message):
            call(given, X)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (X, "out: expected a tuple of 2, got ndarray"),
        ((None,), "out: expected a tuple of 2, got a tuple of 1"),
        (({"norm": X}, None), r"out\[0\] misses field 'attention' of Layer"),
        ((LAYER, np.empty(3, np.float32)), r"out\[1\]: expected shape \[\], got \[3\]"),
        (({"attention": None, "norm": X[:2]}, None), r"out\[0\].norm: expected shape \[3\]"),
        ((LAYER, None), r"out\[0\].attention.wq overlaps parameter 'p.attention.wq'"),
    ],
)
def test_outputs_that_do_not_fit(module: kina.Module, out: object, message: str) -> None:
    with pytest.raises((KinaTypeError, KinaValueError), match=message):
        module.step(LAYER, X, out=out)


C_PROGRAM = """\
#include "layer.h"
#include <stdio.h>
int main(void) {
    float x[] = {1, 2, 3}, wq[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, lambda[] = {1, 0, 2};
    float norm[] = {3, 2, 1}, dwq[9], dlambda[3], dnorm[3], value;
    kina_Layer p = {{wq, lambda}, norm};
    kina_Layer_out d = {{dwq, dlambda}, dnorm};
    int status = kina_dloss(3, &p, x, &value, &d);
    printf("%s %g %g %g\\n", kina_dloss_message(status), value, d.norm[1], dwq[2]);
    return status;
}
"""


@pytest.mark.parametrize("compiler", [("cc", "-std=c99", "-pedantic"), ("c++", "-xc++")])
def test_records_are_structs_in_c(compiler: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "layer.kina").write_text(PROGRAM)
    (tmp_path / "main.c").write_text(C_PROGRAM)
    build = [sys.executable, "-m", "kina.cli.main", "build", "layer.kina", "-o", "layer.o"]
    subprocess.run([*build, "--target", "native"], check=True, cwd=tmp_path, capture_output=True)
    command = [*compiler, "-Wall", "-Wextra", "-Werror", "main.c", "-xnone", "layer.o", "-pthread"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "a.out"], capture_output=True, text=True, check=True)
    assert done.stdout == f"ok {LOSS} 8 2\n"


def test_the_command_line_names_fields(tmp_path: Path) -> None:
    (tmp_path / "layer.kina").write_text(PROGRAM)
    command = [sys.executable, "-m", "kina.cli.main", "run", "layer.kina", "--fn", "step"]
    options = ["--size", "D=2", "--arg", "p.norm=3", "--arg", "x=1", "--verify"]
    done = subprocess.run(
        [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "p.attention.lambda: F32 [2], random:0" in done.stdout
    assert "[-3. -3.]" in done.stdout
