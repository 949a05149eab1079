"""kina IR from a typed program: types, places and names that a FileCheck test cannot see well."""

from io import BytesIO

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from kina.errors import KinaSyntaxError, KinaTypeError
from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.source import Source
from kina.frontend.xdsl_frontend import KinaFrontend, ProgramError

TEXT = """let nll = fn(
  logits: tensor<F32, [1, 4, 8]>,
  targets: tensor<I64, [1, 4]>
) -> tensor<F32, [1, 4]> {
  let logp = logits
    .log_softmax(axis=2) in
  -logp.take_along_axis(targets, axis=2) * 2.0
}
let both = fn(x: tensor<F32, [N]>) -> (tensor<F32, [N]>, tensor<F32, [N]>) {
  (x, x + tensor<F32, [N]>(1))
}
let use = fn(x: tensor<F32, [3]>) -> tensor<F32, [3]> {
  let (a, b) = both(x) in a - exp(b)
}
"""


def module(text: str) -> ModuleOp:
    generated = generate(check(Source("dir/a b.kina", text)))
    generated.verify()
    return generated


def place(op: Operation) -> tuple[str, int, int]:
    location = op.location
    assert isinstance(location, FileLineColLoc)
    return location.filename.data, location.line.data, location.column.data


def test_every_operation_stands_at_its_own_token() -> None:
    places = {op.name: place(op)[1:] for op in module(TEXT).walk() if op.name.startswith("kina.")}
    assert places == {
        "kina.log_softmax": (6, 6),
        "kina.take_along_axis": (7, 9),
        "kina.neg": (7, 3),
        "kina.mul": (7, 42),
        "kina.constant": (10, 11),
        "kina.broadcast": (10, 11),
        "kina.add": (10, 9),
        "kina.call": (13, 16),
        "kina.exp": (13, 31),
        "kina.sub": (13, 29),
    }


def test_functions_parameters_and_returns_have_places() -> None:
    nll, both, use = module(TEXT).body.block.ops
    assert [place(op) for op in (nll, both, use)] == [
        ("dir/a b.kina", 1, 5),
        ("dir/a b.kina", 9, 5),
        ("dir/a b.kina", 12, 5),
    ]
    arguments = nll.regions[0].block.args
    lines = [a.location.line.data for a in arguments if isinstance(a.location, FileLineColLoc)]
    assert lines == [2, 3]
    returned = both.regions[0].block.last_op
    assert returned is not None
    assert place(returned)[1:] == (10, 3)


def test_no_operation_has_an_unknown_place() -> None:
    assert all(isinstance(op.location, FileLineColLoc) for op in module(TEXT).walk())


@pytest.mark.parametrize(
    ("literal", "printed"),
    [
        ("tensor<F32, [3]>(1, -0.0, inf)", 'dense<"0x0000803F000000800000807F">'),
        ("tensor<F32, [2, 2]>(1, 2, 3, 4)", "[[1.000000e+00, 2.000000e+00], [3.0"),
        (
            "tensor<F32, [1000000, 1000000]>(0.5)",
            "broadcast %0 : tensor<f32> -> tensor<1000000x1000000xf32>",
        ),
        ("tensor<I64, []>(-9223372036854775808)", "dense<-9223372036854775808> : tensor<i64>"),
        ("tensor<I4, [2]>(-8, 7)", "dense<[-8, 7]> : tensor<2xi4>"),
        ("tensor<Bool, [2]>(true, false)", "dense<[true, false]> : tensor<2xi1>"),
        ("tensor<Bool, [2]>(true)", "dense<true> : tensor<i1>"),
        ("tensor<BF16, [1]>(0.1)", "dense<1.000980e-01> : tensor<bf16>"),
        ("tensor<F8E4M3, [1]>(448)", "dense<4.480000e+02> : tensor<f8E4M3FN>"),
        ("tensor<F8E5M2, [1]>(-inf)", 'dense<"0xFC"> : tensor<f8E5M2>'),
        ("tensor<F16, [1]>(65504)", "dense<6.550400e+04> : tensor<f16>"),
        ("tensor<I16, [1], @device>(3)", "tensor<1xi16, #kina.layout<[1], device>>"),
    ],
)
def test_literals_keep_their_payload(literal: str, printed: str) -> None:
    type_ = literal.partition("(")[0]
    assert printed in str(module(f"let f = fn() -> {type_} {{ {literal} }}"))


def test_the_front_end_of_xdsl() -> None:
    frontend = KinaFrontend()
    text = "\ufeff" + TEXT
    read = frontend.parse(Context(), BytesIO(text.encode()), "a.kina")
    assert str(read) == str(module(TEXT))
    with pytest.raises(KinaSyntaxError):
        frontend.parse(Context(), BytesIO(b"\xff"), "a.kina")
    wrong = b"let f = fn() -> tensor<F64, []> { f() }"
    with pytest.raises(ProgramError, match=r"a\.kina:1:24: error: F64 is reserved") as caught:
        frontend.parse(Context(), BytesIO(wrong), "a.kina")
    assert isinstance(caught.value.problem, KinaTypeError)
