"""Engines that lose workers, or that somebody else helps: still the same store and the same table, to the byte."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import quell
from conftest import SCENARIO
from quell import _binary, _sweep  # pyright: ignore[reportPrivateUsage]

pytest.importorskip("pyarrow")

# Cells of a tenth of a second to one second, so that a worker is at work when it is killed.
LONG = SCENARIO.replace('duration = "3s"', 'duration = "1000s"')
AXES: dict[str, Any] = {"link.rate": ["4mbit", "12mbit", "40mbit"], "link.queue": ["fifo", "pie", "dualpi2"]}


def _sweep_of(axes: dict[str, Any] = AXES, seeds: tuple[int, ...] = (1, 2)) -> quell.Sweep:
    return quell.Sweep(quell.Text(LONG), axes, seeds=seeds)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> quell.Store:
    """The store of the sweep, made by the program alone."""
    return _sweep_of().run(tmp_path_factory.mktemp("engines") / "store")


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes parts so short that the sweep has one for each cell or two."""
    monkeypatch.setattr(_sweep, "_SHARD_SECONDS", 0.5)


def _bytes(store: quell.Store, out: Path) -> bytes:
    """The table as CSV, after a check of every cell."""
    store.check()
    subprocess.run([_binary.find(), "sweep", "table", store.folder, "--out", out], check=True, capture_output=True)
    return out.read_bytes()


def _same(store: quell.Store, done: quell.Store, tmp_path: Path) -> None:
    assert _bytes(store, tmp_path / "own.csv") == _bytes(done, tmp_path / "other.csv")


class _Killer(threading.Thread):
    """Kills workers of a cluster by their process ids, at moments drawn from a seed, until it is told to stop."""

    def __init__(self, cluster: Any, seed: int) -> None:
        super().__init__(daemon=True)
        self._cluster, self._draw = cluster, random.Random(seed)
        self.killed: list[int] = []
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._draw.uniform(0.2, 1.0)):
            # The nanny of a worker is in this process, and starts another one. It has no id in between.
            pids = [nanny.pid for nanny in self._cluster.workers.values()]
            alive = sorted(pid for pid in pids if pid is not None and pid not in self.killed)
            if alive and len(self.killed) < 6:
                pid = self._draw.choice(alive)
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)

    def stop(self) -> None:
        self._over.set()
        self.join()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_workers_that_are_killed_leave_no_gap_and_no_other_byte(
    done: quell.Store, short_parts: None, tmp_path: Path, seed: int
) -> None:
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    # By default a part is given up when three workers have ended with it. These ended for another reason.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 100}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        killer = _Killer(cluster, seed)
        killer.start()
        store = _sweep_of().run(tmp_path / "store", engine=client)
        killer.stop()
    assert len(killer.killed) >= 2
    _same(store, done, tmp_path)


@pytest.mark.slow
def test_a_part_that_dask_gives_up_is_an_error_and_the_same_call_goes_on(
    done: quell.Store, short_parts: None, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        killer = _Killer(cluster, 3)
        killer.start()
        with pytest.raises(quell.RunError, match="lost its worker.*the same call goes on"):
            _sweep_of().run(tmp_path / "store", engine=client)
        killer.stop()
        store = _sweep_of().run(tmp_path / "store", engine=client)
    _same(store, done, tmp_path)


@pytest.mark.slow
def test_engines_may_share_a_store(done: quell.Store, short_parts: None, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    _sweep_of(AXES | {"link.rate": ["4mbit", "12mbit"]}, seeds=(1,)).run(tmp_path / "store")
    with ThreadPoolExecutor(2) as executor:
        _sweep_of(AXES | {"link.queue": ["dualpi2"]}).run(tmp_path / "store", engine=executor)
    store = _sweep_of().run(tmp_path / "store", engine="dask", jobs=2)
    _same(store, done, tmp_path)
