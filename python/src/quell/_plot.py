"""Plots with matplotlib: each returns its Axes, draws into `ax=` if it is given, and changes nothing outside its own figure.

Without `ax` the figure is new and belongs to nobody else: it is not known to pyplot, so it needs no closing, and a notebook shows it as
`axes.figure`. Colours are those of all pictures of quell, which people who are colour-blind tell apart; lines differ in their dashes too.
Axes begin at zero or are logarithmic, and say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from quell import _text
from quell._extra import need
from quell._histogram import Histogram
from quell._styles import styles

if TYPE_CHECKING:
    from quell._result import Comparison, Result

# What a timeline shows: file, column, number that it is divided by, label, what a line is.
_TIMELINES: Mapping[str, tuple[str, str, float, str, str]] = {
    "delay": ("queues", "delay_mean_ns", 1e6, "mean delay in the queue, ms", "queue"),
    "max delay": ("queues", "delay_max_ns", 1e6, "longest delay in the queue, ms", "queue"),
    "backlog": ("queues", "backlog_bytes", 1e3, "backlog, kB", "queue"),
    "goodput": ("flows", "goodput_bps", 1e6, "goodput of all flows of the group, Mbit/s", "group"),
    "rtt": ("flows", "rtt_ns", 1e6, "smoothed RTT, mean of the flows, ms", "group"),
}
Shown = Literal["delay", "max delay", "backlog", "goodput", "rtt"]


class Plots:
    """The plots of a result."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def timeline(self, of: Shown = "delay", *, direction: str = "forward", ax: Any = None) -> Any:
        """A figure over the time of the run: `delay`, `max delay` or `backlog` of each queue, `goodput` or `rtt` of each group."""
        self._result._one()  # pyright: ignore[reportPrivateUsage]
        axes = _axes(ax)
        if of not in _TIMELINES:
            raise ValueError(f"{of!r}: must be one of {', '.join(_TIMELINES)}")
        file, column, scale, label, line = _TIMELINES[of]
        warmup = self._result.summary["warmup_s"]
        lines = _lines(self._result, file, column, line, direction)
        for (name, points), style in zip(lines.items(), styles(list(lines), _groups(self._result))):
            axes.plot([at for at, _ in points], [value / scale for _, value in points], label=name, **style)
        axes.axvspan(0, warmup, color="#000000", alpha=0.08, linewidth=0, label="warm-up")
        axes.set(xlabel="time, s", ylabel=label, title=self._result.name)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.legend()
        return axes

    def delay(self, *, ax: Any = None) -> Any:
        """Percentiles of the delay of each group: P1 to P99, P25 to P75, median. The scale is logarithmic."""
        return _percentiles(_delays(self._result), self._result.name, ax, _groups(self._result))

    def ccdf(self, *, ax: Any = None) -> Any:
        """The share of packets that waited longer, for each group. Both scales are logarithmic."""
        return _ccdf(_delays(self._result), self._result.name, ax, _groups(self._result))


class ComparisonPlots:
    """The plots of a comparison: a row or a line for each queue and group."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def delay(self, *, ax: Any = None) -> Any:
        """Percentiles of the delay, as of one result."""
        return _percentiles(self._delays(), "", ax)

    def ccdf(self, *, ax: Any = None) -> Any:
        """The share of packets that waited longer."""
        return _ccdf(self._delays(), "", ax)

    def _delays(self) -> dict[str, Histogram]:
        return {
            f"{queue} {group}": delay
            for queue, result in self._comparison.items()
            for group, delay in _delays(result).items()
        }


_Groups = Sequence[Mapping[str, Any]]


def _groups(result: Result) -> _Groups:
    """The groups as the summary has them, whose traffic has colours."""
    groups: _Groups = (result.aggregate if result.seeds else result.summary)["groups"]
    return groups


def _delays(result: Result) -> dict[str, Histogram]:
    """The delays of each group that had any."""
    all_groups = {row[0]: result.histogram("delay", group=row[0]) for row in _text.rows(result)}
    return {name: one for name, one in all_groups.items() if one.values}


_DELAY = "delay, ms (log above 0.01)"


def _logarithmic(axes: Any) -> None:
    # Zero has no logarithm, and a queue that was always empty has none but zeros.
    axes.set_xscale("symlog", linthresh=0.01)


def _percentiles(delays: Mapping[str, Histogram], title: str, ax: Any, groups: _Groups = ()) -> Any:
    axes = _axes(ax)
    _logarithmic(axes)
    names = list(delays)
    for row, (one, style) in enumerate(zip(delays.values(), styles(names, groups))):
        p1, p25, p50, p75, p99 = (one.quantile(share) for share in (0.01, 0.25, 0.5, 0.75, 0.99))
        colour = style["color"]
        axes.plot([p1, p99], [row, row], color=colour, linewidth=1.5)
        axes.plot([p25, p75], [row, row], color=colour, linewidth=6, solid_capstyle="butt")
        axes.plot([p50], [row], color="#000000", marker="|", markersize=14, linestyle="none")
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel=_DELAY + "; P1 to P99, P25 to P75, median", title=title)
    axes.set_xlim(left=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    return axes


def _ccdf(delays: Mapping[str, Histogram], title: str, ax: Any, groups: _Groups = ()) -> Any:
    axes = _axes(ax)
    _logarithmic(axes)
    for (name, one), style in zip(delays.items(), styles(list(delays), groups)):
        values, shares = one.ccdf()
        # A staircase: until the smallest value every packet waited longer.
        axes.step([0.0, *values], [1.0, *shares], where="post", label=name, **style)
    axes.set_yscale("log")
    axes.set_xlim(left=0)
    axes.set(xlabel=_DELAY, ylabel="share of packets that waited longer", title=title)
    if delays:
        axes.legend()
    return axes


def _lines(result: Result, file: str, column: str, by: str, direction: str) -> dict[str, list[tuple[float, float]]]:
    """The points of each line. A gap in a queue's packets is NaN, which is drawn as a gap."""
    if file == "queues":
        table = result.queues(["time_s", "hop", by, column], {"direction": direction}).to_pydict()
        hops = len(set(table["hop"]))
        lines: dict[str, list[tuple[float, float]]] = {}
        for time, hop, name, value in zip(table["time_s"], table["hop"], table[by], table[column], strict=True):
            label = name if hops == 1 else f"{hop} {name}"
            lines.setdefault(label, []).append((time, float("nan") if value is None else float(value)))
        return lines
    table = result.flows(["time_s", by, column]).to_pydict()
    values: dict[str, dict[float, list[float]]] = {}
    for time, name, value in zip(table["time_s"], table[by], table[column], strict=True):
        at = values.setdefault(name, {}).setdefault(time, [])
        if value is not None:
            at.append(float(value))
    total = column == "goodput_bps"
    return {name: [(at, _of(several, total)) for at, several in sorted(times.items())] for name, times in values.items()}


def _of(several: Sequence[float], total: bool) -> float:
    if total:
        return sum(several)
    return sum(several) / len(several) if several else float("nan")


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    figure = need("matplotlib.figure", "plot").Figure(layout="constrained")
    axes = figure.add_subplot()

    def svg() -> str:
        import io

        out = io.StringIO()
        figure.savefig(out, format="svg")
        return out.getvalue()

    # A figure that pyplot does not know has no picture in a notebook of its own.
    figure._repr_svg_ = svg
    return axes
