"""A link that goes on while Python puts programs behind it, changes it, and asks it: `quell exec`, its name, and `quell link`."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from quell import _binary
from quell.errors import BinaryError, InputError, RunError

_numbers = itertools.count(1)

# It ends with this process, whose end of the pipe closes then.
_WAITS = ["sh", "-c", "echo ready; read line; exit 0"]


@dataclass(frozen=True)
class Ran:
    """A program that ran behind a link."""

    code: int
    """Exit code, or minus the number of the signal."""
    seconds: float
    """How long it ran, of real time, with its start."""
    out: str
    error: str


class Link:
    """A link of this host, until it is closed: `quell exec` with these options, such as `down="10mbit"`, `up_queue="codel"` or
    `profile="dsl"`. A list is given one by one, and True is an option without value.

        with quell.Link(profile="dsl", queue="dualpi2") as link:
            assert link.run(["curl", "-s", URL], check=True).seconds < 1
            link.set(down="1mbit", rtt="80ms")
    """

    def __init__(self, *, name: str | None = None, **options: str | int | bool | Sequence[str]) -> None:
        self.name = name or f"python-{os.getpid()}-{next(_numbers)}"
        """By which `quell link` finds it."""
        self._report: dict[str, Any] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="quell-")
        words = [self._binary(), "exec", "--quiet", "--name", self.name, "--json", str(self._json), *_words(options), "--", *_WAITS]
        self._errors = (Path(self._folder.name) / "errors").open("w+b")
        try:
            self._child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        except OSError as failure:
            raise BinaryError(f"{words[0]} cannot be started: {failure}") from failure
        assert self._child.stdout is not None
        if self._child.stdout.readline() != b"ready\n":
            self._child.wait()
            raise InputError(self._said())

    @staticmethod
    def _binary() -> str:
        return _binary.find()

    @property
    def _json(self) -> Path:
        return Path(self._folder.name) / "report.json"

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace").strip().removeprefix("quell: ")

    def run(self, command: Sequence[str], *, check: bool = False, timeout: float | None = None) -> Ran:
        """Runs a program behind the link. With `check` an exit code other than 0 is a RunError."""
        words = [self._binary(), "exec", "--join", self.name, "--", *command]
        began = time.monotonic()
        ended = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=timeout, stdin=subprocess.DEVNULL)
        ran = Ran(ended.returncode, time.monotonic() - began, ended.stdout, ended.stderr)
        if check and ran.code != 0:
            raise RunError(f"{command[0]} ended with {ran.code}: {ran.error.strip()}", ran.code)
        return ran

    def set(self, values: Mapping[str, str] | None = None, **more: str) -> None:
        """Changes the link, all values at one instant: `down="5mbit"`, `{"down.queue.target": "9ms"}`."""
        self._ask("set", *(f"{key}={value}" for key, value in {**(values or {}), **more}.items()))

    def cut(self, how: str = "rst", *, to: str | None = None, older: str | None = None) -> int:
        """Cuts connections by `rst`, `fin` or `silent`; how many there were."""
        filters = {"to": to, "older": older}
        words = [word for key, value in filters.items() if value is not None for word in (f"--{key}", value)]
        return int(self._ask("cut", how, *words).split(": ")[1].split()[0])

    def summary(self) -> dict[str, Any]:
        """What was measured so far, as in `summary.json`."""
        read: dict[str, Any] = json.loads(self._ask("show", "--json"))
        return read

    def _ask(self, verb: str, *words: str) -> str:
        ended = subprocess.run([self._binary(), "link", verb, self.name, *words], capture_output=True, text=True)
        if ended.returncode != 0:
            raise InputError(ended.stderr.strip().removeprefix("quell: "))
        return ended.stdout

    def result(self) -> dict[str, Any]:
        """Closes the link and returns its report: `summary.json`, with `exec` beside."""
        self.close()
        if self._report is None:
            raise RunError("the link has left no report", self._child.returncode)
        return self._report

    def close(self) -> None:
        """Ends the link, and what runs behind it."""
        if self._child.stdin is None or self._child.stdin.closed:
            return
        self._child.stdin.close()
        self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()
        if self._json.exists():
            self._report = json.loads(self._json.read_text())
        self._errors.close()
        self._folder.cleanup()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _words(options: Mapping[str, str | int | bool | Sequence[str]]) -> list[str]:
    """Options as `quell exec` has them."""
    words: list[str] = []
    for key, value in options.items():
        option = f"--{key.replace('_', '-')}"
        for one in [value] if isinstance(value, (str, int)) else value:
            if one is True:
                words.append(option)
            elif one is not False:
                words.append(f"{option}={one}")
    return words
