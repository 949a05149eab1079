"""The op table: one record per operation of the language.

The front end, the type rules, the dialect, the reference, the lowering and the tests all read it,
so an elementwise operation is added in one place (see docs/adding_an_op.md).
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from kina.dtypes import ANY, BOOLS, FREM, INTS, NUMERIC, DType, Kind
from kina.frozen import frozen


class Family(Enum):
    """Operations that share a type rule and a way of lowering."""

    UNARY = "unary"
    BINARY = "binary"
    TERNARY = "ternary"
    COMPARE = "compare"
    CHOICE = "choice"
    REDUCE = "reduce"
    NORMALIZE = "normalize"
    FIBER = "fiber"
    INDEXING = "indexing"
    SHAPING = "shaping"
    CAST = "cast"
    CONTRACTION = "contraction"
    COUNTING = "counting"
    RANDOM = "random"
    LAYOUT = "layout"
    SCAN = "scan"
    SELECTION = "selection"


ELEMENTWISE = frozenset(
    {Family.UNARY, Family.BINARY, Family.TERNARY, Family.COMPARE, Family.CHOICE}
)
"""Families of operations that act on elements, one at a time."""


@frozen(slots=True)
class Op:
    """One operation: `operands` tensors in, one tensor out."""

    name: str
    """The name in source and (behind `kina.`) in IR."""
    family: Family
    operands: tuple[str, ...]
    """What each operand is called in messages."""
    dtypes: frozenset[str]
    """Admissible dtypes of the first operand."""
    attributes: tuple[str, ...] = ()
    """Compile-time arguments, in the order of the dialect's constructors."""
    symbol: str | None = None
    """The operator spelling, if there is one."""
    symbol_dtypes: frozenset[str] = ANY
    """What the operator takes, where that is less than what the name takes."""
    device: bool = True
    """Whether the type rule admits @device operands."""
    float_op: str = ""
    """The scalar operation on floats, as `dialect.op` of MLIR (elementwise families)."""
    int_op: str = ""
    """The scalar operation on integers."""
    named: tuple[str, ...] = ()
    """Operands that are given by name: a seed, and positions, for which a number will do."""
    variadic: bool = False
    """Whether the one operand is a list of tensors."""
    bool_op: str = ""
    """The scalar operation on Bool."""
    numpy: str = ""
    """The NumPy twin, where one function is the whole meaning."""
    composite: bool = False
    """Whether `decompose-kina` writes it as other operations."""
    in_float64: bool = False
    """Whether the twin computes in float64: the operation promises accuracy instead of bits."""

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result is computed from one element of each operand."""
        return self.family in ELEMENTWISE

    def role(self, position: int) -> str:
        """What the operand at a position is called in messages."""
        return f"tensor {position + 1}" if self.variadic else self.operands[position]

    @property
    def alike(self) -> range:
        """The operands that share one type; a number among them takes it from the others."""
        if not self.is_elementwise:
            return range(0)
        return range(1 if self.family is Family.CHOICE else 0, len(self.operands))

    def scalar_op(self, dtype: DType) -> str:
        """The scalar operation on operands of a dtype; empty where no single one will do."""
        names = {Kind.FLOAT: self.float_op, Kind.INT: self.int_op, Kind.BOOL: self.bool_op}
        return names[dtype.kind]


@frozen(slots=True)
class Reduction:
    """One value of `reduce(op=…)`."""

    name: str
    dtypes: frozenset[str] = field(default_factory=frozenset[str])
    device: bool = True
    gives: str = ""
    """The dtype of the result, if it is not that of the operand."""

    @property
    def is_contest(self) -> bool:
        """Whether it gives the index of the best element."""
        return self.name in CONTESTS


CONTESTS = frozenset({"argmax", "argmin"})
"""Reductions to an index: step functions, without gradients."""

OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op("neg", Family.UNARY, ("operand",), NUMERIC, symbol="-", float_op="arith.negf",
           numpy="negative"),
        Op("exp", Family.UNARY, ("operand",), FREM, float_op="math.exp", numpy="exp",
           in_float64=True),
        Op("log", Family.UNARY, ("operand",), FREM, float_op="math.log", numpy="log",
           in_float64=True),
        Op("expm1", Family.UNARY, ("operand",), FREM, float_op="math.expm1", numpy="expm1",
           in_float64=True),
        Op("log1p", Family.UNARY, ("operand",), FREM, float_op="math.log1p", numpy="log1p",
           in_float64=True),
        Op("tanh", Family.UNARY, ("operand",), FREM, float_op="math.tanh", numpy="tanh",
           in_float64=True),
        Op("erf", Family.UNARY, ("operand",), FREM, float_op="math.erf", in_float64=True),
        Op("sqrt", Family.UNARY, ("operand",), FREM, float_op="math.sqrt", numpy="sqrt"),
        Op("abs", Family.UNARY, ("operand",), NUMERIC, float_op="math.absf", int_op="math.absi",
           numpy="absolute"),
        Op("floor", Family.UNARY, ("operand",), FREM, float_op="math.floor", numpy="floor"),
        Op("ceil", Family.UNARY, ("operand",), FREM, float_op="math.ceil", numpy="ceil"),
        Op("round", Family.UNARY, ("operand",), FREM, float_op="math.roundeven", numpy="rint"),
        Op("stop_gradient", Family.UNARY, ("operand",), ANY),
        *(
            Op(name, Family.UNARY, ("operand",), FREM, composite=True, in_float64=True)
            for name in ("sigmoid", "log_sigmoid", "softplus", "silu", "gelu", "gelu_tanh")
        ),
        Op("xlogy", Family.BINARY, ("left", "right"), FREM, composite=True, in_float64=True),
        Op("add", Family.BINARY, ("left", "right"), NUMERIC, symbol="+", float_op="arith.addf",
           int_op="arith.addi", numpy="add"),
        Op("sub", Family.BINARY, ("left", "right"), NUMERIC, symbol="-", float_op="arith.subf",
           int_op="arith.subi", numpy="subtract"),
        Op("mul", Family.BINARY, ("left", "right"), NUMERIC, symbol="*", float_op="arith.mulf",
           int_op="arith.muli", numpy="multiply"),
        Op("div", Family.BINARY, ("left", "right"), NUMERIC, symbol="/", symbol_dtypes=FREM,
           float_op="arith.divf"),
        Op("rem", Family.BINARY, ("left", "right"), INTS, numpy="fmod"),
        Op("maximum", Family.BINARY, ("left", "right"), NUMERIC, float_op="arith.maximumf",
           int_op="arith.maxsi"),
        Op("minimum", Family.BINARY, ("left", "right"), NUMERIC, float_op="arith.minimumf",
           int_op="arith.minsi"),
        Op("clamp", Family.TERNARY, ("operand", "low", "high"), NUMERIC, composite=True),
        Op("bit_and", Family.BINARY, ("left", "right"), INTS, int_op="arith.andi",
           numpy="bitwise_and"),
        Op("bit_or", Family.BINARY, ("left", "right"), INTS, int_op="arith.ori",
           numpy="bitwise_or"),
        Op("bit_xor", Family.BINARY, ("left", "right"), INTS, int_op="arith.xori",
           numpy="bitwise_xor"),
        Op("shift_left", Family.BINARY, ("left", "right"), INTS, numpy="left_shift"),
        Op("shift_right", Family.BINARY, ("left", "right"), INTS, numpy="right_shift"),
        Op("equal", Family.COMPARE, ("left", "right"), ANY, symbol="==", numpy="equal"),
        Op("not_equal", Family.COMPARE, ("left", "right"), ANY, symbol="!=", numpy="not_equal"),
        Op("less", Family.COMPARE, ("left", "right"), ANY, symbol="<", numpy="less"),
        Op("less_equal", Family.COMPARE, ("left", "right"), ANY, symbol="<=",
           numpy="less_equal"),
        Op("greater", Family.COMPARE, ("left", "right"), ANY, symbol=">", numpy="greater"),
        Op("greater_equal", Family.COMPARE, ("left", "right"), ANY, symbol=">=",
           numpy="greater_equal"),
        Op("logical_and", Family.BINARY, ("left", "right"), BOOLS, symbol="&&",
           bool_op="arith.andi", numpy="logical_and"),
        Op("logical_or", Family.BINARY, ("left", "right"), BOOLS, symbol="||",
           bool_op="arith.ori", numpy="logical_or"),
        Op("logical_not", Family.UNARY, ("operand",), BOOLS, symbol="!", numpy="logical_not"),
        Op("select", Family.CHOICE, ("condition", "on_true", "on_false"), BOOLS),
        Op("broadcast", Family.SHAPING, ("operand",), ANY, ("dims",)),
        Op("reshape", Family.SHAPING, ("operand",), ANY, ("dims",)),
        Op("reduce", Family.REDUCE, ("operand",), ANY, ("op", "axis")),
        Op("reduce_keep", Family.REDUCE, ("operand",), ANY, ("op", "axis")),
        Op("softmax", Family.NORMALIZE, ("operand",), FREM, ("axis",), composite=True),
        Op("log_softmax", Family.NORMALIZE, ("operand",), FREM, ("axis",), composite=True),
        Op("logsumexp", Family.FIBER, ("operand",), FREM, ("axis",), composite=True),
        Op("rms_norm", Family.FIBER, ("operand", "weight"), FREM, ("axis", "eps"),
           composite=True),
        Op("layer_norm", Family.FIBER, ("operand", "weight", "bias"), FREM, ("axis", "eps"),
           composite=True),
        Op("gather", Family.INDEXING, ("values", "indices"), ANY, device=False),
        Op("take_along_axis", Family.INDEXING, ("values", "indices"), ANY, ("axis",),
           device=False),
        Op("iota", Family.COUNTING, (), frozenset({"I64"}), ("dims", "axis"), device=False),
        Op("random_uniform", Family.RANDOM, ("seed",), frozenset({"I64"}), ("dims",), device=False,
           named=("seed",)),
        Op("transpose", Family.LAYOUT, ("operand",), ANY, ("axes",)),
        Op("slice", Family.LAYOUT, ("operand", "start"), ANY, ("axis", "size"), device=False,
           named=("start",)),
        Op("concat", Family.LAYOUT, ("inputs",), ANY, ("axis",), variadic=True),
        Op("update", Family.LAYOUT, ("operand", "new", "at"), ANY, ("axis",), device=False,
           named=("at",)),
        Op("cast", Family.CAST, ("operand",), ANY, ("dtype",)),
        Op("cumsum", Family.SCAN, ("operand",), NUMERIC, ("axis",)),
        Op("top_k", Family.SELECTION, ("operand",), NUMERIC, ("k", "axis"), device=False),
        Op("matmul", Family.CONTRACTION, ("left", "right"), NUMERIC, composite=True),
    )
}  # fmt: skip
"""Every operation by its name."""

REDUCTIONS: dict[str, Reduction] = {
    reduction.name: reduction
    for reduction in (
        Reduction("sum", NUMERIC),
        Reduction("max", NUMERIC),
        Reduction("min", NUMERIC),
        Reduction("mean", FREM),
        Reduction("argmax", NUMERIC, device=False, gives="I64"),
        Reduction("argmin", NUMERIC, device=False, gives="I64"),
        Reduction("prod", NUMERIC),
        Reduction("any", frozenset({"Bool"})),
        Reduction("all", frozenset({"Bool"})),
    )
}
"""Every word that `op=` takes."""

BINARY_SYMBOLS: dict[str, str] = {
    op.symbol: op.name for op in OPS.values() if len(op.operands) == 2 and op.symbol
}
"""`+` to `add`, and so on."""

COMPARISONS = frozenset(op.symbol for op in OPS.values() if op.family is Family.COMPARE)
"""The operators that compare."""
