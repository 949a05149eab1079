"""Call the three StoryLM-0 programs: the loss, the greedy and the sampled token of four positions.

Everything is printed beside what NumPy computes in float64.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kina

HERE = Path(__file__).parent
random = np.random.RandomState(0)
logits = (random.randint(-20, 21, (1, 4, 8)) / 8).astype(np.float32)
targets = np.array([[3, 0, 7, 2]])
u = random.uniform(1e-6, 1 - 1e-6, (1, 4, 8)).astype(np.float32)
temperature = np.full((1, 1), 0.8, np.float32)
logits[0, 1, 6] = logits[0, 1, 2] = logits[0, 1].max()  # a tie: the lower index wins

loss = kina.load(HERE / "storylm0_nll.kina").nll(logits, targets)
greedy = kina.load(HERE / "storylm0_greedy.kina").greedy(logits)
sample = kina.load(HERE / "storylm0_sample.kina").sample(logits, u, temperature)

exact = logits.astype(np.float64)
logp = exact - np.log(np.exp(exact).sum(axis=2, keepdims=True))
expected_loss = -np.take_along_axis(logp, targets[..., None], axis=2)[..., 0]
scores = exact / temperature - np.log(-np.log(u.astype(np.float64)))
expected_greedy, expected_sample = logits.argmax(axis=2), scores.argmax(axis=2)

print(f"{'logits':^45}  target  loss (NumPy)         greedy  sampled (T = 0.8)")
for t in range(4):
    row = " ".join(f"{value:5.2f}" for value in logits[0, t])
    print(
        f"{row:<47}  {targets[0, t]:>6}  {loss[0, t]:.5f} ({expected_loss[0, t]:.5f})  "
        f"{greedy[0, t]} ({expected_greedy[0, t]})  {sample[0, t]} ({expected_sample[0, t]})"
    )
