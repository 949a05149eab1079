"""`examples/losses` and `examples/blocks` beside PyTorch's own functions, gradients too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import kina

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = {
    "divergence": "losses/entropy",
    "rms_block": "blocks/norms",
    "layer_block": "blocks/norms",
    "multi_head": "blocks/attention",
    "grouped_query": "blocks/attention",
    "attend": "blocks/kv_cache",
    "int8": "blocks/quantised",
    "int4": "blocks/quantised",
    "step": "blocks/adamw",
}
"""Where a function stands; a loss has a file of its own."""
MORE = {
    "blocks/norms": "let dlayer_block = reverseMode(layer_block)",
    "blocks/attention": "let dmulti_head = reverseMode(multi_head, wrt=[x, wq, wk, wv, wo])",
    "blocks/kv_cache": "let dattend = reverseMode(attend, wrt=[keys, values, q, k, v])",
}
"""Gradients that the examples do not have."""
N, V = 6, 11


@cache
def example(name: str) -> kina.Module:
    return kina.compile((EXAMPLES / f"{name}.kina").read_text() + MORE.get(name, ""))


def module_of(name: str) -> kina.Module:
    """The example that has a function."""
    return example(FILES.get(name, f"losses/{name}"))


class Case(NamedTuple):
    """A function, what PyTorch calls it, its arguments, and what it is differentiated by."""

    twin: Callable[..., Any]
    arguments: Sequence[Any]
    wrt: Sequence[int] = (0,)
    extra: Sequence[int] = ()
    """Sizes behind the arguments."""
    slope: bool = True


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def picked(logits: Any, indices: Any) -> Any:
    logp = logits.log_softmax(-1)
    return logp.gather(-1, indices[..., None])[..., 0]


class Twins:
    """The examples, in PyTorch."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.functional = torch, import_module("torch.nn.functional")

    def entropy(self, x: Any) -> Any:
        return self.torch.distributions.Categorical(logits=x).entropy()

    def divergence(self, x: Any, y: Any) -> Any:
        kind = self.torch.distributions.Categorical
        return self.torch.distributions.kl_divergence(kind(logits=x), kind(logits=y))

    def distillation(self, student: Any, teacher: Any, heat: Any) -> Any:
        logp, logq = (teacher / heat).log_softmax(1), (student / heat).log_softmax(1)
        return self.functional.kl_div(logq, logp, reduction="batchmean", log_target=True) * heat**2

    def ppo(self, x: Any, actions: Any, old: Any, advantage: Any) -> Any:
        ratio = (picked(x, actions) - old).exp()
        return -self.torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()

    def shifted(self, x: Any, tokens: Any) -> Any:
        each = self.functional.cross_entropy(
            x[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none"
        )
        return each.mean(1)

    def z_loss(self, x: Any, t: Any) -> Any:
        return self.functional.cross_entropy(x, t) + 1e-4 * (x.logsumexp(1) ** 2).mean()

    def rms_block(self, x: Any, norm: Any, gate: Any, up: Any, down: Any) -> Any:
        h = self.functional.rms_norm(x, norm.shape, norm, 1e-6)
        return x + (self.functional.silu(h @ gate) * (h @ up)) @ down

    def layer_block(self, x: Any, weight: Any, bias: Any, up: Any, down: Any) -> Any:
        h = self.functional.layer_norm(x, weight.shape, weight, bias, 1e-5)
        return x + self.functional.gelu(h @ up) @ down

    def rotate(self, x: Any, cosine: Any, sine: Any) -> Any:
        a, b = x.chunk(2, -1)
        return self.torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)

    def attention(self, groups: int, queries: int) -> Callable[..., Any]:
        def run(x: Any, wq: Any, wk: Any, wv: Any, wo: Any, cosine: Any, sine: Any) -> Any:
            q, k, v = (
                (x @ w).unflatten(-1, (count, -1)).transpose(1, 2)
                for w, count in ((wq, groups * queries), (wk, groups), (wv, groups))
            )
            heads = self.functional.scaled_dot_product_attention(
                self.rotate(q, cosine, sine), self.rotate(k, cosine, sine), v,
                is_causal=True, enable_gqa=True,
            )  # fmt: skip
            return heads.transpose(1, 2).flatten(2) @ wo

        return run

    def attend(self, keys: Any, values: Any, q: Any, k: Any, v: Any, at: Any) -> Any:
        place = self.torch.arange(keys.shape[2]) == at
        keys = self.torch.where(place[:, None], k, keys)
        values = self.torch.where(place[:, None], v, values)
        seen = self.torch.arange(keys.shape[2]) <= at
        heads = self.functional.scaled_dot_product_attention(q, keys, values, attn_mask=seen[None])
        return keys, values, heads

    def int4(self, x: Any, packed: Any, scale: Any) -> Any:
        low = self.torch.where((packed & 15) > 7, (packed & 15) - 16, packed & 15)
        return x @ self.torch.cat([low, packed >> 4]).float() * scale


def heads(groups: int, queries: int) -> list[np.ndarray]:
    """The arguments of an attention."""
    wide, narrow = 6 * groups * queries, 6 * groups
    shapes = [(2, 4, 7), (7, wide), (7, narrow), (7, narrow), (wide, 7)]
    angle = np.arange(4)[:, None] * 10000.0 ** -(np.arange(3) / 3)
    tables = [np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)]
    return [*(floats(*shape, seed=i) for i, shape in enumerate(shapes)), *tables]


def cases(torch: Any) -> dict[str, Case]:
    twins = Twins(torch)
    functional = twins.functional
    random = np.random.default_rng(3)
    logits, targets = floats(N, V), random.integers(0, V, N)
    ignored = np.where(np.arange(N) % 3 == 1, -100, targets)

    old = floats(N, seed=2) * 0.1 - 2.4
    mlp = [floats(2, 4, 8), floats(8), floats(8, seed=1), floats(8, 12), floats(12, 8)]
    weight = random.integers(-128, 128, (8, 5)).astype(np.int8)
    cache_ = [floats(2, 3, 5, 4, seed=s) for s in (0, 1)]
    one = [floats(2, 3, 1, 4, seed=s) for s in (2, 3, 4)]

    return {
        "cross_entropy": Case(functional.cross_entropy, [logits, ignored]),
        "label_smoothing": Case(
            lambda x, t: functional.cross_entropy(x, t, label_smoothing=0.1), [logits, ignored]
        ),
        "entropy": Case(twins.entropy, [logits]),
        "divergence": Case(twins.divergence, [logits, floats(N, V, seed=1)], (0, 1)),
        "distillation": Case(twins.distillation, [logits, floats(N, V, seed=1), np.float32(2.5)]),
        "ppo": Case(twins.ppo, [logits, targets, old, floats(N, seed=5)]),
        "shifted": Case(twins.shifted, [floats(3, 5, V), random.integers(0, V, (3, 5))]),
        "soft_cap": Case(lambda x, t: -picked(30 * (x / 30).tanh(), t), [logits * 20, targets]),
        "z_loss": Case(twins.z_loss, [logits, targets]),
        "rms_block": Case(
            twins.rms_block, [mlp[0], mlp[1], mlp[3], mlp[3] + 1, mlp[4]], (0, 1, 2, 3, 4)
        ),
        "layer_block": Case(twins.layer_block, mlp, (0, 1, 2, 3, 4)),
        "multi_head": Case(twins.attention(3, 1), heads(3, 1), (0, 1, 2, 3, 4), (3,)),
        "grouped_query": Case(twins.attention(2, 3), heads(2, 3), (0, 1), (2, 3)),
        "attend": Case(twins.attend, [*cache_, *one, np.int64(2)], (0, 1, 2, 3, 4)),
        "int8": Case(
            lambda x, w, s: x @ w.float() * s, [floats(3, 8), weight, floats(5) / 64], (0, 2)
        ),
        "int4": Case(twins.int4, [floats(3, 8), weight[:4], floats(5) / 64], (0, 2)),
    }


NAMES = [
    *("cross_entropy", "label_smoothing", "entropy", "divergence", "distillation", "ppo"),
    *("shifted", "soft_cap", "z_loss", "rms_block", "layer_block", "multi_head"),
    *("grouped_query", "attend", "int8", "int4"),
]


def results(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", NAMES)
def test_against_pytorch(torch: Any, name: str) -> None:
    case = cases(torch)[name]
    tensors = [torch.tensor(array) for array in case.arguments]
    by = [tensors[place].requires_grad_() for place in case.wrt]
    values = results(case.twin(*tensors))
    cts = [floats(*value.shape, seed=9) for value in values]
    given = [ct for ct, value in zip(cts, values, strict=True) if value.ndim]
    total = sum(
        (value * (torch.tensor(ct) if value.ndim else 1)).sum()
        for value, ct in zip(values, cts, strict=True)
    )
    slopes = torch.autograd.grad(total, by)
    got = results(module_of(name)[f"d{name}"](*case.arguments, *case.extra, *given))
    plain = results(module_of(name)[name](*case.arguments, *case.extra))
    wanted = [*(value.detach().numpy() for value in values), *(s.numpy() for s in slopes)]
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted, strict=True):
        np.testing.assert_allclose(
            ours, theirs, rtol=3e-5, atol=3e-6 * max(1, np.abs(theirs).max())
        )
    for ours, theirs in zip(plain, got, strict=False):
        assert ours.tobytes() == theirs.tobytes()


def test_adamw_against_pytorch(torch: Any) -> None:
    """Three steps of `torch.optim.AdamW`."""
    functional = import_module("torch.nn.functional")
    x, targets = floats(N, 3), np.random.default_rng(1).integers(0, V, N)
    weight, bias = (torch.tensor(floats(*shape)).requires_grad_() for shape in ((3, V), (V,)))
    optimizer = torch.optim.AdamW([weight, bias], lr=0.1, weight_decay=0.01)
    p: Any = {"weight": floats(3, V), "bias": floats(V)}
    zero = {"weight": np.zeros((3, V), np.float32), "bias": np.zeros(V, np.float32)}
    state: Any = {"m": zero, "v": zero, "scale_m": np.float32(0), "scale_v": np.float32(0)}
    for _ in range(3):
        optimizer.zero_grad()
        loss = functional.cross_entropy(torch.tensor(x) @ weight + bias, torch.tensor(targets))
        loss.backward()
        optimizer.step()
        p, state, ours = module_of("step").step(p, state, x, targets, np.float32(0.1))
        np.testing.assert_allclose(ours, loss.detach().numpy(), rtol=1e-5)
        np.testing.assert_allclose(p.weight, weight.detach().numpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(p.bias, bias.detach().numpy(), rtol=1e-4, atol=1e-5)
