"""Gradients of whole models against PyTorch and JAX, where they are installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import kina

PROGRAM = """
let nll = fn(x: tensor<F32, [B, T, V]>, t: tensor<I64, [B, T]>) -> tensor<F32, []> {
  let each = -x.log_softmax(axis=2).take_along_axis(t, axis=2) in
  each.reduce(op=mean, axis=1).reduce(op=sum, axis=0)
}
let dnll = reverseMode(nll)

let model = fn(
  table: tensor<F32, [V, D]>, w: tensor<F32, [D, V]>, b: tensor<F32, [V]>,
  ids: tensor<I64, [N]>, t: tensor<I64, [N]>
) -> tensor<F32, []> {
  let h = table.gather(ids) in
  let square = (h * h).reduce_keep(op=mean, axis=1) in
  let h = h / sqrt(square + 0.00001).broadcast([N, D]) in
  let products = h.reshape([N, D, 1]).broadcast([N, D, V]) * w.broadcast([N, D, V]) in
  let logits = products.reduce(op=sum, axis=1) + b.broadcast([N, V]) in
  (-logits.log_softmax(axis=1).take_along_axis(t, axis=1)).reduce(op=mean, axis=0)
}
let dmodel = reverseMode(model)

let mixed = fn(x: tensor<F32, [N, M]>, y: tensor<F32, [N, M]>) -> tensor<F32, [N]> {
  let p = (x / (exp(y) + 1.0)).softmax(axis=0) in
  let q = log(p + 0.5) * y - x in
  q.reduce(op=max, axis=1) + (q * q).reduce(op=min, axis=1)
}
let dmixed = reverseMode(mixed)
"""


@pytest.fixture(scope="module")
def m() -> kina.Module:
    return kina.compile(PROGRAM)


def arguments(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(7)

    def floats(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    return {
        "nll": [floats(2, 5, 300) * 3, rng.integers(0, 300, (2, 5))],
        "model": [floats(11, 8), floats(8, 11), floats(11),
                  rng.integers(0, 11, 40), rng.integers(0, 11, 40)],
        "mixed": [floats(6, 9), floats(6, 9)],
    }[name]  # fmt: skip


def nll(lib: Any, x: Any, t: Any) -> Any:
    logp = lib.log_softmax(x, 2)
    return -lib.take(logp, t, 2).mean(1).sum(0)


def model(lib: Any, table: Any, w: Any, b: Any, ids: Any, t: Any) -> Any:
    h = table[ids]
    h = h / lib.sqrt((h * h).mean(1)[:, None] + 0.00001)
    return -lib.take(lib.log_softmax(h @ w + b, 1), t, 1).mean(0)


def mixed(lib: Any, x: Any, y: Any) -> Any:
    p = lib.softmax(x / (lib.exp(y) + 1.0), 0)
    q = lib.log(p + 0.5) * y - x
    return lib.amax(q, 1) + lib.amin(q * q, 1)


TWINS: dict[str, Callable[..., Any]] = {"nll": nll, "model": model, "mixed": mixed}


class Torch:
    """The operations of the twins, in PyTorch."""

    def __init__(self) -> None:
        torch = import_module("torch")
        self.exp, self.log, self.sqrt = torch.exp, torch.log, torch.sqrt
        self.log_softmax, self.softmax = torch.log_softmax, torch.softmax
        self.amax, self.amin = torch.amax, torch.amin

    def take(self, values: Any, indices: Any, axis: int) -> Any:
        return values.gather(axis, indices.unsqueeze(axis)).squeeze(axis)


class Jax:
    """The operations of the twins, in JAX."""

    def __init__(self) -> None:
        jnp, nn = import_module("jax.numpy"), import_module("jax.nn")
        self.exp, self.log, self.sqrt = jnp.exp, jnp.log, jnp.sqrt
        self.log_softmax, self.softmax = nn.log_softmax, nn.softmax
        self.amax, self.amin = jnp.max, jnp.min
        self._jnp = jnp

    def take(self, values: Any, indices: Any, axis: int) -> Any:
        expanded = self._jnp.expand_dims(indices, axis)
        return self._jnp.take_along_axis(values, expanded, axis).squeeze(axis)


def compare(m: kina.Module, name: str, wanted: Sequence[np.ndarray]) -> None:
    given = arguments(name)
    function = m[f"d{name}"]
    if len(function.type.parameters) > len(given):
        given.append(cotangent(name))
    got = function(*given)
    for left, right in zip(got, wanted, strict=True):
        np.testing.assert_allclose(left, right, rtol=2e-5, atol=2e-6)


def cotangent(name: str) -> np.ndarray:
    return np.random.default_rng(8).standard_normal(6 if name == "mixed" else ()).astype(np.float32)


@pytest.mark.parametrize("name", TWINS)
def test_against_pytorch(torch: Any, m: kina.Module, name: str) -> None:
    tensors = [torch.tensor(array) for array in arguments(name)]
    floating = [tensor for tensor in tensors if tensor.is_floating_point()]
    for tensor in floating:
        tensor.requires_grad_()
    value = TWINS[name](Torch(), *tensors)
    ct = torch.tensor(cotangent(name)) if value.ndim else torch.ones(())
    slopes = torch.autograd.grad(value, floating, ct)
    compare(m, name, [value.detach().numpy(), *(slope.numpy() for slope in slopes)])


@pytest.mark.parametrize("name", TWINS)
def test_against_jax(jax: Any, m: kina.Module, name: str) -> None:
    arrays = arguments(name)
    count = sum(array.dtype == np.float32 for array in arrays)

    def floating(*inputs: Any) -> Any:
        return TWINS[name](Jax(), *inputs, *arrays[count:])

    value, pull = jax.vjp(floating, *arrays[:count])
    ct = cotangent(name) if value.ndim else np.float32(1)
    compare(m, name, [np.asarray(value), *(np.asarray(slope) for slope in pull(ct))])
