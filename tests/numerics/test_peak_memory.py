"""What a call takes beside its arguments and results, in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = {
    "nll": "-x.log_softmax(axis=1).take_along_axis(t, axis=1)",
    "argmax": "x.reduce(op=argmax, axis=1).cast(F32)",
}
SCRIPT = """
import sys
from pathlib import Path

import numpy as np

import kina

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

text = "let f = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {{ {} }}"
f = kina.compile(text.format(sys.argv[1])).f
x, t = np.ones((512, 50257), np.float32), np.zeros(512, np.int64)
kina.set_num_threads(2)
f(x[:40], t[:40])  # starts the second thread
before = peak()
f(x, t)
print(peak() - before, x.nbytes)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize("name", PROGRAMS)
def test_less_than_a_megabyte_over_the_inputs(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, PROGRAMS[name]], capture_output=True, text=True, check=True
    )
    rise, logits = map(int, done.stdout.split())
    assert logits > 100_000_000
    assert rise < 1_000_000
