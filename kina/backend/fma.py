"""A fused multiply-add for targets that have none (on LLVM IR text).

x86-64-v2 has no such instruction; LLVM would call libm's `fmaf` for each element. Here every type
of `llvm.fma` that a module calls becomes one function of its own. That for vectors is kept out of
line: 64 lanes would otherwise repeat its two dozen instructions at every step.

The product of two F32 is exact in F64. The sum is rounded to odd there (if inexact, the
neighbour with the odd last bit), which makes the second rounding, to F32, the only one that
counts: the same bits as the instruction. A NaN has no error, so nothing is added to it.
"""

from __future__ import annotations

import re

PIECE = 16
"""Lanes of one call: a few registers."""

_CALL = re.compile(r"@llvm\.fma\.(v(\d+))?f32\(")
_DECLARATION = re.compile(r"^declare [^\n]*@llvm\.fma\.(?:v\d+)?f32\([^\n]*\n", re.MULTILINE)

# The error of the sum is Knuth's two-sum; where it has the other sign, the sum is too large.
_FUNCTION = """
define internal {f32} @{name}({f32} %a, {f32} %b, {f32} %c) {inline} {{
  %x = fpext {f32} %a to {f64}
  %y = fpext {f32} %b to {f64}
  %z = fpext {f32} %c to {f64}
  %product = fmul {f64} %x, %y
  %sum = fadd {f64} %product, %z
  %z_part = fsub {f64} %sum, %product
  %product_part = fsub {f64} %sum, %z_part
  %product_error = fsub {f64} %product, %product_part
  %z_error = fsub {f64} %z, %z_part
  %error = fadd {f64} %product_error, %z_error
  %bits = bitcast {f64} %sum to {i64}
  %error_bits = bitcast {f64} %error to {i64}
  %last = and {i64} %bits, {one}
  %even = icmp eq {i64} %last, zeroinitializer
  %inexact = fcmp one {f64} %error, zeroinitializer
  %tweak = and {i1} %even, %inexact
  %signs = xor {i64} %bits, %error_bits
  %too_large = icmp slt {i64} %signs, zeroinitializer
  %toward = select {i1} %too_large, {i64} {minus_one}, {i64} {one}
  %step = select {i1} %tweak, {i64} %toward, {i64} zeroinitializer
  %odd_bits = add {i64} %bits, %step
  %odd = bitcast {i64} %odd_bits to {f64}
  %result = fptrunc {f64} %odd to {f32}
  ret {f32} %result
}}
"""


def emulate(llvm_ir: str) -> str:
    """`llvm_ir` with functions of its own in the place of `llvm.fma` on F32."""
    lanes = {int(count or 0) for _, count in _CALL.findall(llvm_ir)}
    if not lanes:
        return llvm_ir
    called = _CALL.sub(lambda call: f"@{_name(int(call[2] or 0))}(", _DECLARATION.sub("", llvm_ir))
    wide = sorted(count for count in lanes if _is_cut(count))
    kernels = sorted((lanes - set(wide)) | ({PIECE} if wide else set()))
    return called + "".join([*map(_function, kernels), *map(_pieces, wide)])


def _is_cut(lanes: int) -> bool:
    """Whether a vector goes through the function in pieces: whole ones are rows of registers."""
    return lanes > PIECE and lanes % PIECE == 0


def _name(lanes: int) -> str:
    return f"kina.fma.{lanes or 1}"


def _function(lanes: int) -> str:
    """The function for vectors of `lanes` elements; 0 means scalars."""
    types = {
        name: f"<{lanes} x {scalar}>" if lanes else scalar
        for name, scalar in (("f32", "float"), ("f64", "double"), ("i64", "i64"), ("i1", "i1"))
    }
    one, minus_one = ("splat (i64 1)", "splat (i64 -1)") if lanes else ("1", "-1")
    inline = "noinline" if lanes else "alwaysinline"  # a scalar's loop may become vectors yet
    text = _FUNCTION.format(name=_name(lanes), inline=inline, one=one, minus_one=minus_one, **types)
    # A scalar has no zeroinitializer: its zeros are 0 and 0.0.
    return text if lanes else _scalar_zeros(text)


def _pieces(lanes: int) -> str:
    """The function for long vectors: calls on pieces, inlined, so that no frame holds the whole."""
    wide, piece = f"<{lanes} x float>", f"<{PIECE} x float>"
    header = f"{wide} @{_name(lanes)}({wide} %a, {wide} %b, {wide} %c)"
    lines = ["", f"define internal {header} alwaysinline {{"]
    for first in range(0, lanes, PIECE):
        chosen = _indices(range(first, first + PIECE))
        parts = [f"%{operand}{first}" for operand in "abc"]
        lines += [
            f"  {part} = shufflevector {wide} {part[:2]}, {wide} poison, {chosen}" for part in parts
        ]
        taken = ", ".join(f"{piece} {part}" for part in parts)
        lines.append(f"  %r{first} = call {piece} @{_name(PIECE)}({taken})")
    made = [f"%r{first}" for first in range(0, lanes, PIECE)]
    width = PIECE
    while len(made) > 1:
        pairs = list(zip(made[::2], made[1::2], strict=True))
        made = [f"%j{2 * width}.{number}" for number in range(len(pairs))]
        half, chosen = f"<{width} x float>", _indices(range(2 * width))
        lines += [
            f"  {name} = shufflevector {half} {left}, {half} {right}, {chosen}"
            for name, (left, right) in zip(made, pairs, strict=True)
        ]
        width *= 2
    return "\n".join([*lines, f"  ret {wide} {made[0]}", "}", ""])


def _indices(chosen: range) -> str:
    return f"<{len(chosen)} x i32> <{', '.join(f'i32 {i}' for i in chosen)}>"


def _scalar_zeros(text: str) -> str:
    return text.replace("%error, zeroinitializer", "%error, 0.0").replace("zeroinitializer", "0")
