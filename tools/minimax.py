"""Derives the polynomial coefficients of `expand-math`.

Each polynomial is fitted by iteratively reweighted least squares (Lawson's algorithm, which
converges to the minimax fit). Coefficients are then rounded to float32 one by one, lowest power
first, and the rest is refitted around each rounded one.

Usage: python tools/minimax.py
"""

from collections.abc import Callable
from math import erf, erfc

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def lawson(basis: Array, target: Array, weight: Array, rounds: int = 300) -> Array:
    """Minimises the largest `|weight * (basis @ c - target)|` over c."""
    density = np.ones_like(target)
    best, best_error = np.zeros(basis.shape[1]), np.inf
    for _ in range(rounds):
        scale = np.sqrt(density) * weight
        fit = np.linalg.lstsq(basis * scale[:, None], target * scale, rcond=None)[0]
        error = np.abs(weight * (basis @ fit - target))
        if error.max() < best_error:
            best, best_error = np.asarray(fit, np.float64), error.max()
        density *= error
        density /= density.sum()
    return best


def fit_rounded(grid: Array, target: Array, weight: Array, count: int) -> list[np.float32]:
    """Float32 coefficients of `count` powers, constant term first."""
    powers = np.vander(grid, count, increasing=True)
    fixed: list[np.float32] = []
    rest = target
    for index in range(count):
        fit = lawson(powers[:, index:], rest, weight)
        fixed.append(np.float32(fit[0]))
        rest = rest - powers[:, index] * np.float64(fixed[-1])
    return fixed


def report(name: str, coefficients: list[np.float32], error: float) -> None:
    """Prints the coefficients as hexadecimal bit patterns and the error of the fit."""
    print(f"{name}: largest weighted error {error:.3e} (2^-24 is {2**-24:.3e})")
    for power, value in enumerate(coefficients):
        print(f"  x^{power}: {value!s:>15} 0x{value.view(np.uint32):08X}")


def derive(
    name: str,
    low: float,
    high: float,
    count: int,
    target: Callable[[Array], Array],
    weight: Callable[[Array], Array],
) -> None:
    """Fits one polynomial on Chebyshev points of [low, high] and prints it."""
    nodes = np.cos(np.pi * (np.arange(2000) + 0.5) / 2000)
    grid = (low + high) / 2 + (high - low) / 2 * nodes
    coefficients = fit_rounded(grid, target(grid), weight(grid), count)
    fit = np.vander(grid, count, increasing=True) @ np.array(coefficients, np.float64)
    report(name, coefficients, float(np.abs(weight(grid) * (fit - target(grid))).max()))


def exp_tail(r: Array) -> Array:
    """(exp(r) - 1 - r) / r^2, by its series: the closed form cancels near 0."""
    total, term = np.zeros_like(r), np.full_like(r, 0.5)
    for k in range(3, 22):
        total, term = total + term, term * r / k
    return total


def log_tail(f: Array) -> Array:
    """(log(1 + f) - f) / f^2, by the atanh series: the closed form cancels near 0."""
    s = f / (2 + f)
    odd = sum(2 * s ** (2 * k - 2) / (2 * k + 1) for k in range(1, 40))
    # log1p(f) = 2s + s^3 * odd and 2s = f - f*s, so the rest over f^2 is this:
    return -1 / (2 + f) + (s / f) ** 2 * s * odd


def erf_ratio(square: Array) -> Array:
    """erf(x) / x - 1, by x^2."""
    return np.array([erf(x) / x for x in np.sqrt(square)]) - 1


def log_erfc(x: Array) -> Array:
    """log(1 - erf(x)) / x."""
    return np.log([erfc(value) for value in x]) / x


def erfc_share(x: Array) -> Array:
    """How much an error of log(1 - erf(x)) / x counts in erf(x)."""
    return np.array([value * erfc(value) / erf(value) for value in x])


def main() -> None:
    """Prints all polynomials of `expand-math`."""
    half = 0.34658  # ln(2)/2, plus the slack of rounding x*log2(e)
    derive("exp tail", -half, half, 5, exp_tail, lambda r: r * r * np.exp(-r))
    derive("log tail", -0.31, 0.38, 9, log_tail, lambda f: f * f / np.abs(np.log1p(f)))
    derive("expm1 tail", -half, half, 6, exp_tail, lambda r: r * r / np.abs(np.expm1(r)))
    cut = 0.9
    derive("erf near 0", 1e-9, cut**2, 7, erf_ratio, lambda s: 1 / (1 + erf_ratio(s)))
    derive("log erfc", cut, 4.0, 7, log_erfc, erfc_share)


if __name__ == "__main__":
    main()
