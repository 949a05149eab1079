"""The operation class of every row of the op table, and how to build one by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.ir import SSAValue

from kina.dialects.base import KinaOp
from kina.lazy import LazyTable
from kina.ops import OPS
from kina.rules.parts import Attributes

OP_CLASSES: LazyTable[type[KinaOp]] = LazyTable(
    "kina.dialects",
    {
        "neg": "elementwise.NegOp",
        "exp": "elementwise.ExpOp",
        "log": "elementwise.LogOp",
        "expm1": "functions.Expm1Op",
        "log1p": "functions.Log1pOp",
        "tanh": "functions.TanhOp",
        "erf": "functions.ErfOp",
        "sqrt": "functions.SqrtOp",
        "abs": "functions.AbsOp",
        "floor": "functions.FloorOp",
        "ceil": "functions.CeilOp",
        "round": "functions.RoundOp",
        "stop_gradient": "elementwise.StopGradientOp",
        "sigmoid": "activations.SigmoidOp",
        "log_sigmoid": "activations.LogSigmoidOp",
        "softplus": "activations.SoftplusOp",
        "silu": "activations.SiluOp",
        "gelu": "activations.GeluOp",
        "gelu_tanh": "activations.GeluTanhOp",
        "xlogy": "activations.XlogyOp",
        "add": "elementwise.AddOp",
        "sub": "elementwise.SubOp",
        "mul": "elementwise.MulOp",
        "div": "elementwise.DivOp",
        "maximum": "elementwise.MaximumOp",
        "minimum": "elementwise.MinimumOp",
        "clamp": "elementwise.ClampOp",
        "cast": "elementwise.CastOp",
        "equal": "choice.EqualOp",
        "not_equal": "choice.NotEqualOp",
        "less": "choice.LessOp",
        "less_equal": "choice.LessEqualOp",
        "greater": "choice.GreaterOp",
        "greater_equal": "choice.GreaterEqualOp",
        "logical_and": "choice.LogicalAndOp",
        "logical_or": "choice.LogicalOrOp",
        "logical_not": "choice.LogicalNotOp",
        "select": "choice.SelectOp",
        "rem": "integers.RemOp",
        "bit_and": "integers.BitAndOp",
        "bit_or": "integers.BitOrOp",
        "bit_xor": "integers.BitXorOp",
        "shift_left": "integers.ShiftLeftOp",
        "shift_right": "integers.ShiftRightOp",
        "broadcast": "shaping.BroadcastOp",
        "reshape": "shaping.ReshapeOp",
        "iota": "layout.IotaOp",
        "transpose": "layout.TransposeOp",
        "concat": "layout.ConcatOp",
        "slice": "layout.SliceOp",
        "update": "layout.UpdateOp",
        "reduce": "reduce.ReduceOp",
        "reduce_keep": "reduce.ReduceKeepOp",
        "softmax": "normalize.SoftmaxOp",
        "log_softmax": "normalize.LogSoftmaxOp",
        "logsumexp": "fibers.LogSumExpOp",
        "rms_norm": "fibers.RmsNormOp",
        "layer_norm": "fibers.LayerNormOp",
        "take_along_axis": "indexing.TakeAlongAxisOp",
        "gather": "indexing.GatherOp",
        "matmul": "contraction.MatmulOp",
        "cumsum": "scan.CumsumOp",
        "random_uniform": "random.RandomUniformOp",
        "top_k": "selection.TopKOp",
    },
)


def build(name: str, operands: Sequence[SSAValue], attributes: Attributes) -> KinaOp:
    """Operation `name` of the op table; a `RuleError` where its type rule is broken."""
    arguments = [attributes[key] for key in OPS[name].attributes]
    make = cast("Callable[..., KinaOp]", OP_CLASSES[name])
    given = [operands] if OPS[name].variadic else operands
    return make(*given, *arguments)
