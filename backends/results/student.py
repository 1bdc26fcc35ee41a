"""Student's t and the beta distribution, in the little that intervals of ratios take.

scipy has it and takes half a second to import, which every table would wait for; it is the oracle
of the tests instead.
"""

from __future__ import annotations

import math

_DIGITS = 1e-14


def two_sided_p(t: float, df: float) -> float:
    """P(|T| ≥ |t|) for ``df`` > 0 degrees of freedom, which need not be whole.

    Abramowitz & Stegun, Handbook of Mathematical Functions, 26.7.1 and 26.5.27.
    """
    if math.isinf(t):
        return 0.0
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


def quantile(confidence: float, df: float) -> float:
    """The t that |T| stays below with probability ``confidence``: 2.776 for 0.95 and 4."""
    low, high = 0.0, 1.0
    while two_sided_p(high, df) > 1 - confidence:
        high *= 2
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        if two_sided_p(middle, df) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised I_x(a, b), by the continued fraction of DLMF 8.17.22."""
    if x in (0.0, 1.0):
        return x
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):  # where the fraction converges fast
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's method (Thompson & Barnett 1986): numerator and denominator as running ratios."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    value = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            value *= c * d
        if abs(c * d - 1) < _DIGITS:
            break
    return value
