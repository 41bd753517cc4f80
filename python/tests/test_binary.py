"""Which program is run, and what becomes of its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quell
from conftest import ROOT, SCENARIO
from quell import _binary, _process

Fake = Callable[..., Path]


def test_the_version_is_that_of_the_program() -> None:
    manifest = (ROOT / "Cargo.toml").read_text()
    found = re.search(r'^\[workspace\.package\]\nversion = "(.*)"', manifest, re.MULTILINE)
    assert found is not None
    assert quell.__version__ == found[1]


def test_quell_is_first_beside_python_then_in_quell_then_in_the_path(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = fake("exit 0")
    beside = tmp_path / "scripts" / "quell"
    beside.parent.mkdir()
    paths = dict(sysconfig.get_paths())
    
    def scripts(name: str) -> str:
        return str(beside.parent) if name == "scripts" else paths[name]

    monkeypatch.setattr(sysconfig, "get_path", scripts)
    assert _binary.find() == str(named)
    monkeypatch.delenv("QUELL")
    monkeypatch.setenv("PATH", f"{named.parent}:{os.environ['PATH']}")
    assert _binary.find() == str(named)
    beside.write_bytes(named.read_bytes())
    # It is not a program yet.
    assert _binary.find() == str(named)
    beside.chmod(0o755)
    assert _binary.find() == str(beside)


def test_a_program_of_another_version_is_refused(fake: Fake) -> None:
    path = fake("exit 0", version="0.0.9")
    with pytest.raises(quell.BinaryError, match=rf"{path} \(from QUELL\) is quell 0\.0\.9, and this package needs"):
        quell.run("x.toml")


@pytest.mark.parametrize("text", ["#!/bin/sh\necho hello there friend\n", "#!/bin/sh\nexit 3\n", "no program at all"])
def test_what_is_not_quell_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "quell"
    path.write_text(text)
    path.chmod(0o755)
    monkeypatch.setenv("QUELL", str(path))
    with pytest.raises(quell.BinaryError, match="quell"):
        quell.run("x.toml")


def test_no_program_at_all_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("QUELL", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def scripts(name: str) -> str:
        return str(tmp_path)

    monkeypatch.setattr(sysconfig, "get_path", scripts)
    with pytest.raises(quell.BinaryError, match="missing"):
        quell.run("x.toml")
    monkeypatch.setenv("QUELL", str(tmp_path / "none"))
    with pytest.raises(quell.BinaryError, match="is not a program"):
        quell.run("x.toml")


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("echo the last words >&2; kill -SEGV $$", -signal.SIGSEGV, "ended by SIGSEGV: the last words"),
        ("echo \"thread 'main' panicked\" >&2; exit 101", 101, "panicked"),
        ("echo 'quell: the disk is full' >&2; exit 1", 1, "^the disk is full$"),
        ("exit 7", 7, "exit code 7"),
        ("exit 0", 0, "wrote no"),
    ],
)
def test_a_crash_is_an_exception(fake: Fake, tmp_path: Path, script: str, code: int, message: str) -> None:
    fake(script)
    with pytest.raises(quell.RunError, match=message) as caught:
        quell.run("x.toml", out=tmp_path / "out")
    assert caught.value.code == code


def test_a_comparison_that_prints_nonsense_is_an_exception(fake: Fake, tmp_path: Path) -> None:
    fake("echo '[{\"queue\": 1}]'")
    with pytest.raises(quell.RunError, match="printed no comparison"):
        quell.compare("x.toml", ["fifo"], out=tmp_path / "out")


def test_wrong_input_that_is_no_json_is_still_wrong_input(fake: Fake, tmp_path: Path) -> None:
    fake("echo '{\"errors\": [{}]}'; echo 'quell: so not' >&2; exit 2")
    with pytest.raises(quell.InputError, match="^so not$") as caught:
        quell.run("x.toml", out=tmp_path / "out")
    assert caught.value.problems == ()
    assert caught.value.line is None


# Runs a scenario that takes long, and reports what Ctrl-C left.
_INTERRUPTED = """
import pathlib, sys
import quell
try:
    quell.run(pathlib.Path(sys.argv[1]), out=sys.argv[2], duration=sys.argv[3])
except quell.Interrupted as error:
    print("interrupted", error.result is not None and error.result.partial, flush=True)
"""


def _processes_of(session_of: int) -> list[int]:
    """The children of a process."""
    children = Path(f"/proc/{session_of}/task/{session_of}/children").read_text()
    return [int(child) for child in children.split()]


def _start(tmp_path: Path, scenario: Path, duration: str) -> tuple[subprocess.Popen[str], int]:
    """Starts it, and waits until its child runs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python" / "src")}
    command = [sys.executable, "-c", _INTERRUPTED, str(scenario), str(tmp_path / "out"), duration]
    program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 30
    while not (tmp_path / ".out.unfinished").exists():
        assert time.monotonic() < until
        assert program.poll() is None
        time.sleep(0.01)
    (child,) = _processes_of(program.pid)
    return program, child


def test_ctrl_c_ends_the_program_and_keeps_what_was_measured(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SCENARIO)
    program, child = _start(tmp_path, scenario, "80000s")
    # Long enough to be beyond the warm-up of one second, of a simulator that is hundreds of times as fast.
    time.sleep(1)
    program.send_signal(signal.SIGINT)
    out, _ = program.communicate(timeout=60)
    assert out == "interrupted True\n"
    assert not Path(f"/proc/{child}").exists()
    result = quell.Result(tmp_path / "out")
    assert 1 < result.summary["duration_s"] < 80_000
    assert result.summary["groups"][0]["packets"] > 0


def _is_gone(process: int) -> bool:
    """Whether it has ended; nobody may have asked for its exit code."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_python_is_killed_the_program_ends_and_keeps_what_was_measured(tmp_path: Path, number: signal.Signals) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SCENARIO)
    program, child = _start(tmp_path, scenario, "80000s")
    time.sleep(1)
    program.send_signal(number)
    program.wait(60)
    _wait_for(lambda: _is_gone(child))
    result = quell.Result(tmp_path / "out")
    assert result.partial
    assert 1 < result.summary["duration_s"] < 80_000


def test_when_python_is_killed_a_sweep_ends_and_keeps_whole_cells(tmp_path: Path, scenario: Path) -> None:
    code = "import sys, quell; quell.Sweep(sys.argv[1], {'link.rate': ['4mbit', '8mbit']}, seeds=range(2000)).run(sys.argv[2])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python" / "src")}
    program = subprocess.Popen([sys.executable, "-c", code, str(scenario), str(tmp_path / "store")], env=environment)
    cells = tmp_path / "store" / "cells"
    _wait_for(lambda: cells.is_dir() and any(cells.rglob("summary.json")))
    (child,) = _processes_of(program.pid)
    program.kill()
    program.wait(60)
    _wait_for(lambda: _is_gone(child))
    quell.Store(tmp_path / "store").check()
    assert 0 < len(list(cells.rglob("summary.json"))) < 4_000


def test_a_second_ctrl_c_ends_it_at_once(fake: Fake, tmp_path: Path, scenario: Path) -> None:
    fake(f"trap : INT; mkdir {tmp_path}/.out.unfinished; while :; do sleep 0.1; done")
    program, child = _start(tmp_path, scenario, "1s")
    program.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert program.poll() is None
    program.send_signal(signal.SIGINT)
    assert program.wait(30) != 0
    assert not Path(f"/proc/{child}").exists()


def test_a_ctrl_c_while_the_program_starts_leaves_no_child(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake("exec sleep 60")
    children: list[subprocess.Popen[Any]] = []
    start = subprocess.Popen

    def interrupted(*arguments: Any, **named: Any) -> subprocess.Popen[Any]:
        child = start(*arguments, **named)
        if "pass_fds" in named:
            children.append(child)
            signal.raise_signal(signal.SIGINT)
        return child

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    assert _process.call([]).interrupted
    assert children[0].returncode == -signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
