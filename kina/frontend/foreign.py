"""Words of NumPy, PyTorch, JAX and Python, and what Kina has instead: a row each.

A word that becomes an operation leaves this table with the row that it gets in `kina/ops.py`.
"""

from __future__ import annotations

_SHAPE = "write reshape([…]) with the whole shape"
_BUILD = "there is no {} yet; composed: "


def _compose(word: str, how: str) -> str:
    return _BUILD.format(word) + how


_LOSS = "-x.log_softmax(axis=1).take_along_axis(t, axis=1), then .reduce(op=mean, axis=0)"

_UNIFORM = "write random_uniform([N], seed=s)"
_BEST = "write x.top_k(k=5, axis=0): values and indices"
_SORTED = f"{_BEST}, the largest first"
_NORMAL = "there is no randn yet; random_uniform([N], seed=s) draws uniformly from (0, 1)"

WORDS: dict[str, str] = {
    "arange": "write iota([N], axis=0)",
    "argpartition": _BEST,
    "argsort": _SORTED,
    "astype": "write .cast(F32)",
    "bmm": "did you mean `matmul`?",
    "cat": "write concat(x, y, axis=0)",
    "clip": "write x.clamp(low, high)",
    "concatenate": "write concat(x, y, axis=0)",
    "cosh": _compose("cosh", "(x.exp() + (-x).exp()) * 0.5"),
    "cross_entropy": f"composed: {_LOSS}",
    "cuda": "placement is part of the type: @device",
    "detach": "write x.stop_gradient()",
    "dot": _compose("dot", "(a * b).reduce(op=sum, axis=0)"),
    "dynamic_slice": "write x.slice(axis=0, start=i, size=4)",
    "dynamic_update_slice": "write x.update(new, at=i, axis=0)",
    "einsum": _compose("einsum", "a.matmul(b)"),
    "exp2": _compose("exp2", "(x * 0.6931471805599453).exp()"),
    "expand": "write broadcast([…]) with the whole shape",
    "expit": "did you mean `sigmoid`?",
    "eye": "write iota([N, N], axis=0) == iota([N, N], axis=1), and .cast(F32) for 0 and 1",
    "flatten": _SHAPE,
    "float": "write .cast(F32)",
    "fmod": "the remainder of integers is written x.rem(y)",
    "ge": "write x >= y",
    "grad": "a gradient is a function: let df = reverseMode(f, wrt=[x])",
    "gt": "write x > y",
    "index_copy": "write x.update(new, at=i, axis=0)",
    "layernorm": "did you mean `layer_norm`?",
    "le": "write x <= y",
    "log10": _compose("log10", "x.log() * 0.4342944819032518"),
    "log2": _compose("log2", "x.log() * 1.4426950408889634"),
    "log_sum_exp": "did you mean `logsumexp`?",
    "logistic": "did you mean `sigmoid`?",
    "logsigmoid": "did you mean `log_sigmoid`?",
    "logsoftmax": "did you mean `log_softmax`?",
    "lt": "write x < y",
    "masked_fill": "write mask.select(value, x)",
    "max": "a reduction is written .reduce(op=max, axis=…)",
    "mean": "a reduction is written .reduce(op=mean, axis=…)",
    "mish": _compose("mish", "x * x.softplus().tanh()"),
    "mm": "did you mean `matmul`?",
    "mT": "write transpose([1, 0]): the axes in their new order",
    "multinomial": f"{_UNIFORM}: u; composed: (x - (-u.log()).log()).reduce(op=argmax, axis=1)",
    "mod": "the remainder of integers is written x.rem(y)",
    "narrow": "write x.slice(axis=0, start=i, size=4)",
    "ne": "write x != y",
    "nll_loss": "composed of log-probabilities: -logp.take_along_axis(t, axis=1)",
    "norm": _compose("norm", "(x * x).reduce(op=sum, axis=0).sqrt()"),
    "not": "write !x",
    "one_hot": "write iota([N, V], axis=1) == t.reshape([N, 1]).broadcast([N, V])",
    "permute": "write transpose([0, 2, 1]): the axes in their new order",
    "pow": _compose("pow", "x * x, or (x.log() * p).exp() for x above 0"),
    "power": _compose("power", "x * x, or (x.log() * p).exp() for x above 0"),
    "rand": _UNIFORM,
    "randn": _NORMAL,
    "reciprocal": _compose("reciprocal", "1 / x"),
    "relu": _compose("relu", "x.maximum(0.0)"),
    "remainder": "the remainder of integers is written x.rem(y)",
    "rint": "write x.round()",
    "rmsnorm": "did you mean `rms_norm`?",
    "rsqrt": _compose("rsqrt", "1.0 / x.sqrt()"),
    "scan": "a loop over layers is fold(block, x, over=[…])",
    "shape": "a size is a number by its name in the type: N beside a tensor, or N.cast(F32)",
    "sinh": _compose("sinh", "(x.expm1() - (-x).expm1()) * 0.5"),
    "sort": _SORTED,
    "square": _compose("square", "x * x"),
    "squeeze": _SHAPE,
    "stack": "give each the new axis by reshape, then concat(x, y, axis=0)",
    "sum": "a reduction is written .reduce(op=sum, axis=…)",
    "swapaxes": "write transpose([0, 2, 1]): the axes in their new order",
    "swish": "did you mean `silu`?",
    "T": "write transpose([1, 0]): the axes in their new order",
    "to": "write .cast(F32) for a dtype; placement is part of the type",
    "topk": _BEST,
    "tril": "write (iota([N, N], axis=1) <= iota([N, N], axis=0)).select(x, 0)",
    "triu": "write (iota([N, N], axis=1) >= iota([N, N], axis=0)).select(x, 0)",
    "unsqueeze": _SHAPE,
    "uniform": _UNIFORM,
    "view": _SHAPE,
    "where": "a choice is written condition.select(a, b)",
}  # fmt: skip
"""What to say of an unknown name, by that name."""

_FUNCTION = "a function is written `let name = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {…}`"

INDEXING = (
    "there are no brackets behind a value: a window is x.slice(axis=0, start=i, size=1), rows are "
    "x.gather(ids), one element of each row is x.take_along_axis(t, axis=1)"
)
"""What to say of `x[i]`."""

_IMPORT = 'a file is imported whole, by its path: import "layers.kina"'

ITEMS: dict[str, str] = {
    ",": "an import has one path: write the word again",
    "as": 'what is imported keeps its name: import "layers.kina", then g(x)',
    **dict.fromkeys(("from", "include", "open", "require", "use", "using"), _IMPORT),
    "fn": _FUNCTION,
    "struct": "a record is written `type Name = { field: tensor<F32, [2]> }`",
    "class": "a record is written `type Name = { field: tensor<F32, [2]> }`",
}
"""What to say where a top-level item cannot begin, by the text of the token."""

_TENSOR = "a tensor is written tensor<F32, [2, 3]>"

TYPES: dict[str, str] = {
    **dict.fromkeys(("Array", "Tensor", "array", "ndarray", "list", "vector"), _TENSOR),
    "float": "a number is a tensor of rank 0: tensor<F32, []>",
    "int": "a number is a tensor of rank 0: tensor<I64, []>; a parameter may be a size: `n: size`",
    "bool": "a truth is a tensor of rank 0: tensor<Bool, []>",
    "tuple": "a result of several values is written (tensor<F32, [2]>, tensor<I64, []>)",
}
"""What to say of an unknown type, by its name."""

SYNTAX: dict[str, str] = {
    "@": "a matrix product is written a.matmul(b)",
    "==": "one `=` follows `let` and a name, or the name of an argument",
    "and": "logic on Bool is written x && y",
    "or": "logic on Bool is written x || y",
    "not": "logic on Bool is written !x",
    "def": _FUNCTION,
    "lambda": _FUNCTION,
    "return": "the last expression of a body is its result: leave `return` out",
    "if": "there are no branches in Kina: a choice is written condition.select(a, b)",
    "else": "there are no branches in Kina: a choice is written condition.select(a, b)",
    "for": "there are no loops in Kina: an operation works on whole tensors",
    "while": "there are no loops in Kina: an operation works on whole tensors",
    "import": 'a file is imported by its path, before all else: import "layers.kina"',
}
"""What to say where a token cannot stand, by its text."""
