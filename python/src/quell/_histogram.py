"""Distributions from `histograms.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

# Units in which a histogram is written: a figure in the second one is the value divided by the number.
_SHOWN = {"ns": ("ms", 1e6), "bytes": ("bytes", 1.0)}


@dataclass(frozen=True)
class Histogram:
    """How many packets had which value.

    A value stands for its bucket, which is at most 0.1 % of the value wide. Figures are in ms where values are in ns.
    """

    name: str
    """What it is about, such as `l4s`."""
    unit: str
    """`ns` or `bytes`."""
    values: tuple[int, ...]
    """Ascending, in `unit`."""
    counts: tuple[int, ...]
    """Packets that had this value."""

    @property
    def total(self) -> int:
        """All packets."""
        return sum(self.counts)

    @property
    def shown_unit(self) -> str:
        """The unit of figures: `ms` or `bytes`."""
        return _SHOWN[self.unit][0]

    @property
    def shown_values(self) -> list[float]:
        """The values in the unit of figures."""
        scale = _SHOWN[self.unit][1]
        return [value / scale for value in self.values]

    @property
    def mean(self) -> float | None:
        """The mean, within 0.05 % of the exact one in `summary.json`; None without packets."""
        if not self.values:
            return None
        weighed = sum(value * count for value, count in zip(self.values, self.counts, strict=True))
        return weighed / self.total / _SHOWN[self.unit][1]

    def quantile(self, share: float) -> float | None:
        """The smallest value that at least this share of the packets do not exceed, as in `summary.json`; None without packets."""
        if not 0 <= share <= 1:
            raise ValueError(f"{share} is no share: must be from 0 to 1")
        # In thousandths of thousandths, so that 0.999 of 1000 is 999 and not 999.0000000000001.
        rank = max(1, ceil(round(share * 1_000_000) * self.total / 1_000_000))
        seen = 0
        for value, count in zip(self.values, self.counts, strict=True):
            seen += count
            if seen >= rank:
                return value / _SHOWN[self.unit][1]
        return None

    def ccdf(self) -> tuple[list[float], list[float]]:
        """The values, and the share of packets with a larger one: a staircase that reaches 0 at the largest."""
        shares: list[float] = []
        left = total = self.total
        for count in self.counts:
            left -= count
            shares.append(left / total)
        return self.shown_values, shares

    def above(self, limit: float) -> float | None:
        """The share of packets with a value above `limit`, which is in the unit of figures; None without packets."""
        if not self.values:
            return None
        above = sum(count for value, count in zip(self.shown_values, self.counts, strict=True) if value > limit)
        return above / self.total

    @classmethod
    def of(cls, name: str, unit: str, pairs: Iterable[Sequence[int]]) -> Histogram:
        """From pairs of value and count."""
        listed = [(int(value), int(count)) for value, count in pairs]
        return cls(name, unit, tuple(value for value, _ in listed), tuple(count for _, count in listed))

    @classmethod
    def together(cls, histograms: Sequence[Histogram]) -> Histogram:
        """All packets of histograms of one unit, such as those of several seeds."""
        first = histograms[0]
        counts: Counter[int] = Counter()
        for one in histograms:
            if one.unit != first.unit:
                raise ValueError(f"{one.unit} and {first.unit} do not add up")
            counts.update(dict(zip(one.values, one.counts, strict=True)))
        return cls.of(first.name, first.unit, sorted(counts.items()))
