"""Axes of a sweep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A range of values; quell computes them, so they are the same everywhere."""

    scale: str
    """`linear` or `log`."""
    first: str
    last: str
    steps: int | None
    """How many values, with both ends; None for any value between, which random sweeps draw."""

    def table(self) -> dict[str, object]:
        """As a sweep file has it."""
        ends: dict[str, object] = (
            {"log": [self.first, self.last]} if self.scale == "log" else {"from": self.first, "to": self.last}
        )
        return ends if self.steps is None else {**ends, "steps": self.steps}


def log(first: float, last: float, steps: int | None = None, *, unit: str = "") -> Axis:
    """`steps` values from `first` to `last` in equal ratios: `log(5, 100, 5, unit="ms")`."""
    if first <= 0 or last <= 0:
        raise ValueError("a logarithmic axis has positive ends")
    return _axis("log", first, last, steps, unit)


def linear(first: float, last: float, steps: int | None = None, *, unit: str = "") -> Axis:
    """`steps` values from `first` to `last` in equal steps: `linear(10, 50, 5, unit="mbit")`."""
    return _axis("linear", first, last, steps, unit)


def _axis(scale: str, first: float, last: float, steps: int | None, unit: str) -> Axis:
    if steps is not None and steps < 2:
        raise ValueError(f"{steps} steps: an axis has at least 2, both ends")
    return Axis(scale, f"{first:.15g}{unit}", f"{last:.15g}{unit}", steps)
