"""Plots: what they draw, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest
import quell

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")


def _labels(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_timeline_shows_each_queue_from_zero_and_marks_the_warm_up(kept: quell.Result) -> None:
    axes = kept.plot.timeline()
    assert _labels(axes) == ["l4s", "classic", "warm-up"]
    assert axes.get_xlabel() == "time, s"
    assert axes.get_ylim()[0] == 0
    assert axes.get_xlim()[0] == 0
    rows = kept.queues(["time_s", "delay_mean_ns"], {"queue": "classic"}).to_pylist()
    line = next(line for line in axes.lines if line.get_label() == "classic")
    assert list(line.get_xdata()) == [row["time_s"] for row in rows]
    assert line.get_ydata()[-1] == rows[-1]["delay_mean_ns"] / 1e6
    span = axes.patches[0].get_extents().transformed(axes.transData.inverted())
    assert (span.x0, span.x1) == (pytest.approx(0), pytest.approx(1))


@pytest.mark.parametrize("of", ["delay", "max delay", "backlog", "goodput", "rtt"])
def test_each_timeline_names_its_unit(kept: quell.Result, of: Any) -> None:
    axes = kept.plot.timeline(of)
    assert axes.get_ylabel().rsplit(", ", 1)[1] in ("ms", "kB", "Mbit/s")
    assert len(_labels(axes)) == 3


def test_the_goodput_of_a_group_is_that_of_its_flows_together(kept: quell.Result) -> None:
    line = next(line for line in kept.plot.timeline("goodput").lines if line.get_label() == "l4s")
    rows = kept.flows(["goodput_bps"], [("group", "==", "l4s"), ("time_s", "==", 2.0)])
    at = list(line.get_xdata()).index(2.0)
    assert line.get_ydata()[at] == pytest.approx(sum(rows["goodput_bps"].to_pylist()) / 1e6)


def test_a_ccdf_begins_at_one_and_has_the_shares_of_the_histogram(kept: quell.Result) -> None:
    axes = kept.plot.ccdf()
    assert axes.get_yscale() == "log"
    line = next(line for line in axes.lines if line.get_label() == "classic")
    values, shares = kept.histogram("delay", group="classic").ccdf()
    assert list(line.get_xdata()) == [0, *values]
    assert list(line.get_ydata()) == [1, *shares]
    # Everything is within the picture.
    assert axes.get_xlim()[1] >= values[-1]


def test_delays_are_rows_of_percentiles_within_the_picture(kept: quell.Result) -> None:
    axes = kept.plot.delay()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["l4s", "classic"]
    delay = kept.histogram("delay", group="classic")
    outer = [line for line in axes.lines if list(line.get_ydata()) == [1, 1]][0]
    assert list(outer.get_xdata()) == [delay.quantile(0.01), delay.quantile(0.99)]
    quantile = delay.quantile(0.99)
    assert quantile is not None
    assert axes.get_xlim()[1] > quantile
    assert "log" in axes.get_xlabel()


def test_a_comparison_shows_each_queue(tmp_path: Any, scenario: Any) -> None:
    compared = quell.compare(scenario, ["fifo", "pie"], out=tmp_path / "out")
    names = ["fifo l4s", "fifo classic", "pie l4s", "pie classic"]
    assert _labels(compared.plot.ccdf()) == names
    assert [label.get_text() for label in compared.plot.delay().get_yticklabels()] == names


def test_axes_that_are_given_are_drawn_into_and_nothing_else_changes(kept: quell.Result) -> None:
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    open_before = plt.get_fignums()
    figure = matplotlib.figure.Figure()
    for axes, draw in zip(figure.subplots(1, 3), (kept.plot.timeline, kept.plot.delay, kept.plot.ccdf), strict=True):
        assert draw(ax=axes) is axes
    kept.plot.ccdf()
    assert plt.get_fignums() == open_before
    assert dict(matplotlib.rcParams) == before


def test_a_notebook_shows_the_figure(kept: quell.Result) -> None:
    assert kept.plot.ccdf().figure._repr_svg_().count("<svg") == 1


def test_a_line_has_the_colour_of_its_queue_else_of_its_traffic() -> None:
    from quell._colours import COLOURS
    from quell._styles import styles

    def shown(labels: list[str], groups: Any = ()) -> list[tuple[str, str]]:
        return [(style["color"], str(style["linestyle"])) for style in styles(labels, groups)]

    some = shown(["fifo l4s", "fifo classic", "pie:target=5ms l4s", "pie l4s", "fq_pie l4s"])
    assert some[2] == shown(["pie l4s", "fifo l4s"])[0]
    assert len(set(some)) == 5
    assert len({colour for colour, _ in some[2:]}) == 1
    l4s, classic, steady = (one["light"] for one in COLOURS["traffic"])
    call = {"name": "call", "congestion_control": None, "app": {"kind": "voice"}}
    many = shown(["l4s", "classic", "call", *(f"g{place}" for place in range(4))], [call])
    assert [colour for colour, _ in many[:3]] == [l4s, classic, steady]
    assert len(set(many)) == 7


def test_several_seeds_have_distributions_but_no_single_timeline(seeds: quell.Result) -> None:
    assert _labels(seeds.plot.ccdf()) == ["l4s", "classic"]
    with pytest.raises(quell.ResultError, match="2 seeds"):
        seeds.plot.timeline()


def test_an_unknown_timeline_is_refused(kept: quell.Result) -> None:
    with pytest.raises(ValueError, match="must be one of delay, max delay"):
        kept.plot.timeline("loss")  # type: ignore[arg-type]
