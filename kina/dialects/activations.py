"""Elementwise composites: activations and their parts."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from kina.dialects.elementwise import BinaryOp, UnaryOp


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """`1 / (1 + exp(-x))`."""

    name = "kina.sigmoid"


@irdl_op_definition
class LogSigmoidOp(UnaryOp):
    """`log(sigmoid(x))`."""

    name = "kina.log_sigmoid"


@irdl_op_definition
class SoftplusOp(UnaryOp):
    """`log(1 + exp(x))`."""

    name = "kina.softplus"


@irdl_op_definition
class SiluOp(UnaryOp):
    """`x * sigmoid(x)`."""

    name = "kina.silu"


@irdl_op_definition
class GeluOp(UnaryOp):
    """`x * (1 + erf(x / sqrt(2))) / 2`."""

    name = "kina.gelu"


@irdl_op_definition
class GeluTanhOp(UnaryOp):
    """The approximation of gelu by a tanh: `x * sigmoid(2 * sqrt(2/pi) * (x + 0.044715 * x^3))`."""

    name = "kina.gelu_tanh"


@irdl_op_definition
class XlogyOp(BinaryOp):
    """`x * log(y)`, and 0 where x is 0, whatever y is."""

    name = "kina.xlogy"
