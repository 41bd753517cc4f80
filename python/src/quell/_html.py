"""How a result looks in a notebook: its text table, and the delays of its groups as an inline SVG. No script, no style sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from quell import _text
from quell._styles import styles
from quell.errors import QuellError

if TYPE_CHECKING:
    from quell._histogram import Histogram
    from quell._result import Comparison, Result

_PERCENTILES = (0.01, 0.25, 0.5, 0.75, 0.99)
_ROW = 22
_LEFT, _PLOT, _RIGHT = 220, 420, 20


def result(one: Result) -> str:
    """Table and picture of one result."""
    groups = (one.aggregate if one.seeds else one.summary)["groups"]
    return _page(str(one), _delays(one), groups)


def comparison(several: Comparison) -> str:
    """Table and picture of several."""
    return _page(str(several), [(f"{queue} {name}", one) for queue, r in several.items() for name, one in _delays(r)])


def _page(text: str, delays: Sequence[tuple[str, Histogram]], groups: Sequence[Mapping[str, Any]] = ()) -> str:
    return f"<div><pre>{escape(text)}</pre>{_picture(delays, groups)}</div>"


def _delays(one: Result) -> list[tuple[str, Histogram]]:
    """The delays of each group; nothing of a result that has lost its histograms: a table is better than an error."""
    try:
        names = [row[0] for row in _text.rows(one)]
        return [(name, one.histogram("delay", group=name)) for name in names]
    except (QuellError, ValueError):
        return []


def _picture(delays: Sequence[tuple[str, Histogram]], groups: Sequence[Mapping[str, Any]]) -> str:
    rows: list[tuple[str, list[float]]] = []
    for name, one in delays:
        values = [value for value in map(one.quantile, _PERCENTILES) if value is not None]
        if len(values) == len(_PERCENTILES):
            rows.append((name, values))
    positive = [value for _, values in rows for value in values if value > 0]
    if not positive:
        return ""
    low, high = floor(log10(min(positive))), ceil(log10(max(positive)))
    # A scale of ten powers of ten shows nothing: what is below a hundred-thousandth of the largest stands at the edge.
    low = max(low, high - 5)
    high = max(high, low + 1)

    def x(value: float) -> float:
        share = (log10(value) - low) / (high - low) if value > 0 else 0.0
        return round(_LEFT + _PLOT * max(0.0, share), 1)

    height = _ROW * (len(rows) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _PLOT + _RIGHT}" height="{height}" role="img" '
        'font-family="sans-serif" font-size="12" fill="currentColor">',
        "<title>Delay of each group: P1, P25, median, P75, P99</title>",
    ]
    bottom = _ROW * len(rows) + 4
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(f'<line x1="{at}" y1="0" x2="{at}" y2="{bottom}" stroke="currentColor" stroke-opacity="0.25"/>')
        parts.append(f'<text x="{at}" y="{bottom + 14}" text-anchor="middle">{10.0**power:g}</text>')
    parts.append(
        f'<text x="{_LEFT + _PLOT / 2}" y="{bottom + 32}" text-anchor="middle">delay, ms (log): thin P1 to P99, thick P25 to P75</text>'
    )
    for index, ((name, values), style) in enumerate(zip(rows, styles([name for name, _ in rows], groups))):
        y = _ROW * index + _ROW / 2
        p1, p25, p50, p75, p99 = map(x, values)
        label = name if len(name) <= 32 else "…" + name[-31:]
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<line x1="{p1}" y1="{y}" x2="{p99}" y2="{y}" stroke="{style["color"]}" stroke-width="2"/>')
        parts.append(f'<line x1="{p25}" y1="{y}" x2="{p75}" y2="{y}" stroke="{style["color"]}" stroke-width="8"/>')
        parts.append(f'<line x1="{p50}" y1="{y - 8}" x2="{p50}" y2="{y + 8}" stroke="currentColor" stroke-width="2"/>')
    parts.append("</svg>")
    return "".join(parts)
