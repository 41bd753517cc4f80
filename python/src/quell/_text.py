"""The text tables of results: a row per group, with the figures of `summary.json`; of several seeds mean ± standard error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quell._result import Comparison, Result

_HEAD = ("group", "flows", "per flow, Mbit/s", "mean, ms", "P99, ms", "marked, %", "dropped, %")


def result(one: Result) -> str:
    """The table of a result, with its head and its warnings."""
    return "\n".join([head(one), "", *table(_HEAD, rows(one)), *_warnings(one)])


def comparison(all_of_them: Comparison) -> str:
    """One table, with the queue in front."""
    lines = [(queue, *row) for queue, one in all_of_them.items() for row in rows(one)]
    warnings = [line for one in all_of_them.values() for line in _warnings(one)]
    return "\n".join([*table(("queue", *_HEAD), lines), *dict.fromkeys(warnings)])


def head(one: Result) -> str:
    """What ran."""
    figures = _figures(one)
    seeds = f"{len(one.seeds)} seeds" if one.seeds else f"seed {figures['seed']}"
    link = figures["link"]
    rate, utilisation = _mean(link.get("rate_bps")), _mean(link.get("utilisation"))
    parts = [f"{figures['scenario']}: {figures['world']} world, {seeds}, {_mean(figures['duration_s']):g} s"]
    if rate is not None and utilisation is not None:
        parts.append(f"link {rate / 1e6:.2f} Mbit/s, {utilisation * 100:.1f} % utilised")
    if one.partial:
        parts.append("partial")
    return "; ".join(parts)


def rows(one: Result) -> list[tuple[str, ...]]:
    """A row per group."""
    return [_row(group) for group in _figures(one)["groups"]]


def _row(group: Mapping[str, Any]) -> tuple[str, ...]:
    delay = group.get("delay_ms") or {}
    return (
        str(group["name"]),
        _shown(group.get("count"), "d"),
        _shown(_per_flow(group), ".2f", 1e-6),
        _shown(delay.get("mean"), ".2f"),
        _shown(delay.get("p99"), ".2f"),
        _shown(_ratio(group, "marked"), ".3f", 100),
        _shown(_ratio(group, "dropped"), ".3f", 100),
    )


def _figures(one: Result) -> Mapping[str, Any]:
    return one.aggregate if one.seeds else one.summary


def _mean(figure: Any) -> float | None:
    found = figure.get("mean") if isinstance(figure, Mapping) else figure
    return None if found is None else float(found)


def _per_flow(group: Mapping[str, Any]) -> float | None:
    rates = [rate for rate in map(_mean, group.get("goodput_bps") or ()) if rate is not None]
    return sum(rates) / len(rates) if rates else None


def _ratio(group: Mapping[str, Any], what: str) -> float | None:
    found, packets, dropped = (_mean(group.get(key)) for key in (what, "packets", "dropped"))
    if found is None or packets is None or dropped is None:
        return None
    # As everywhere in quell: marks are among what was delivered, drops among what arrived.
    among = packets + (dropped if what == "dropped" else 0)
    return found / among if among else None


def _shown(figure: Any, form: str, scale: float = 1) -> str:
    mean = _mean(figure)
    if mean is None:
        return ""
    text = format(round(mean) if form == "d" else mean * scale, form)
    error = figure.get("standard_error") if isinstance(figure, Mapping) else None
    return text if error is None or form == "d" else f"{text} ± {format(error * scale, form)}"


def table(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Columns under their titles: the first to the left, figures to the right."""
    widths = [max(len(line[i]) for line in [titles, *lines]) for i in range(len(titles))]
    words = sum(title in ("queue", "group") for title in titles)

    def line(cells: Sequence[str]) -> str:
        padded = [cell.ljust(w) if i < words else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths, strict=True))]
        return "  ".join(padded).rstrip()

    return [line(titles), *map(line, lines)]


def _warnings(one: Result) -> list[str]:
    return [f"warning: {warning}" for warning in one.warnings]
