"""How many rewards of 1 come before so many rewards of 0: negative binomial numbers. Plain code, which is compiled.

Numba has them, too, but there they make a list, and whoever draws them must count references.
"""

from __future__ import annotations

import math

import numpy as np

from satisfice.policies.beta import LOG_2PI, deviance, stirling_error


def ones_before(zeros: int, mean: float, rng: np.random.Generator) -> int:
    """The number of rewards of 1 before the one that is 0 for the `zeros`-th time, `mean` being the chance of a 1.

    A Poisson number whose expectation is drawn from a Gamma law.

    Examples
    --------
    >>> ones_before(5, 0.0, np.random.default_rng(0))
    0
    """
    return poisson(float(rng.standard_gamma(float(zeros))) * mean / (1.0 - mean), rng)


def poisson(expected: float, rng: np.random.Generator) -> int:
    """A Poisson number: by products of uniform numbers, or by Hörmann's transformed rejection (PTRS, 1993).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> poisson(0.0, rng), abs(poisson(1e8, rng) - 10**8) < 6e4  # six standard deviations
    (0, True)
    """
    if expected < 10.0:
        count, product, floor = 0, rng.random(), math.exp(-expected)
        while product > floor:
            product *= rng.random()
            count += 1
        return count
    b = 0.931 + 2.53 * math.sqrt(expected)
    a = -0.059 + 0.02483 * b
    sure = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, v = rng.random() - 0.5, rng.random()
        edge = 0.5 - abs(u)
        number = math.floor((2.0 * a / edge + b) * u + expected + 0.43)
        if edge >= 0.07 and v <= sure:
            return int(number)
        if number < 0 or (edge < 0.013 and v > edge):
            continue
        factor = (1.1239 + 1.1328 / (b - 3.4)) / (a / (edge * edge) + b)
        # The logarithm of the probability in Loader's form, which keeps its digits where numbers are large.
        log = -expected
        if number > 0:
            log = -0.5 * (LOG_2PI + math.log(number)) - stirling_error(number) - deviance(number, expected)
        if math.log(v * factor) <= log:
            return int(number)
