"""Temporaries that no memory holds: an error, never an allocation of a wrapped size."""

import numpy as np
import pytest

import kina

POWERS = """
let power = fn(x: tensor<F32, [A]>) -> tensor<F32, []> {
  x.reshape([A, 1, 1, 1]).broadcast([A, A, A, A]).softmax(axis=1)
   .reduce(op=sum, axis=0).reduce(op=sum, axis=0).reduce(op=sum, axis=0).reduce(op=sum, axis=0)
}
let square = fn(x: tensor<I64, [A, 2]>) -> tensor<I64, []> {
  x.reshape([A, 1, 2]).broadcast([A, A, 2])
   .reduce(op=sum, axis=0).reduce(op=max, axis=0).reduce(op=sum, axis=0)
}
"""


def test_a_size_past_64_bits_is_out_of_memory() -> None:
    module = kina.compile(POWERS)
    with pytest.raises(MemoryError):
        module.power(np.ones(65536, np.float32))


def test_the_same_functions_work_where_memory_holds_their_temporaries() -> None:
    module = kina.compile(POWERS)
    assert module.power(np.ones(6, np.float32)) == pytest.approx(216)
    rows = np.arange(10).reshape(5, 2)
    assert module.square(rows) == 20 + 25


def test_a_static_tensor_past_the_limit_is_refused() -> None:
    with pytest.raises(kina.KinaTypeError, match=r"takes more than 2\^60 - 1 bytes"):
        kina.compile(
            "let f = fn(x: tensor<F32, [1]>) -> tensor<F32, []> {\n"
            "  x.broadcast([1000000000, 1000000000, 1]).reduce(op=sum, axis=0)\n"
            "   .reduce(op=sum, axis=0).reduce(op=sum, axis=0)\n}"
        )
