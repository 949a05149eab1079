"""Functions of one element, but for those of a softmax."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from kina.dialects.elementwise import UnaryOp


@irdl_op_definition
class Expm1Op(UnaryOp):
    """`exp(x) - 1`, as precise near 0 as anywhere."""

    name = "kina.expm1"


@irdl_op_definition
class Log1pOp(UnaryOp):
    """`log(1 + x)`, as precise near 0 as anywhere."""

    name = "kina.log1p"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "kina.tanh"


@irdl_op_definition
class ErfOp(UnaryOp):
    """The error function."""

    name = "kina.erf"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The correctly rounded square root."""

    name = "kina.sqrt"


@irdl_op_definition
class AbsOp(UnaryOp):
    """The magnitude; the lowest integer is its own."""

    name = "kina.abs"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The largest integer that is not above each element."""

    name = "kina.floor"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The smallest integer that is not below each element."""

    name = "kina.ceil"


@irdl_op_definition
class RoundOp(UnaryOp):
    """The nearest integer, the even one of two."""

    name = "kina.round"
