"""Kina's loss as a JAX function with a gradient: `python examples/recipes/with_jax.py`.

The callback runs on the host: on a CPU the arrays are shared, elsewhere JAX copies them.
"""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import kina

loss = kina.load(Path(__file__).parent / "loss.kina")


def host_nll(logits: Array, targets: Array) -> np.ndarray:
    """Called with concrete arrays; JAX's integers have 32 bits, Kina's indices 64."""
    return loss.nll(np.asarray(logits), np.asarray(targets, np.int64))


def host_slope(logits: Array, targets: Array, cotangent: Array) -> np.ndarray:
    return loss.dnll(np.asarray(logits), np.asarray(targets, np.int64), np.asarray(cotangent))[1]


@jax.custom_vjp
def nll(logits: Array, targets: Array) -> Array:
    """The negative log-likelihood of each row: F32 [B, V] and integers [B] to F32 [B]."""
    result = jax.ShapeDtypeStruct(targets.shape, logits.dtype)
    return jax.pure_callback(host_nll, result, logits, targets, vmap_method="sequential")


def forward(logits: Array, targets: Array) -> tuple[Array, tuple[Array, Array]]:
    return nll(logits, targets), (logits, targets)


def backward(saved: tuple[Array, Array], cotangent: Array) -> tuple[Array, None]:
    logits, targets = saved
    result = jax.ShapeDtypeStruct(logits.shape, logits.dtype)
    arguments = (logits, targets, cotangent)
    return jax.pure_callback(host_slope, result, *arguments, vmap_method="sequential"), None


nll.defvjp(forward, backward)


def theirs(logits: Array, targets: Array) -> Array:
    """The same in JAX alone."""
    logp = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logp, targets[:, None], axis=1).mean()


def main() -> None:
    """Compare value and gradient with JAX's own, compiled by `jit`."""
    logits = jax.random.normal(jax.random.key(0), (4, 10))
    targets = jnp.array([0, 9, 3, 3])
    ours = jax.jit(jax.value_and_grad(lambda x: nll(x, targets).mean()))
    value, slope = ours(logits)
    wanted, wanted_slope = jax.value_and_grad(theirs)(logits, targets)
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    np.testing.assert_allclose(slope, wanted_slope, atol=1e-6)
    print(f"JAX: loss {value:.4f}, the gradients agree")


if __name__ == "__main__":
    main()
