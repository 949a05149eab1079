"""Programs that are hard to cut into kernels: reshapes, checks and reads between them.

Each is exact, so both pipelines give the bits of the reference.
"""

from __future__ import annotations

import pytest

from helpers.same import check_both_ways

SIZES = (
    {"A": 2, "B": 3, "C": 5, "V": 5, "D": 3, "N": 4, "one": 1},
    {"A": 1, "B": 1, "C": 1, "V": 1, "D": 1, "N": 1, "one": 1},
    {"A": 65, "B": 7, "C": 66, "V": 70, "D": 65, "N": 9, "one": 1},
    {"A": 3, "B": 70, "C": 1, "V": 2, "D": 130, "N": 1, "one": 1},
)

RESHAPES = """
let collapsed = fn(x: tensor<I32, [A, B]>) -> (tensor<I32, [B, A]>, tensor<I32, [A]>) {
  let t = x.reshape([B, A]) in
  (t - t.reduce_keep(op=max, axis=0).broadcast([B, A]), t.reduce(op=min, axis=0))
}
let there_and_back = fn(x: tensor<F32, [A, B]>) -> (
  tensor<F32, [B, A]>, tensor<F32, [A, B]>, tensor<F32, [A, B]>
) {
  let z = x * 2.0 in
  (z.reshape([B, A]), z, z + z.reshape([B, A]).reshape([A, B]))
}
let between = fn(x: tensor<I32, [A, 6]>) -> tensor<I32, [A, 2]> {
  (x.reduce_keep(op=sum, axis=1).broadcast([A, 6]) - x).reshape([A, 2, 3]).reduce(op=sum, axis=2)
}
let read_with_its_source = fn(x: tensor<I32, [A, B]>) -> (
  tensor<I32, [A, B]>, tensor<I32, [A, B]>, tensor<I32, [A]>
) {
  let y = x * 3 in
  let r = y.reshape([B, A]).reshape([A, B]) in
  let flipped = (y + 1).reshape([B, A]) in
  (y, x + r, x.reduce(op=sum, axis=1) + flipped.reduce(op=max, axis=0))
}
let static = fn(x: tensor<I32, [4, 6]>) -> (
  tensor<I32, [4, 6]>, tensor<I32, [4]>, tensor<I32, [6]>
) {
  let y = x * x in
  let r = (y - 1).reshape([6, 4]) in
  let columns = y.reduce(op=min, axis=0) * r.reduce(op=sum, axis=1) in
  (y, x.reduce(op=sum, axis=1) + r.reduce(op=max, axis=0), columns)
}
let unit_view_of_computed = fn(x: tensor<I32, [V, 1, D]>, in_V: tensor<I64, [N]>) -> (
  tensor<I32, [N, D]>, tensor<I32, [V, D]>
) {
  let table = (x * x - 1).reshape([V, D]) in
  (table.gather(in_V), table)
}
let only_gathered = fn(x: tensor<I32, [V, 1, D]>, in_V: tensor<I64, [N]>) -> tensor<I32, [N, D]> {
  (x * x - 1).reshape([V, D]).gather(in_V)
}
"""

CHECKS = """
let gathered_and_taken = fn(t: tensor<F32, [V, D]>, in_V: tensor<I64, [D]>) -> (
  tensor<F32, [D]>, tensor<F32, [D, D]>
) {
  let v = t.take_along_axis(t.reduce(op=argmax, axis=0), axis=0) in
  (v - t.take_along_axis(in_V, axis=0), t.gather(in_V) - v.broadcast([D, D]))
}
let checks_after_reads = fn(t: tensor<I64, [V, V]>, in_V: tensor<I64, [V]>) -> tensor<I64, [V]> {
  let q = t.take_along_axis(t.reduce(op=argmax, axis=1), axis=1) in
  t.take_along_axis(q * 0 + in_V, axis=0)
}
let several_index_axes = fn(t: tensor<F32, [V, D]>, in_V: tensor<I64, [N, 3]>) -> (
  tensor<F32, [N, 3, D]>, tensor<F32, [N, 3]>, tensor<I64, [N, D]>
) {
  let g = t.gather(in_V) in
  (g, g.reduce(op=max, axis=2), g.reduce(op=argmax, axis=1))
}
"""

# LLVM's instcombine, asked for once more at the end, is not done after one round here.
UNITS = """
let units = fn(
  x: tensor<I64, [31]>, y: tensor<I4, [A, B, 1, C, 1]>, in_one: tensor<I64, [A, B, C, 1]>
) -> (
  tensor<I4, [A, B, 1, C, 1]>, tensor<I4, [A, B, 1, C, 1]>, tensor<I64, [31]>,
  tensor<I4, [A, B, C, 1]>, tensor<I64, [31]>, tensor<I64, [1, 2, 2]>
) {
  let sums = y.reduce_keep(op=sum, axis=4) in
  let twice = y + sums in
  let taken = twice.take_along_axis(in_one, axis=2) in
  (sums, twice, -x, taken, x * x, tensor<I64, [1, 2, 2]>(-8))
}
"""


@pytest.mark.parametrize("text", [RESHAPES, CHECKS, UNITS], ids=["reshapes", "checks", "units"])
def test_both_ways(text: str) -> None:
    check_both_ways(text, SIZES)
