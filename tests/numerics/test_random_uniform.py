"""random_uniform: Philox 4x32-10 in the order that the language page says.

That targets, threads and sizes change no bit: test_reproducible.py, `draws`.
"""

from __future__ import annotations

import numpy as np
import pytest

import kina
from helpers.philox import KNOWN, block, random_uniform
from kina.reference.philox import blocks

SIZES = ((), (1,), (7,), (65,), (3, 5), (2, 3, 8), (9, 1), (70, 3), (5, 130))
STATIC = "\n".join(
    f"let s{number} = fn(seed: tensor<I64, [2]>) -> tensor<F32, {list(shape)}> "
    f"{{ random_uniform({list(shape)}, seed=seed) }}"
    for number, shape in enumerate(SIZES)
)
SYMBOLIC = """
let n1 = fn(a: size, seed: tensor<I64, [2]>) -> tensor<F32, [a]> { random_uniform([a], seed=seed) }
let n2 = fn(a: size, b: size, seed: tensor<I64, [2]>) -> tensor<F32, [a, b]> {
  random_uniform([a, b], seed=seed)
}
let n3 = fn(a: size, b: size, c: size, seed: tensor<I64, [2]>) -> tensor<F32, [a, b, c]> {
  random_uniform([a, b, c], seed=seed)
}
"""
OTHERS = """
let large = fn(n: size, seed: tensor<I64, [2]>) -> (tensor<F32, [n]>, tensor<F32, [n]>) {
  let u = random_uniform([n], seed=seed) in
  (u, -(-u.log()).log())
}
let read = fn(x: tensor<F32, [B, N]>, seed: tensor<I64, [2]>) -> (
  tensor<I64, [B]>, tensor<F32, [B]>, tensor<F32, [N, B]>, tensor<F32, [B, 2]>, tensor<F32, [B]>,
  tensor<F32, [B * N]>
) {
  let u = random_uniform([B, N], seed=seed) in
  (
    (x - (-u.log()).log()).reduce(op=argmax, axis=1), (x * u).reduce(op=max, axis=1),
    u.transpose([1, 0]), u.slice(axis=1, start=1, size=2),
    u.take_along_axis((x * 0.0).reduce(op=argmax, axis=1), axis=1), u.reshape([B * N])
  )
}
let derived = fn(seed: tensor<I64, [2]>) -> (tensor<F32, [6]>, tensor<F32, [6]>) {
  let next = seed + iota([2], axis=0) * 2 in
  (random_uniform([6], seed=seed), random_uniform([6], seed=next))
}
let dropout = fn(x: tensor<F32, [N]>, seed: tensor<I64, [2]>) -> tensor<F32, [N]> {
  (random_uniform([N], seed=seed) < 0.5).select(x + x, 0.0)
}
let ddropout = reverseMode(dropout, wrt=[x])
let small = fn(seed: tensor<I64, [2]>) -> tensor<BF16, [9]> {
  random_uniform([9], seed=seed).cast(BF16)
}
"""
PROGRAM = STATIC + SYMBOLIC + OTHERS

SEEDS = [
    np.array(seed, np.int64)
    for seed in (
        (0, 0), (1, 2), (-1, -1), (2**40 + 3, 2**32 - 2), (-(2**63), 2**63 - 1),
        (0x299F31D0A4093822, -7),
    )
]  # fmt: skip
"""Among them offsets whose lower word, or whose whole, wraps within a few blocks."""


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(PROGRAM, name="random.kina", threads=False)


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_the_oracle_knows_the_known_answers(
    counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]
) -> None:
    assert block(counter, key) == words


def test_the_reference_gives_the_blocks_of_the_oracle() -> None:
    for key, offset in SEEDS:
        numbers = np.array([offset], np.int64).view(np.uint64)
        found = [int(word[0]) for word in blocks(int(key), numbers)]
        counter, words = int(offset) % 2**64, int(key) % 2**64
        split = (counter % 2**32, counter >> 32, 0, 0)
        assert tuple(found) == block(split, (words % 2**32, words >> 32))


def test_the_first_block_is_the_known_answer(module: kina.Module) -> None:
    wanted = [(word // 512 + 0.5) / 2**23 for word in KNOWN[0][2]]
    assert module.n1(4, SEEDS[0]).tolist() == wanted


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_every_shape_gives_the_numbers_of_the_oracle(module: kina.Module, seed: np.ndarray) -> None:
    for number, shape in enumerate(SIZES):
        wanted = random_uniform(seed, shape)
        results = [module[f"s{number}"](seed), module[f"s{number}"].reference(seed)]
        if 1 <= len(shape) <= 3:
            results.append(module[f"n{len(shape)}"](*shape, seed))
        for result in results:
            assert result.dtype == np.float32
            np.testing.assert_array_equal(result, wanted)


def test_an_empty_result(module: kina.Module) -> None:
    assert module.n2(0, 3, SEEDS[1]).shape == (0, 3)


def test_successive_calls_go_on_where_the_last_one_ended(module: kina.Module) -> None:
    key, offset = 12, 2**32 - 1
    whole = module.n1(30, np.array([key, offset]))
    first, rest = module.n1(13, np.array([key, offset])), np.array([key, offset + 4])
    np.testing.assert_array_equal(first, whole[:13])
    np.testing.assert_array_equal(module.n1(14, rest), whole[16:])


def test_the_numbers_of_a_kernel_that_reads_them_are_the_same(module: kina.Module) -> None:
    rng = np.random.default_rng(4)
    for shape in ((1, 3), (4, 5), (3, 67), (70, 9), (2, 1000)):
        x = rng.standard_normal(shape).astype(np.float32)
        seed = SEEDS[3]
        u = random_uniform(seed, shape)
        tokens, largest, turned, part, taken, flat = module.read(x, seed)
        scores = x - np.log(-np.log(u.astype(np.float64)))
        np.testing.assert_array_equal(tokens, scores.argmax(axis=1))
        np.testing.assert_array_equal(largest, (x * u).max(axis=1))
        np.testing.assert_array_equal(turned, u.T)
        np.testing.assert_array_equal(part, u[:, 1:3])
        np.testing.assert_array_equal(taken, u[:, 0])
        np.testing.assert_array_equal(flat, u.reshape(-1))
        for got, wanted in zip(module.read(x, seed), module.read.reference(x, seed), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_seed_may_be_computed(module: kina.Module) -> None:
    for seed in SEEDS:
        with np.errstate(over="ignore"):
            next_ = seed + np.array([0, 2])
        first, second = module.derived(seed)
        np.testing.assert_array_equal(first, random_uniform(seed, (6,)))
        np.testing.assert_array_equal(second, random_uniform(next_, (6,)))


def test_a_small_float_is_rounded_once(module: kina.Module) -> None:
    u = random_uniform(SEEDS[1], (9,))
    got = module.small(SEEDS[1])
    np.testing.assert_array_equal(got, u.astype(got.dtype))


def test_gradients_pass_beside_the_numbers(module: kina.Module) -> None:
    x, ct = np.arange(9, dtype=np.float32), np.ones(9, np.float32)
    keeps = random_uniform(SEEDS[2], (9,)) < 0.5
    _, dx = module.ddropout(x, SEEDS[2], ct)
    np.testing.assert_array_equal(dx, np.where(keeps, 2.0, 0.0))


def test_the_numbers_lie_inside_of_the_interval_and_are_spread_evenly(module: kina.Module) -> None:
    count = 1 << 20
    u, gumbel = module.large(count, SEEDS[5])
    assert u.min() > 0
    assert u.max() < 1
    assert np.isfinite(gumbel).all()
    odd = u.astype(np.float64) * 2**24
    assert (odd % 2 == 1).all()
    # Deterministic: the seed is fixed. Five deviations of a mean, and of the count of a bin.
    assert abs(u.astype(np.float64).mean() - 0.5) < 5 * np.sqrt(1 / 12 / count)
    bins = np.bincount((u * 64).astype(np.int64), minlength=64)
    assert (abs(bins - count / 64) < 5 * np.sqrt(count / 64)).all()
    assert abs(gumbel.astype(np.float64).mean() - np.euler_gamma) < 5 * np.pi / np.sqrt(6 * count)


@pytest.mark.parametrize("word", [0, 511, 512, 0xFFFFFFFF, 0xFFFFFE00])
def test_the_ends_of_the_interval(word: int) -> None:
    """Whatever the word: the middle of a part is exact in F32, and its double log is finite."""
    middle = (word // 512 + 0.5) / 2**23
    assert float(np.float32(middle)) == middle
    assert 0 < middle < 1
    assert np.isfinite(np.log(-np.log(np.float32(middle))))
