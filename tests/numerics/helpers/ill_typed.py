"""Programs that must be refused: broken applications of operations, and broken pieces."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.cases import expression_of
from helpers.choose import Chooser
from kina.dtypes import DTYPES, I64
from kina.ops import OPS, REDUCTIONS
from kina.rules.infer import infer
from kina.rules.parts import Attribute, RuleError
from kina.types import Dim, Placement, TensorType

SIZES: tuple[Dim, ...] = (1, 2, 3, 4, 8, 64, "N", "M")


@dataclass(frozen=True)
class Application:
    """One application of an operation in a function of its own; `result` is a guess."""

    op: str
    types: tuple[TensorType, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    result: TensorType

    @property
    def source(self) -> str:
        """The program."""
        names = [f"p{i}" for i in range(len(self.types))]
        parameters = ", ".join(f"{n}: {t}" for n, t in zip(names, self.types, strict=True))
        body = expression_of(self.op, self.attributes, names, self.types)
        return f"let f = fn({parameters}) -> {self.result} {{ {body} }}"


def application(choose: Chooser) -> Application | None:
    """A random application that breaks its rule or its declared result; None if it is right."""
    op = OPS[choose.one(list(OPS))]
    first = _type(choose)
    count = 3 if op.variadic else len(op.operands)
    types = tuple([first, *(_relative(choose, first) for _ in range(count - 1))][:count])
    if op.named and choose.chance(60):
        types = (*types[:-1], TensorType(I64, ()))
    attributes = {key: _attribute(choose, key, first) for key in op.attributes}
    try:
        result = infer(op.name, types, attributes)
    except RuleError:
        return Application(op.name, types, tuple(attributes.items()), first)
    wrong = _relative(choose, result)
    if wrong == result:
        return None
    return Application(op.name, types, tuple(attributes.items()), wrong)


def _type(choose: Chooser) -> TensorType:
    dims = tuple(choose.one(SIZES) for _ in range(choose.integer(0, 5)))
    placement = Placement.DEVICE if choose.chance(15) else Placement.HOST
    return TensorType(choose.one(list(DTYPES.values())), dims, placement)


def _relative(choose: Chooser, type_: TensorType) -> TensorType:
    """The same type, or one that differs in one respect, or any."""
    dims = list(type_.dims)
    change = choose.integer(0, 5)
    if change == 0:
        return type_
    if change == 1:
        return type_.with_dtype(choose.one(list(DTYPES.values())))
    if change == 2 and dims:
        dims[choose.integer(0, len(dims) - 1)] = choose.one(SIZES)
        return type_.with_dims(dims)
    if change == 3 and dims:
        del dims[choose.integer(0, len(dims) - 1)]
        return type_.with_dims(dims)
    if change == 4:
        return TensorType(type_.dtype, type_.dims, choose.one(list(Placement)))
    return _type(choose)


def _attribute(choose: Chooser, key: str, type_: TensorType) -> Attribute:
    if key == "axis":
        return choose.integer(-2, type_.rank + 1)
    if key == "k":
        return choose.integer(-1, 6)
    if key == "eps":
        return choose.one((1e-5, 1e-5, 0.5, 0.0))
    if key == "size":
        return choose.one(SIZES)
    if key == "axes":
        return tuple(choose.integer(0, type_.rank) for _ in type_.dims)
    if key == "op":
        return choose.one([*REDUCTIONS, "median", "sum_"])
    if key == "dtype":
        return choose.one(list(DTYPES.values()))
    # A symbol in an expression has to be bound by a parameter: one that is not is a mistake too.
    return _relative(choose, type_).dims


PIECES: dict[str, str] = {
    "a norm without eps": "{ x.rms_norm(x.reduce(op=sum, axis=0), axis=1) }",
    "a norm without axis": "{ x.rms_norm(x.reduce(op=sum, axis=0), eps=1e-5) }",
    "an eps of 0": "{ x.rms_norm(x.reduce(op=sum, axis=0), axis=1, eps=0) }",
    "an eps below 0": "{ x.rms_norm(x.reduce(op=sum, axis=0), axis=1, eps=-1e-5) }",
    "an eps that rounds to 0": "{ x.rms_norm(x.reduce(op=sum, axis=0), axis=1, eps=1e-60) }",
    "an eps past F32": "{ x.rms_norm(x.reduce(op=sum, axis=0), axis=1, eps=1e39) }",
    "an eps of too many digits": "{ x.rms_norm(x.reduce(op=sum, axis=0), axis=1, eps=1e9999) }",
    "an eps that is a tensor": "{ x.rms_norm(x.reduce(op=sum, axis=0), axis=1, eps=x) }",
    "a norm without weight": "{ x.rms_norm(axis=1, eps=1e-5) }",
    "a weight of the other axis": "{ x.rms_norm(x.reduce(op=sum, axis=1), axis=1, eps=1e-5) }",
    "a weight of another dtype": (
        "{ let w = x.reduce(op=sum, axis=0) in x.layer_norm(w.cast(F16), w, axis=1, eps=1e-5) }"
    ),
    "a logsumexp that keeps its axis": "{ x.logsumexp(axis=1) }",
    "an order of axes that is none": "{ x.transpose([0, 0, 1]) }",
    "an order of too few axes": "{ x.transpose([1, 0]) }",
    "an order of symbols": "{ x.transpose([N, 1, 0]) }",
    "an order that is an axis": "{ x.transpose(0) }",
    "no order": "{ x.transpose() }",
    "a slice past its axis": "{ x.slice(axis=1, start=2, size=9) }",
    "a slice that starts too late": "{ x.slice(axis=1, start=3, size=1) }",
    "a slice that starts before 0": "{ x.slice(axis=1, start=-1, size=1) }",
    "a slice that starts at a fraction": "{ x.slice(axis=1, start=0.5, size=1) }",
    "a slice that starts everywhere": "{ x.slice(axis=1, start=x, size=1) }",
    "a slice without a size": "{ x.slice(axis=1, start=0) }",
    "a slice of size 0": "{ x.slice(axis=1, start=0, size=0) }",
    "a slice of a size that is a tensor": "{ x.slice(axis=1, start=0, size=x) }",
    "a positional start": "{ x.slice(0, axis=1, size=1) }",
    "nothing to concatenate": "{ concat(axis=0) }",
    "one tensor to concatenate": "{ concat(x, axis=0) }",
    "a tuple to concatenate": "{ concat((x, x), axis=0) }",
    "a number to concatenate": "{ concat(x, 1.0, axis=0) }",
    "an update of nothing": "{ x.update(at=0, axis=0) }",
    "an update nowhere": "{ x.update(x, axis=0) }",
    "an update that reaches past its axis": "{ x.update(x, at=1, axis=0) }",
    "a count of nothing": "{ iota(axis=0) }",
    "a count of a tensor": "{ iota(x, axis=0) }",
    "random numbers of nothing": "{ random_uniform([2, 3]) }",
    "random numbers of a number": "{ random_uniform([2, 3], seed=1) }",
    "random numbers of floats": "{ random_uniform([2, 3], seed=x) }",
    "random numbers of a positional seed": "{ random_uniform([2, 3], x.cast(I64)) }",
    "random numbers of no shape": "{ random_uniform(seed=x.cast(I64)) }",
    "the best ones of no axis": "{ x.top_k(k=2) }",
    "the best ones without a number": "{ x.top_k(axis=1) }",
    "more than all of them": "{ let (a, b) = x.top_k(k=4, axis=1) in x }",
    "none of them": "{ let (a, b) = x.top_k(k=0, axis=1) in x }",
    "less than none": "{ let (a, b) = x.top_k(k=-1, axis=1) in x }",
    "a fraction of them": "{ let (a, b) = x.top_k(k=0.5, axis=1) in x }",
    "so many that a tensor says": "{ let (a, b) = x.top_k(k=x, axis=1) in x }",
    "a positional number of them": "{ let (a, b) = x.top_k(2, axis=1) in x }",
    "the best ones as one tensor": "{ x.top_k(k=3, axis=1) }",
    "a count along no axis": "{ iota([2], axis=1).cast(F32) }",
    "an unknown name": "{ y }",
    "an unknown operation": "{ x.log_sofmax(axis=1) }",
    "a name used before its binding": "{ let a = b in let b = x in a }",
    "a missing axis": "{ x.log_softmax() }",
    "a positional axis": "{ x.log_softmax(1) }",
    "an axis that is no integer": "{ x.log_softmax(axis=1.0) }",
    "an axis that is a tensor": "{ x.log_softmax(axis=x) }",
    "a negative axis": "{ x.log_softmax(axis=-1) }",
    "a huge axis": "{ x.log_softmax(axis=99999999999999999999) }",
    "an unknown argument": "{ x.log_softmax(axis=1, dim=1) }",
    "an argument given twice": "{ x.log_softmax(axis=1, axis=1) }",
    "too many operands": "{ x.exp(x) }",
    "too few operands": "{ exp() }",
    "a missing reduction": "{ x.reduce(axis=1) }",
    "a reduction that is no word": "{ x.reduce(op=1, axis=1) }",
    "a cast to nothing known": "{ x.cast(F33) }",
    "a cast to a reserved dtype": "{ x.cast(F64) }",
    "a cast to a number": "{ x.cast(32) }",
    "a broadcast to a tensor": "{ x.broadcast(x) }",
    "a broadcast to size 0": "{ x.broadcast([0, 2, 3]) }",
    "a broadcast to an unbound symbol": "{ x.broadcast([Q, 2, 3]) }",
    "a reshape of another count": "{ x.reshape([5]) }",
    "a number alone": "{ 1.0 }",
    "two numbers": "{ 1.0 + 2.0 }",
    "a number past its dtype": "{ (x.cast(I8) + 300).cast(F32) }",
    "a fraction beside integers": "{ (x.cast(I32) * 1.5).cast(F32) }",
    "a number beside Bool": "{ (x.cast(Bool) + 1).cast(F32) }",
    "a tuple where a tensor belongs": "{ (x, x) }",
    "arithmetic on a tuple": "{ -(x, x) }",
    "a tensor taken apart": "{ let (a, b) = x in a }",
    "a tuple of another size": "{ let (a, b, c) = (x, x) in a }",
    "one name twice in a pattern": "{ let (a, a) = (x, x) in a }",
    "a call of itself": "{ f(x) }",
    "a call of what comes later": "{ later(x) }",
    "a call with too many arguments": "{ earlier(x, x) }",
    "a call with too few arguments": "{ earlier() }",
    "a call with another type": "{ earlier(x.cast(F16)) }",
    "a function as a value": "{ earlier }",
    "a method that is no operation": "{ x.earlier2() }",
    "a literal with too few values": "{ tensor<F32, [2, 3]>(1, 2, 3) }",
    "a literal without values": "{ tensor<F32, [2, 3]>() }",
    "a literal of another kind": "{ tensor<F32, [2, 3]>(true) }",
    "an infinite integer": "{ tensor<I32, [2, 3]>(inf).cast(F32) }",
    "a literal past its dtype": "{ tensor<I8, [2, 3]>(128).cast(F32) }",
    "a literal of a reserved dtype": "{ tensor<F64, [2, 3]>(1) }",
    "a literal of unbound size": "{ tensor<F32, [Q, 3]>(1) }",
    "integer division": "{ (x.cast(I32) / x.cast(I32)).cast(F32) }",
    "a float as a condition": "{ x.select(x, x) }",
    "alternatives of two types": "{ (x > 0).select(x, x.cast(F16)) }",
    "alternatives of another shape": "{ (x > 0).select(x, x.reduce(op=sum, axis=0)) }",
    "a choice between numbers": "{ (x > 0).select(1, 0) }",
    "a chain of comparisons": "{ (0 < x < 1).cast(F32) }",
    "a chain of equalities": "{ (x == x == x).cast(F32) }",
    "a comparison of two dtypes": "{ (x < x.cast(F16)).cast(F32) }",
    "a comparison of numbers": "{ x * (1 < 2) }",
    "a comparison as a number": "{ x * (x < 2) }",
    "logic of numbers": "{ x && x }",
    "not a number": "{ !x }",
    "not 1": "{ x * !1 }",
    "a Bool beside a number": "{ ((x > 0) == 1).cast(F32) }",
    "one sign of logic": "{ ((x > 0) & (x < 1)).cast(F32) }",
    "a word of logic": "{ (x > 0 and x < 1).cast(F32) }",
    "a shift by an operator": "{ (x.cast(I32) << 2).cast(F32) }",
    "bits of a float": "{ x.bit_and(x) }",
    "the remainder of floats": "{ x.rem(x) }",
    "rounding an integer": "{ x.cast(I32).round().cast(F32) }",
    "two limits of two dtypes": "{ x.clamp(x, x.cast(F16)) }",
    "a missing limit": "{ x.clamp(0) }",
    "a fractional integer limit": "{ x.cast(I32).clamp(0, 0.5).cast(F32) }",
    "an argument with two signs": "{ x.softmax(axis==1) }",
    "negation of Bool": "{ (-x.cast(Bool)).cast(F32) }",
    "implicit broadcasting": "{ x + x.reduce(op=sum, axis=0) }",
    "implicit conversion": "{ x + x.cast(F16) }",
    "an empty body": "{ }",
    "a body without end": "{ x",
    "a let without in": "{ let a = x a }",
    "a reserved word as a name": "{ let in = x in x }",
    "an unknown sign": "{ x ? x }",
    "a missing parenthesis": "{ (x + x }",
    "an operator without operand": "{ x + }",
    "a nested function": "{ let g = fn(y: tensor<F32, [2, 3]>) -> tensor<F32, [2, 3]> { y } in x }",
}
"""Bodies of `f(x: F32 [2, 3]) -> F32 [2, 3]` with one mistake each."""

ITEMS: dict[str, str] = {
    "nothing": "",
    "only a comment": "// nothing\n",
    "no function": "let f = 3",
    "an expression": "x + x",
    "a reserved dtype": "let f = fn(x: tensor<F64, [2]>) -> tensor<F64, [2]> { x }",
    "an unknown dtype": "let f = fn(x: tensor<F31, [2]>) -> tensor<F31, [2]> { x }",
    "a dimension of 0": "let f = fn(x: tensor<F32, [0]>) -> tensor<F32, [0]> { x }",
    "a negative dimension": "let f = fn(x: tensor<F32, [-1]>) -> tensor<F32, [-1]> { x }",
    "a fractional dimension": "let f = fn(x: tensor<F32, [1.5]>) -> tensor<F32, [1.5]> { x }",
    "an unknown placement": "let f = fn(x: tensor<F32, [2], @gpu>) -> tensor<F32, [2]> { x }",
    "a result elsewhere": "let f = fn(x: tensor<F32, [2], @device>) -> tensor<F32, [2]> { x }",
    "an unbound symbol": "let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [M]> { x }",
    "a symbol only in the result": "let f = fn() -> tensor<F32, [N]> { tensor<F32, [1]>(1) }",
    "one parameter name twice": (
        "let f = fn(x: tensor<F32, [2]>, x: tensor<F32, [2]>) -> tensor<F32, [2]> { x }"
    ),
    "one function name twice": (
        "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x }"
        " let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x }"
    ),
    "a symbol bound to two sizes": (
        "let g = fn(x: tensor<F32, [N]>, y: tensor<F32, [N]>) -> tensor<F32, [N]> { x + y }"
        " let f = fn(x: tensor<F32, [2]>, y: tensor<F32, [3]>) -> tensor<F32, [2]> { g(x, y) }"
    ),
    "a tuple of one type": "let f = fn(x: tensor<F32, [2]>) -> (tensor<F32, [2]>) { x }",
    "a parameter without type": "let f = fn(x) -> tensor<F32, [2]> { x }",
    "no result type": "let f = fn(x: tensor<F32, [2]>) { x }",
    "reverse mode of nothing": "let d = reverseMode(nothing)",
}
"""Whole programs with one mistake each."""


def body(piece: str) -> str:
    """A program with that body, between a function that it may call and one that it may not."""
    type_ = "tensor<F32, [2, 3]>"
    return (
        f"let earlier = fn(x: {type_}) -> {type_} {{ x }}\n"
        f"let f = fn(x: {type_}) -> {type_}\n  {piece}\n"
        f"let later = fn(x: {type_}) -> {type_} {{ x }}\n"
    )


def scramble(choose: Chooser, text: str) -> str:
    """A text with a few tokens or characters dropped, doubled or exchanged."""
    pieces = text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split(" ")
    for _ in range(choose.integer(1, 3)):
        at, other = (choose.integer(0, len(pieces) - 1) for _ in range(2))
        action = choose.integer(0, 4)
        if action == 0:
            pieces[at] = ""
        elif action == 1:
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif action == 2:
            pieces[at] += f" {pieces[other]}"
        elif action == 3:
            pieces[at] = choose.one(("@", "{", "}", "<", "inf", "99999999999", '"', "é", "\t", "-"))
        else:
            pieces[at] = pieces[at][: len(pieces[at]) // 2]
    return " ".join(pieces)
