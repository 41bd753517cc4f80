"""The grid of the tutorial: its commands, its script, and the same sweep from Python on a cluster of workers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import quell
from conftest import ROOT
from quell import _binary

SWEEP = ROOT / "scenarios" / "sweeps" / "grid.toml"


def _quell(folder: Path, *arguments: str) -> str:
    ran = subprocess.run([_binary.find(), *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _tables(store: Path) -> list[bytes]:
    tables = []
    for more in ([], ["--over-seeds"]):
        out = store.parent / "table.csv"
        _quell(store.parent, "sweep", "table", str(store), "--out", str(out), *more)
        tables.append(out.read_bytes())
    return tables


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the tutorial's first command."""
    folder = tmp_path_factory.mktemp("tutorial")
    told = _quell(folder, "sweep", str(SWEEP), "--store", "grid")
    assert told.startswith("200 cells, 200 ran"), told
    return folder / "grid"


@pytest.mark.slow
def test_the_script_of_the_tutorial_draws_its_table(grid: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    page = (ROOT / "docs" / "tutorial.md").read_text()
    script = re.search(r"<!-- file: grid.py -->\n```python\n(.*?)```", page, re.DOTALL)
    assert script is not None
    folder = grid.parent
    (folder / "grid.py").write_text(script[1])
    _quell(folder, "sweep", "table", "grid", "--over-seeds", "--out", "grid.csv")
    ran = subprocess.run(
        [sys.executable, "grid.py", "grid.csv"],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "<svg" in (folder / "grid.svg").read_text()


@pytest.mark.slow
def test_the_grid_shows_what_the_text_says(grid: Path) -> None:
    pytest.importorskip("pyarrow")
    table = quell.Store(grid).table(over_seeds=True).to_pylist()
    assert len(table) == 40
    for row in table:
        l4s, classic = (row[f"group.{group}.delay_ms.p99"] for group in ("l4s", "classic"))
        if row["link.queue"] == "dualpi2":
            assert 1.0 < l4s < 2.0, row
        elif row["link.queue"] == "fifo:limit=100ms":
            assert min(l4s, classic) > 99.0, row


@pytest.mark.slow
def test_workers_give_the_grid_to_the_byte(grid: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    sweep = quell.Sweep(
        ROOT / "scenarios" / "dualq2015" / "coexistence.toml",
        {
            "link.queue": ["fifo:limit=100ms", "pie:ecn=true", "fq_codel", "dualpi2"],
            "group.*.rtt": quell.log(5, 100, 10, unit="ms"),
        },
        seeds=range(1, 6),
        set={"run.duration": "25s", "run.warmup": "10s"},
    )
    store = sweep.run(tmp_path / "store", engine="dask", jobs=2)
    assert _tables(store.folder) == _tables(grid)
