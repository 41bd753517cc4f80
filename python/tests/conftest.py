"""What the tests share: a small scenario, and one result of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import quell

ROOT = Path(__file__).resolve().parents[2]

SCENARIO = """\
schema = 1
name = "small"
[link]
rate = "10mbit"
queue = "dualpi2"
[[group]]
name = "l4s"
count = 2
congestion-control = "dctcp"
ecn = "ect1"
rtt = "10ms"
app = "bulk"
[[group]]
name = "classic"
rtt = "10ms"
app = "bulk"
[run]
duration = "3s"
warmup = "1s"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """The file of the small scenario."""
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> quell.Result:
    """A result of the small scenario, with packets. Tests only read it."""
    return quell.run(quell.Text(SCENARIO), out=tmp_path_factory.mktemp("kept") / "one", packets=True)


@pytest.fixture(scope="session")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> quell.Result:
    """A result of two seeds."""
    return quell.run(quell.Text(SCENARIO), set={"run.seeds": [1, 2]}, out=tmp_path_factory.mktemp("seeds") / "two")


@pytest.fixture
def copy(kept: quell.Result, tmp_path: Path) -> Path:
    """A copy of the result, to be damaged."""
    folder = tmp_path / "copy"
    shutil.copytree(kept.folder, folder)
    return folder


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a program that answers --version as quell does, and otherwise does what the script says."""

    def make(script: str, version: str = quell.__version__) -> Path:
        path = tmp_path / "bin" / "quell"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/bash\nif [ "$1" = --version ]; then echo "quell {version}"; exit; fi\n{script}\n')
        path.chmod(0o755)
        monkeypatch.setenv("QUELL", str(path))
        return path

    return make


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What did not run goes where the project collects it."""
    collected = os.environ.get("QUELL_NOT_RUN")
    if not collected:
        return
    with Path(collected).open("a") as file:
        for report in terminalreporter.getreports("skipped"):
            why = str(report.longrepr[2]).removeprefix("Skipped: ").split("\n")[0]
            file.write(f"not run: Python {report.nodeid.rpartition('/')[2]}: {why}\n")
        if terminalreporter.getreports("deselected"):
            file.write("not run: Python tests that take long: make python-test\n")
