"""Programs of several parts with one mistake: folds, records, dimensions, sizes of 0 and imports.

Each is right but for what was changed, so that it must be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from helpers.choose import Chooser
from kina.dims import Dim, DimError, add, is_possible, multiply, subtract

DTYPES = ("F32", "F16", "I64", "I8", "Bool")
SIZES = (1, 2, 3, 5)


def tensor(dtype: str, dims: tuple[Dim, ...]) -> str:
    return f"tensor<{dtype}, [{', '.join(map(str, dims))}]>"


@dataclass(frozen=True)
class Fold:
    """A fold over two stacks, one of them in a record if that is so, with one whole tensor."""

    x: str
    stacked: tuple[str, str]
    whole: str
    result: str
    layers: tuple[Dim, Dim]
    shapes: tuple[tuple[Dim, ...], tuple[Dim, ...]]
    dtypes: tuple[str, str]
    call: str = "fold(block, x, over=[a, b], with=[c])"
    parameters: str = ""
    """More of the block."""
    before: str = ""

    @property
    def source(self) -> str:
        """The program."""
        given = [
            tensor(dtype, (layers, *shape))
            for dtype, layers, shape in zip(self.dtypes, self.layers, self.shapes, strict=True)
        ]
        return (
            f"{self.before}let block = fn(x: {self.x}, a: {self.stacked[0]}, b: {self.stacked[1]}, "
            f"c: {self.whole}{self.parameters}) -> {self.x} {{ x }}\n"
            f"let f = fn(x: {self.x}, a: {given[0]}, b: {given[1]}, c: {self.whole}) -> "
            f"{self.result} {{ {self.call} }}\n"
        )


CALLS = (
    "fold(block, x, over=[a, b])",
    "fold(block, x, over=[a], with=[c])",
    "fold(block, x, over=[b, a, b], with=[c])",
    "fold(block, x, over=[a, b], with=[c, c])",
    "fold(block, x, over=[], with=[a, b, c])",
    "fold(block, x, over=a, with=[c])",
    "fold(block, x, over=[a, b], with=c)",
    "fold(block, [x], over=[a, b], with=[c])",
    "fold(block, (x, x), over=[a, b], with=[c])",
    "fold(block, 1, over=[a, b], with=[c])",
    "fold(block, x, over=[a, 2], with=[c])",
    "fold(block, x, over=[a, b], with=[inf])",
    "fold(block, x, [a, b], with=[c])",
    "fold(exp, x, over=[a, b], with=[c])",
    "fold(x, x, over=[a, b], with=[c])",
    "fold(f, x, over=[a, b], with=[c])",
    "fold(nothing, x, over=[a, b], with=[c])",
    "fold(block(x, a, b, c), x, over=[a, b], with=[c])",
    "fold(x, over=[a, b], with=[c])",
    "fold(block, x, over=[a, b], with=[c], axis=0)",
    "block.fold(over=[a, b], with=[c])",
    "x.fold(block, over=[a, b], with=[c])",
    "fold(block, x, over=[a, b], over=[a, b], with=[c])",
)


def fold(choose: Chooser) -> str:
    """A fold with one mistake."""
    shapes = tuple(tuple(choose.one(SIZES) for _ in range(choose.integer(0, 2))) for _ in "ab")
    dtypes = tuple(choose.one(DTYPES) for _ in "ab")
    stacked = tuple(map(tensor, dtypes, shapes))
    x, whole = (tensor(choose.one(DTYPES), (choose.one(SIZES),)) for _ in "xc")
    layers: Dim = choose.one((2, 3, "L"))
    right = Fold(x, stacked, whole, x, (layers, layers), shapes, dtypes)
    other = tensor("I16", (7, 7))
    changes: list[Callable[[], Fold]] = [
        lambda: replace(right, call=choose.one(CALLS)),
        lambda: replace(right, result=other),
        lambda: replace(right, layers=(layers, 4)),
        lambda: replace(right, layers=(layers, "K")),
        lambda: replace(right, stacked=(other, stacked[1])),
        lambda: replace(right, stacked=(stacked[0], tensor(dtypes[1], (layers, *shapes[1])))),
        lambda: replace(right, parameters=f", d: {other}"),
        lambda: replace(right, parameters=", n: size"),
        lambda: replace(right, call="fold(block, x, over=[a, b], with=[x.cast(I16)])"),
        lambda: replace(right, call="fold(block, tensor<I16, [9]>(0), over=[a, b], with=[c])"),
    ]
    return choose.one(changes)().source


RIGHT = "type R = { a: tensor<F32, [N, 2]>, b: tensor<I64, [N]> }\n"
IN_RECORDS = (
    "let f = fn(r: R) -> tensor<F32, [N, 2]> { r.c }",
    "let f = fn(r: R) -> tensor<F32, [N, 2]> { r.b }",
    "let f = fn(r: R) -> tensor<F32, [N, 2]> { r }",
    "let f = fn(r: R) -> tensor<F32, [N, 2]> { r.a.a }",
    "let f = fn(r: R) -> tensor<F32, [N, 2]> { r + r }",
    "let f = fn(r: R) -> tensor<F32, [N, 2]> { let (a, b) = r in a }",
    "let f = fn(r: R) -> R { R(a=r.a) }",
    "let f = fn(r: R) -> R { R(a=r.a, b=r.b, c=r.b) }",
    "let f = fn(r: R) -> R { R(r.a, r.b) }",
    "let f = fn(r: R) -> R { R(a=r.b, b=r.a) }",
    "let f = fn(r: R) -> R { R(a=r.a, b=r.b, b=r.b) }",
    "let f = fn(r: R) -> R { R(a=1, b=r.b) }",
    "let f = fn(r: R) -> R { R(a=r.a, b=N) }",
    "let f = fn(r: R<N=2>) -> R<N=3> { r }",
    "let f = fn(r: R<M=2>) -> R<M=2> { r }",
    "let f = fn(r: R<N=0>) -> R<N=0> { r }",
    "let f = fn(r: R<N=N + 1>) -> R<N=N + 1> { r }",
    "let f = fn(r: R<N=2, N=2>) -> R<N=2> { r }",
    "let f = fn(r: R, s: R<N=M>) -> R { R(a=s.a, b=s.b) }",
    "let f = fn(r: Q) -> Q { r }",
    "let f = fn(r: tensor<R, [2]>) -> R { r }",
    "type R = { a: tensor<F32, [2]> }\nlet f = fn(r: R) -> R { r }",
    "type S = { s: S }\nlet f = fn(s: S) -> S { s }",
    "type S = { t: T }\ntype T = { a: tensor<F32, [2]> }\nlet f = fn(s: S) -> S { s }",
    "type S = { a: tensor<F32, [2]>, a: tensor<F32, [2]> }\nlet f = fn(s: S) -> S { s }",
    "type S = { }\nlet f = fn(s: S) -> S { s }",
    "type S = { a: tensor<F32, [2]>, b: size }\nlet f = fn(s: S) -> S { s }",
    "type S = { a: tensor<F32, [N, 2]>, b: tensor<I64, [N]> }\nlet f = fn(s: S) -> R { s }",
    "let g = fn(r: R) -> tensor<F32, []> { r.a.reduce(op=sum, axis=0).reduce(op=sum, axis=0) }\n"
    "let f = reverseMode(g, wrt=[r])",
    "let g = fn(r: R) -> tensor<F32, []> { r.a.reduce(op=sum, axis=0).reduce(op=sum, axis=0) }\n"
    "let f = reverseMode(g, wrt=[r.b])",
    "let g = fn(r: R) -> tensor<F32, []> { r.a.reduce(op=sum, axis=0).reduce(op=sum, axis=0) }\n"
    "let f = reverseMode(g, wrt=[r.c])",
    "let g = fn(r: R) -> tensor<F32, [N, 2]> { r.a }\n"
    "let f = fn(r: R) -> tensor<F32, [N, 2]> { g(r.a, r.b) }",
    "let g = fn(r: R) -> tensor<F32, [N, 2]> { r.a }\n"
    "let f = fn(a: tensor<F32, [N, 2]>, b: tensor<I64, [M]>) -> tensor<F32, [N, 2]> {\n"
    "  g(R(a=a, b=b))\n}",
)
"""What stands behind a record that is right."""


def polynomial(choose: Chooser, depth: int = 3) -> Dim:
    """A dimension over N and M."""
    if depth == 0 or choose.chance(30):
        return choose.one(("N", "M", 1, 2, 3))
    left, right = (polynomial(choose, depth - 1) for _ in range(2))
    kind = choose.integer(0, 2)
    if kind == 0:
        return add(left, right)
    return subtract(left, right) if kind == 1 else multiply([left, right])


def dimensions(choose: Chooser) -> str | None:
    """A result of another size, a dimension that is none, or None where it came out right."""
    try:
        left, right = polynomial(choose), polynomial(choose)
    except DimError:
        return None
    head = f"let f = fn(n: tensor<F32, [N]>, m: tensor<F32, [M]>, x: {tensor('F32', (left,))})"
    if left == right and is_possible(left):
        return None
    bodies = ("x", f"x.reshape([{right}])", f"tensor<F32, [{left}]>(0)")
    result = right if not choose.chance(20) else f"{right} + K"
    return f"{head} -> tensor<F32, [{result}]> {{ {choose.one(bodies[::2])} }}"


ZEROS: Mapping[str, str] = {
    "a parameter": "let f = fn(x: tensor<F32, [2, {zero}]>) -> tensor<F32, [2, {zero}]> {{ x }}",
    "a result": "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [{zero}]> {{ x }}",
    "a broadcast": (
        "let f = fn(x: tensor<F32, [1]>) -> tensor<F32, [1]> {{\n"
        "  x.broadcast([{zero}]).reduce(op=sum, axis=0).reshape([1])\n}}"
    ),
    "a reshape": (
        "let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {{ x.reshape([{zero}, N]) }}"
    ),
    "a slice": (
        "let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {{\n"
        "  concat(x.slice(axis=0, start=0, size={zero}), x, axis=0)\n}}"
    ),
    "a count": (
        "let f = fn(x: tensor<F32, [N]>) -> tensor<I64, []> {{ "
        "iota([{zero}], axis=0).reduce(op=sum, axis=0) }}"
    ),
    "random numbers": (
        "let f = fn(s: tensor<I64, [2]>) -> tensor<F32, []> {{ "
        "random_uniform([{zero}], seed=s).reduce(op=sum, axis=0) }}"
    ),
    "a literal": (
        "let f = fn() -> tensor<F32, []> {{ tensor<F32, [{zero}]>(1).reduce(op=sum, axis=0) }}"
    ),
    "an argument": (
        "let g = fn(x: tensor<F32, [N]>, n: size) -> tensor<F32, [n]> {{\n"
        "  x.reduce_keep(op=sum, axis=0).broadcast([n])\n}}\n"
        "let f = fn(x: tensor<F32, [N]>) -> tensor<F32, []> {{ "
        "g(x, {zero}).reduce(op=sum, axis=0) }}"
    ),
    "a field": "type R = {{ a: tensor<F32, [{zero}]> }}\nlet f = fn(r: R) -> R {{ r }}",
    "a record": (
        "type R = {{ a: tensor<F32, [K]> }}\nlet f = fn(r: R<K={zero}>) -> R<K={zero}> {{ r }}"
    ),
    "layers": (
        "let g = fn(x: tensor<F32, [2]>, w: tensor<F32, [2]>) -> tensor<F32, [2]> {{ x + w }}\n"
        "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {{\n"
        "  fold(g, x, over=[tensor<F32, [{zero}, 2]>(1)])\n}}"
    ),
}
"""Where a size may stand that is known to be 0."""
NOTHING = ("0", "00", "1 - 1", "0 * 5", "N - N", "2 * N - N - N", "3 - 4", "-1 * 2 + 2")


def zero(choose: Chooser) -> str:
    """A program with a size that is 0, or less, for all sizes."""
    return ZEROS[choose.one(list(ZEROS))].format(zero=choose.one(NOTHING))


def files(choose: Chooser) -> dict[str, str]:
    """A program in several files with one mistake, the main one last."""
    count = choose.integer(2, 4)
    names = [choose.one(("", "lib/", "lib/deep/")) + f"file{i}.kina" for i in range(count - 1)]
    chain = {name: _file(names, number) for number, name in enumerate(names)}
    main, first = _file([*names, "main.kina"], count - 1), names[0]
    back = "../" * first.count("/")
    changes: list[Callable[[], dict[str, str]]] = [
        lambda: {"main.kina": f'import "missing.kina"\n{main}'},
        lambda: {first: f'import "{back}main.kina"\n{chain[first]}'},
        lambda: {"main.kina": f'import "../main.kina"\n{main}'},
        lambda: {"main.kina": f'import "/etc/main.kina"\n{main}'},
        lambda: {"main.kina": f'{main}import "{first}"\n'},
        lambda: {"main.kina": main.replace(f"let f{count - 1}", f"let f{count - 2}")},
        lambda: {"main.kina": main.replace(f"f{count - 2}(x)", "f_unknown(x)")},
        lambda: {"main.kina": main.replace('"', "")},
        lambda: {"main.kina": main.replace('"', "'")},
        lambda: {"main.kina": f'import "{choose.one(("", ".", "lib", "main.kina", "f"))}"\n{main}'},
        lambda: {first: chain[first].replace("F32", "F31")},
        lambda: {first: chain[first] + "let"},
    ]
    return {**chain, "main.kina": main, **choose.one(changes)()}


def _file(names: list[str], number: int) -> str:
    """A file of a chain: its function calls that of the file before."""
    head, body = "", "x"
    if number:
        head = f'import "{"../" * names[number].count("/")}{names[number - 1]}"\n'
        body = f"f{number - 1}(x)"
    return f"{head}let f{number} = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {{ {body} }}\n"
