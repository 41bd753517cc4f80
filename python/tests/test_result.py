"""Reading results: figures, series, distributions, packets, and folders that are not what they should be."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quell
from quell import types as summary_types

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def test_series_have_seconds_beside_nanoseconds_and_names_as_categories(kept: quell.Result) -> None:
    flows = kept.flows()
    assert flows.column_names[:2] == ["time_ns", "time_s"]
    assert flows.schema.field("time_s").type == pyarrow.float64()
    assert flows.schema.field("time_ns").type == pyarrow.int64()
    assert pyarrow.types.is_dictionary(flows.schema.field("group").type)
    assert [ns / 1e9 for ns in flows["time_ns"].to_pylist()] == flows["time_s"].to_pylist()
    assert pyarrow.types.is_dictionary(kept.queues().schema.field("queue").type)


def test_series_equal_what_pyarrow_reads_of_the_file(kept: quell.Result) -> None:
    plain = parquet.read_table(kept.folder / "queues.parquet")
    ours = kept.queues()
    for name in plain.column_names:
        assert ours[name].to_pylist() == plain[name].to_pylist()


def test_columns_and_rows_are_chosen_while_reading(kept: quell.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    real = parquet.read_table

    def spy(path: Path, **how: Any) -> Any:
        asked.append(how)
        return real(path, **how)

    monkeypatch.setattr(parquet, "read_table", spy)
    table = kept.flows(["time_s", "goodput_bps"], [("group", "==", "l4s"), ("time_s", ">", 2), ("flow", "in", [0])])
    assert table.column_names == ["time_s", "goodput_bps"]
    everything = real(kept.folder / "flows.parquet").to_pylist()
    expected = [row for row in everything if row["group"] == "l4s" and row["time_ns"] > 2e9 and row["flow"] == 0]
    assert len(expected) == 10
    assert table["goodput_bps"].to_pylist() == [row["goodput_bps"] for row in expected]
    # The file is asked, not filtered afterwards.
    assert asked[0]["columns"] == ["time_ns", "goodput_bps"]
    assert asked[0]["filters"] is not None


@pytest.mark.parametrize(
    "where",
    [{"group": "l4s"}, {"group": ["l4s"]}, [("group", "!=", "classic")], [("group", "not in", ["classic"])], "expression"],
)
def test_conditions_may_be_written_in_several_ways(kept: quell.Result, where: Any) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    if where == "expression":
        where = dataset.field("group") == "l4s"
    assert set(kept.flows(["group"], where)["group"].to_pylist()) == {"l4s"}
    assert kept.flows(["flow"], where).num_rows == 60


@pytest.mark.parametrize("sign", ["<", "<=", "==", "!=", ">=", ">"])
def test_seconds_are_compared_exactly(kept: quell.Result, sign: str) -> None:
    from quell._where import COMPARE

    times = kept.queues(["time_ns"], {"queue": "l4s", "direction": "forward"})["time_ns"].to_pylist()
    found = kept.queues(["time_ns"], [("queue", "==", "l4s"), ("direction", "==", "forward"), ("time_s", sign, 0.3)])
    assert found["time_ns"].to_pylist() == [time for time in times if COMPARE[sign](time, 300_000_000)]


def test_a_column_that_is_not_there_is_named_with_those_that_are(kept: quell.Result) -> None:
    with pytest.raises(quell.ColumnError, match=r"flows\.parquet has no column 'rtt'; it has time_ns, .*rtt_ns"):
        kept.flows(["rtt"])
    with pytest.raises(quell.ColumnError, match="colour"):
        kept.flows(where={"colour": 1})
    with pytest.raises(quell.ColumnError, match="list"):
        kept.flows("time_s")
    with pytest.raises(quell.ColumnError, match="a packet has no 'rtt'"):
        kept.packets(["rtt"])
    for wrong in ([("group", "~", "x")], [("group", "in", "x")], ["group"]):
        with pytest.raises(ValueError, match="operator|list|condition"):
            kept.flows(where=wrong)


def test_a_result_without_events_says_so(kept: quell.Result) -> None:
    with pytest.raises(quell.ResultError, match=r"events\.parquet is missing"):
        kept.events()


def test_events_of_an_application_are_rows(tmp_path: Path) -> None:
    group = {"name": "web", "rtt": "10ms", "app": {"kind": "web", "preset": "median-2024"}}
    table = {
        "schema": 1,
        "name": "web",
        "link": {"rate": "50mbit", "queue": "fifo"},
        "group": [group],
        "run": {"duration": "20s", "warmup": "1s"},
    }
    result = quell.run(table, out=tmp_path / "out")
    events = result.events(["kind", "started_s", "ended_s", "outcome"], {"kind": "page"})
    assert events.num_rows > 0
    assert set(events["outcome"].to_pylist()) <= {"complete", "unfinished"}


def test_a_histogram_has_the_figures_of_the_summary(kept: quell.Result) -> None:
    queue = kept.summary["queues"][0]
    expected = queue["delay_ms"]
    assert expected is not None
    delay = kept.histogram("delay", queue=queue["name"])
    assert delay.total == queue["packets"]
    shares = {"p1": 0.01, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p999": 0.999}
    figures: Any = expected
    assert {name: delay.quantile(share) for name, share in shares.items()} == {name: figures[name] for name in shares}
    mean = delay.mean
    assert mean is not None
    assert abs(mean - expected["mean"]) <= 0.001 * expected["mean"]
    values, above = delay.ccdf()
    assert above[-1] == 0
    assert delay.above(values[-2]) == above[-2]
    with pytest.raises(ValueError, match="from 0 to 1"):
        delay.quantile(99)


def test_a_histogram_is_of_one_thing(kept: quell.Result) -> None:
    assert kept.histogram("delay", group="l4s").values
    assert kept.histogram("backlog", queue="classic").unit == "bytes"
    for arguments, message in (
        ({}, "several are queue None .*l4s, classic$"),
        ({"queue": "x"}, "none is queue 'x'"),
        # Nothing limits the way back.
        ({"direction": "reverse"}, "direction reverse: there is none"),
        ({"group": "x"}, "none is group 'x'"),
        ({"queue": "l4s", "group": "l4s"}, "of a queue or of a group"),
        ({"of": "backlog", "group": "l4s"}, "no backlog"),
        ({"of": "rtt"}, "must be"),
    ):
        with pytest.raises(ValueError, match=message):
            kept.histogram(**arguments)  # type: ignore[arg-type]


def test_seeds_are_together_and_alone(seeds: quell.Result) -> None:
    assert sorted(seeds.seeds) == [1, 2]
    flows = seeds.flows(["time_s", "flow"], {"group": "classic"})
    assert flows.column_names == ["seed", "time_s", "flow"]
    assert flows.num_rows == sum(one.flows(["flow"], {"group": "classic"}).num_rows for one in seeds.seeds.values())
    both = seeds.histogram("delay", group="classic")
    assert both.total == sum(one.histogram("delay", group="classic").total for one in seeds.seeds.values())
    assert list(both.values) == sorted(set(both.values))
    assert seeds.aggregate["groups"][0]["packets"]["n"] == 2
    assert seeds.warnings == []
    assert not seeds.partial
    assert " ± " in str(seeds)
    for wanted in ("summary", "scenario"):
        with pytest.raises(quell.ResultError, match=r"2 seeds: take .*seeds\[1\]"):
            getattr(seeds, wanted)


def test_the_table_has_the_figures_of_the_summary(kept: quell.Result) -> None:
    text = str(kept)
    group = kept.summary["groups"][0]
    delay = group["delay_ms"]
    assert delay is not None
    row = next(line for line in text.splitlines() if line.startswith("l4s"))
    per_flow = sum(group["goodput_bps"]) / 2e6
    assert row.split()[:5] == ["l4s", "2", f"{per_flow:.2f}", f"{delay['mean']:.2f}", f"{delay['p99']:.2f}"]
    assert float(row.split()[5]) == pytest.approx(100 * group["marked"] / group["packets"], abs=0.001)


def test_a_notebook_gets_table_and_picture_without_scripts(kept: quell.Result, copy: Path) -> None:
    page = kept._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert page.count("<svg") == page.count("</svg>") == 1
    assert "<script" not in page
    assert "onload" not in page
    import xml.etree.ElementTree as ElementTree

    ElementTree.fromstring(page)
    # A hostile name is text.
    summary = json.loads((copy / "summary.json").read_text())
    summary["groups"][0]["name"] = "<script>alert(1)</script>"
    (copy / "summary.json").write_text(json.dumps(summary))
    assert "<script" not in quell.Result(copy)._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_packets_are_those_that_the_queues_counted(kept: quell.Result) -> None:
    queue = kept.summary["queues"][0]
    where = [("queue", "==", queue["name"]), ("direction", "==", "forward"), ("fate", "in", ["delivered", "marked"])]
    # The figures begin after the warm-up, when a packet leaves.
    measured = [
        packet
        for packet in kept.packets(["time_ns", "sojourn_ns", "fate", "ecn", "length_bytes"], where)
        if packet["time_ns"] + packet["sojourn_ns"] >= 1_000_000_000
    ]
    assert abs(len(measured) - queue["packets"]) <= 2
    marked = [packet for packet in measured if packet["fate"] == "marked"]
    assert abs(len(marked) - queue["marked"]) <= 2
    assert {packet["ecn"] for packet in marked} == {"ce"}
    dropped = list(kept.packets(["reason"], {"fate": "dropped"}))
    assert all(packet["reason"] for packet in dropped)


def test_packets_are_streamed_and_become_arrow(kept: quell.Result) -> None:
    packets = kept.packets(["time", "queue", "sojourn_ms", "fate"])
    first = next(iter(packets))
    assert list(first) == ["time", "queue", "sojourn_ms", "fate"]
    total = sum(1 for _ in packets)
    batches = list(packets.batches(1000))
    assert [batch.num_rows for batch in batches[:-1]] == [1000] * (len(batches) - 1)
    table = kept.packets().table()
    assert table.num_rows == total
    assert table["protocol"].unique().to_pylist() == ["tcp"]
    assert table["destination_port"][0].as_py() is not None
    only_header = kept.packets(["header"]).table()
    assert only_header["header"][0].as_py()[0] >> 4 == 4


@pytest.mark.parametrize("order", ["<", ">"])
def test_captures_of_both_orders_of_bytes_are_read(kept: quell.Result, copy: Path, order: str) -> None:
    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length

    comment = b"queue=q sojourn_ms=1.500000 fate=marked:step group=g value=7"
    option = struct.pack(order + "HH", 1, len(comment)) + comment + bytes(-len(comment) % 4)
    header = bytes([0x60, 0x30]) + bytes(4) + bytes([17, 1]) + bytes(15) + b"\1" + bytes(15) + b"\2" + struct.pack(">HHHH", 5, 6, 8, 0)
    capture = (
        block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
        + block(1, struct.pack(order + "HHI", 101, 0, 0))
        # An unknown block, which is skipped.
        + block(0x0BAD, b"abcd")
        + block(6, struct.pack(order + "IIIII", 0, 0, 3_000_000, len(header), 1500) + header + option)
    )
    (copy / "packets.pcapng").write_bytes(capture)
    (packet,) = quell.Result(copy).packets()
    # An interface that says nothing counts microseconds.
    assert packet["time_ns"] == 3_000_000_000
    assert (packet["queue"], packet["sojourn_ns"], packet["fate"], packet["reason"]) == ("q", 1_500_000, "marked", "step")
    assert (packet["value"], packet["ecn"], packet["protocol"]) == (7, "ce", "udp")
    assert (packet["source"], packet["destination"], packet["destination_port"]) == ("::1", "::2", 6)
    assert (packet["sequence"], packet["length_bytes"], packet["direction"]) == (None, 1500, "0")


def test_captures_that_are_cut_off_or_damaged_are_errors_and_never_hang(copy: Path) -> None:
    path = copy / "packets.pcapng"
    whole = path.read_bytes()[:4000]
    result = quell.Result(copy)
    wrong = 0
    for length in range(0, 1500, 7):
        path.write_bytes(whole[:length])
        try:
            list(result.packets())
        except quell.ResultError:
            wrong += 1
    assert wrong > 150
    for at in range(0, 1200, 3):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        try:
            list(result.packets())
        except quell.ResultError:
            pass
    path.write_bytes(b"something else entirely")
    with pytest.raises(quell.ResultError, match="is no pcapng file"):
        list(result.packets())


@pytest.mark.parametrize("name", ["summary.json", "histograms.json", "run.json", "queues.parquet", "flows.parquet", "packets.pcapng"])
@pytest.mark.parametrize("left", [None, 0, 100])
def test_a_result_that_was_copied_by_half_is_an_error_that_names_the_file(copy: Path, name: str, left: int | None) -> None:
    path = copy / name
    if left is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:left])
    result = quell.Result(copy)
    reads: dict[str, Callable[[], object]] = {
        "summary.json": lambda: result.summary,
        "histograms.json": lambda: result.histogram(queue="l4s"),
        "run.json": lambda: result.facts,
        "queues.parquet": lambda: result.queues(),
        "flows.parquet": lambda: result.flows(),
        "packets.pcapng": lambda: list(result.packets()),
    }
    with pytest.raises(quell.ResultError, match=name):
        reads[name]()


def test_a_result_of_another_format_is_refused_and_says_which(copy: Path) -> None:
    summary = json.loads((copy / "summary.json").read_text())
    for schema in (0, 2, None):
        summary["schema"] = schema
        (copy / "summary.json").write_text(json.dumps(summary))
        with pytest.raises(quell.ResultError, match=f"is of format {schema}, and this version reads 1"):
            _ = quell.Result(copy).summary
    del summary["schema"]
    (copy / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(quell.ResultError, match="is of format unknown"):
        str(quell.Result(copy))


def test_a_file_without_a_column_that_a_plot_needs_names_it(copy: Path) -> None:
    pytest.importorskip("matplotlib")
    table = parquet.read_table(copy / "queues.parquet").drop_columns(["hop"])
    parquet.write_table(table, copy / "queues.parquet")
    result = quell.Result(copy)
    assert "hop" not in result.queues().column_names
    with pytest.raises(quell.ColumnError, match=r"queues\.parquet has no column 'hop'"):
        result.plot.timeline()


def test_a_seed_that_is_missing_and_a_folder_that_is_none_are_errors(seeds: quell.Result, tmp_path: Path) -> None:
    shutil.copytree(seeds.folder, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "seed2")
    with pytest.raises(quell.ResultError, match="seed2 is no result"):
        quell.Result(tmp_path / "copy")
    with pytest.raises(quell.ResultError, match="no such folder"):
        quell.Result(tmp_path / "none")
    with pytest.raises(quell.ResultError, match=r"summary\.json is missing"):
        _ = quell.Result(tmp_path).summary


def test_a_result_without_histograms_still_has_its_table(copy: Path) -> None:
    (copy / "histograms.json").unlink()
    page = quell.Result(copy)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "classic" in page
    assert "<svg" not in page


def test_packets_need_a_run_with_packets(seeds: quell.Result) -> None:
    with pytest.raises(quell.ResultError, match="packets=True"):
        seeds.seeds[1].packets()


def test_the_types_have_the_keys_of_a_summary(kept: quell.Result) -> None:
    summary = kept.summary
    # As a text: the type is not there at run time.
    keys = {key: str(kind) for key, kind in summary_types.Summary.__annotations__.items()}
    assert set(summary) == {key for key, kind in keys.items() if "NotRequired" not in kind}
    assert "NotRequired" in keys["links"]  # One link is `link`.
    assert set(summary["queues"][0]) == set(summary_types.Queue.__annotations__)
    delay = summary["queues"][0]["delay_ms"]
    assert delay is not None
    assert set(delay) == set(summary_types.Dist.__annotations__)
