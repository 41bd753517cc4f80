"""Confidence intervals of means over seeds, with Student's t: as `quell run --confidence` prints them."""

from __future__ import annotations

from collections.abc import Mapping
from math import atan, cos, pi, sin, sqrt
from typing import Any


def confidence_interval(figure: Mapping[str, Any], level: float = 0.95) -> tuple[float, float] | None:
    """The ends of the confidence interval of a figure of `aggregate.json`.

    It assumes that figures of seeds are normally distributed. None for a single run.
    """
    if not 0 < level < 1:
        raise ValueError(f"{level} is no level of confidence: must be between 0 and 1")
    error, runs = figure["standard_error"], int(figure["n"])
    if error is None or runs < 2:
        return None
    mean, half = float(figure["mean"]), float(error) * student_t(level, runs - 1)
    return mean - half, mean + half


def student_t(level: float, freedom: int) -> float:
    """The value that Student's t of so many degrees of freedom stays within, on both sides, with this probability."""
    low, high = 0.0, 1.0
    while _within(high, freedom) < level:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if _within(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _within(t: float, freedom: int) -> float:
    """The probability of |T| <= t: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = atan(t / sqrt(freedom))
    term = cos(angle) if freedom % 2 else 1.0
    total = 0.0 if freedom == 1 else term
    for k in range(2 + freedom % 2, freedom - 1, 2):
        term *= cos(angle) ** 2 * (k - 1) / k
        total += term
    if freedom % 2:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total
