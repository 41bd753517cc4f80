"""Sweeps: the same store and the same table whatever the engine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import quell
from conftest import SCENARIO
from quell import _sweep  # pyright: ignore[reportPrivateUsage]

pytest.importorskip("pyarrow")

AXES: dict[str, Any] = {
    "link.rate": ["4mbit", "12mbit"],
    "group.*.rtt": quell.log(5, 20, 2, unit="ms"),
    "link.queue": ["fifo", {"kind": "dualpi2", "target": "5ms"}],
}


@pytest.fixture
def sweep() -> quell.Sweep:
    """Seven points, with two seeds each."""
    skip = [{"link.rate": "4mbit", "link.queue": "fifo", "group.*.rtt": "5ms"}]
    return quell.Sweep(quell.Text(SCENARIO), AXES, seeds=[1, 2], skip=skip)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes shards so short that even a small sweep has several."""
    monkeypatch.setattr(_sweep, "_SHARD_SECONDS", 0.25)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> quell.Store:
    """The store of the sweep, made by the program alone."""
    skip = [{"link.rate": "4mbit", "link.queue": "fifo", "group.*.rtt": "5ms"}]
    return quell.Sweep(quell.Text(SCENARIO), AXES, seeds=[1, 2], skip=skip).run(tmp_path_factory.mktemp("sweep") / "store")


def _cells(store: quell.Store) -> dict[str, bytes]:
    """Every file of every cell."""
    cells = store.folder / "cells"
    return {str(path.relative_to(cells)): path.read_bytes() for path in cells.rglob("*") if path.is_file()}


def test_a_plan_counts_and_writes_nothing_and_a_second_run_has_nothing_to_do(sweep: quell.Sweep, tmp_path: Path) -> None:
    store = tmp_path / "store"
    before = sweep.plan(store)
    assert (before.cells, before.done, before.to_run, before.failed) == (14, 0, 14, 0)
    assert before.estimated_s > 0
    assert not store.exists()
    sweep.run(store)
    after = sweep.plan(store)
    assert (after.done, after.to_run) == (14, 0)
    made = {path: path.stat().st_mtime_ns for path in (store / "cells").rglob("*")}
    sweep.run(store)
    assert {path: path.stat().st_mtime_ns for path in (store / "cells").rglob("*")} == made


def test_a_table_has_values_and_figures_as_columns(done: quell.Store) -> None:
    table = done.table()
    assert table.num_rows == 14
    assert set(table["link.rate"].to_pylist()) == {"4mbit", "12mbit"}
    assert set(table["group.*.rtt_ms"].to_pylist()) == {5.0, 20.0}
    few = done.table(columns=["link.rate_bps", "seed", "group.*.delay_ms.p99"], where={"seed": 2})
    assert few.column_names == ["link.rate_bps", "seed", "group.l4s.delay_ms.p99", "group.classic.delay_ms.p99"]
    assert few.num_rows == 7
    assert done.table(over_seeds=True, confidence=0.9).num_rows == 7


def test_a_cell_is_the_run_that_it_names(done: quell.Store, tmp_path: Path) -> None:
    row = done.table(where={"seed": 2}).to_pylist()[0]
    text = (done.folder / "cells" / row["cell"][:2] / row["cell"] / "scenario.toml").read_text()
    again = quell.run(quell.Text(text), out=tmp_path / "out")
    delay = again.summary["groups"][0]["delay_ms"]
    assert delay is not None
    assert row["group.l4s.delay_ms.p99"] == delay["p99"]


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_makes_the_same_store(
    sweep: quell.Sweep, done: quell.Store, many: None, tmp_path: Path, pool: Callable[[int], Any]
) -> None:
    with pool(2) as executor:
        store = sweep.run(tmp_path / "store", engine=executor)
    assert _cells(store) == _cells(done)
    assert store.table().equals(done.table())


def test_progress_makes_the_same_store(
    sweep: quell.Sweep, done: quell.Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _cells(sweep.run(tmp_path / "store", jobs=1, progress=True)) == _cells(done)
    assert "14 cells, 0 are there, 14 to run" in capsys.readouterr().err


@pytest.mark.slow
def test_dask_makes_the_same_store_and_opens_no_port_to_others(
    sweep: quell.Sweep, done: quell.Store, many: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    made: list[dict[str, Any]] = []
    real = distributed.LocalCluster

    def spy(**options: Any) -> Any:
        made.append(options)
        return real(**options)

    monkeypatch.setattr(distributed, "LocalCluster", spy)
    assert _cells(sweep.run(tmp_path / "store", engine="dask", jobs=2)) == _cells(done)
    assert made[0]["dashboard_address"] == "127.0.0.1:0"
    with (
        real(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert _cells(sweep.run(tmp_path / "mine", engine=client)) == _cells(done)


@pytest.mark.slow
def test_slurm_gets_its_options(
    sweep: quell.Sweep, done: quell.Store, many: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no Slurm here: a cluster of this machine stands for it, and only the hand-over is tested."""
    distributed = pytest.importorskip("distributed")
    jobqueue = pytest.importorskip("dask_jobqueue")
    asked: list[dict[str, Any]] = []

    def stand(**options: Any) -> Any:
        asked.append(options)
        made = distributed.LocalCluster(n_workers=0, processes=False, threads_per_worker=1, dashboard_address=None)
        scale = made.scale

        def scale_to(jobs: int) -> object:
            return scale(jobs)

        made.scale = scale_to
        return made

    monkeypatch.setattr(jobqueue, "SLURMCluster", stand)
    slurm = {"queue": "short", "walltime": "00:10:00"}
    assert _cells(sweep.run(tmp_path / "store", engine="dask-slurm", jobs=2, slurm=slurm)) == _cells(done)
    assert asked == [{**slurm, "scheduler_options": {"dashboard_address": "127.0.0.1:0"}}]


def test_stores_are_merged_and_checked(sweep: quell.Sweep, done: quell.Store, tmp_path: Path) -> None:
    part = quell.Sweep(quell.Text(SCENARIO), AXES, seeds=[1]).run(tmp_path / "part")
    sweep.run(tmp_path / "store")
    store = quell.Store(tmp_path / "store")
    store.merge(part)
    store.check()
    assert store.table().equals(done.table())
    damaged = next((store.folder / "cells").rglob("summary.json"))
    damaged.write_text("{}")
    with pytest.raises(quell.RunError, match=r"summary\.json|sum"):
        store.check()


def test_errors_of_a_sweep_have_their_place_and_their_fix(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(quell.InputError) as caught:
        quell.Sweep(scenario, {"link.rat": ["4mbit"]}).plan(tmp_path / "store")
    assert caught.value.key == "link.rat"
    assert "did you mean rate" in str(caught.value.fix)


def test_errors_of_a_sweep_name_no_file_of_the_package(tmp_path: Path) -> None:
    """The files that it writes are gone, or nobody knows them."""
    for scenario, axes, name in (
        (quell.Text(SCENARIO), {"link.rat": ["4mbit"]}, "sweep at test_sweep.py:"),
        (quell.Text(SCENARIO.replace("10mbit", "fast")), {"link.queue": ["pie"]}, "scenario text:4: "),
        ({"schema": 1, "name": "x", "link": {"rate": "fast"}}, {"link.queue": ["pie"]}, "scenario table at test_sweep.py:"),
    ):
        sweep = quell.Sweep(scenario, axes)
        for act in (sweep.plan, sweep.run):
            with pytest.raises(quell.InputError) as caught:
                act(tmp_path / "store")
            text = str(caught.value)
            assert f"\n{name}" in text
            assert ".toml" not in text
            assert str(tmp_path) not in text
            assert caught.value.file is not None
            assert caught.value.file.startswith(name.rpartition(":4: ")[0] or name)


def test_numbers_of_numpy_are_numbers(scenario: Path, tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    axes = {
        "group.l4s.count": numpy.arange(1, 3),
        "link.queue": [{"kind": "dualpi2", "alpha": one} for one in numpy.array([0.125, 0.25])],
    }
    sweep = quell.Sweep(scenario, axes, seeds=numpy.arange(1, 3), set={"run.warmup": numpy.str_("1s"), "group.classic.count": numpy.int64(2)})
    assert sweep.plan(tmp_path / "store").cells == 8
    table = {
        "schema": numpy.int64(1),
        "name": numpy.str_("numbers"),
        "link": {"rate": "10mbit", "queue": {"kind": "dualpi2", "alpha": numpy.float64(0.125), "any_ect": numpy.bool_(True)}},
        "group": [{"name": "one", "count": numpy.int32(2), "rtt": "10ms", "app": "bulk"}],
        "run": {"duration": "2s", "warmup": "1s", "seeds": numpy.array([1, 2])},
    }
    result = quell.run(table, set={"link.queue.alpha": numpy.float32(0.25)}, out=tmp_path / "table")
    assert sorted(result.seeds) == [1, 2]
    assert 'alpha = "0.25Hz"' in result.seeds[1].scenario
    assert sorted(quell.run(table, seeds=numpy.arange(4, 6), out=tmp_path / "seeds").seeds) == [4, 5]
    for wrong in (numpy.float64("nan"), numpy.datetime64("2026-01-01")):
        with pytest.raises((ValueError, TypeError), match="no value of a scenario"):
            quell.run(table, set={"link.queue.alpha": wrong})

def test_cells_that_fail_are_an_error_after_all_others(
    fake: Callable[[str], Path], scenario: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    fake(
        'for one; do case $one in --dry-run) printf "      10 cells in the sim world\\n       0 are in x\\n'
        f'      10 to run, about 2 min with --jobs 1\\n"; exit;; esac; done; echo "$@" >>{log}; echo "quell: 1 cells failed" >&2; exit 1'
    )
    with ThreadPoolExecutor(2) as executor, pytest.raises(quell.RunError, match="^1 cells failed$"):
        quell.Sweep(scenario, {"link.rate": ["4mbit"]}).run(tmp_path / "store", engine=executor)
    shards = sorted(word for line in log.read_text().splitlines() for word in line.split() if word.startswith("--shard"))
    # Two minutes are four shards of half a minute.
    assert shards == [f"--shard={k}/4" for k in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quell.log(0, 5, 3), "positive"),
        (lambda: quell.linear(0, 5, 1), "at least 2"),
        (lambda: quell.Sweep("x.toml", {"link.rate": "4mbit"}), "list"),
        (lambda: quell.Sweep("x.toml", {}).run("store", slurm={}), "dask-slurm"),
    ],
)
def test_wrong_sweeps_are_refused(
    make: Callable[[], object], message: str, fake: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fake('printf "1 cells\\n1 to run, about 1 s with --jobs 1\\n"')
    with pytest.raises(ValueError, match=message):
        make()


def test_axes_are_written_as_quell_reads_them() -> None:
    assert quell.log(5, 100, 5, unit="ms").table() == {"log": ["5ms", "100ms"], "steps": 5}
    assert quell.linear(0.1, 1e6, unit="bit").table() == {"from": "0.1bit", "to": "1000000bit"}
    text = quell.Sweep("x.toml", {"link.queue": ["pie", {"kind": "pie"}]}, seeds=range(2), set={"link.mpu": 64}).text("/a b/ü.toml")
    assert 'scenario = "/a b/ü.toml"\n' in text
    assert 'axis = { "link.queue" = ["pie", { kind = "pie" }] }\n' in text
    assert "seeds = [0, 1]\n" in text
