"""Runs the program as a child, so that a crash of it is an exception here, and Ctrl-C keeps what was measured.

The child has a session of its own: an interrupt of a notebook or a terminal goes to a whole group of processes, and a second signal would
end quell at once. It gets one SIGINT from here, writes its partial results, and ends; a second Ctrl-C here kills it. Where Python itself is
killed, the child sees the end of a pipe whose other end only this process has, and ends as after Ctrl-C.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from quell import _binary
from quell.errors import BinaryError, InputError, Problem, RunError


@dataclass(frozen=True)
class Ended:
    """How the program ended."""

    code: int
    """Exit code, or minus the number of the signal."""
    out: bytes
    error: str
    interrupted: bool
    """Whether it was ended from here."""


def call(arguments: Sequence[str], text: str | None = None) -> Ended:
    """Runs `quell ARGUMENTS` to its end, with `text` as its standard input."""
    binary = _binary.find()
    # Files instead of pipes: nothing blocks, and nothing is lost at an interrupt.
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        if text is not None:
            stdin.write(text.encode("utf-8", "surrogateescape"))
            stdin.seek(0)
        with _parent_pipe() as pipe, _interrupts_held() as let_through:
            try:
                child = subprocess.Popen(
                    [binary, f"--parent-pipe={pipe}", *arguments],
                    stdin=stdin,
                    stdout=out,
                    stderr=error,
                    env={**os.environ, "NO_COLOR": "1"},
                    start_new_session=True,
                    pass_fds=(pipe,),
                )
            except (OSError, ValueError) as failure:
                raise BinaryError(f"{binary} cannot be started: {failure}") from failure
            interrupted = _wait(child, let_through)
        out.seek(0)
        error.seek(0)
        return Ended(child.returncode, out.read(), error.read().decode("utf-8", "replace"), interrupted)


@contextmanager
def _parent_pipe() -> Generator[int, None, None]:
    """The end of a pipe for the child. No other child gets the end that stays here: it closes with this process."""
    theirs, ours = os.pipe()
    try:
        yield theirs
    finally:
        os.close(theirs)
        os.close(ours)


@contextmanager
def _interrupts_held() -> Generator[Callable[[], None], None, None]:
    """Holds Ctrl-C back until the function is called: one in the middle of a start would leave a child that nobody knows."""
    before = signal.getsignal(signal.SIGINT)
    held = False

    def hold(_number: int, _frame: object) -> None:
        nonlocal held
        held = True

    def let_through() -> None:
        nonlocal held
        signal.signal(signal.SIGINT, before)
        if held:
            held = False
            signal.raise_signal(signal.SIGINT)

    # Only the main thread gets interrupts, and only a handler of Python's raises anything.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    signal.signal(signal.SIGINT, hold)
    try:
        yield let_through
    finally:
        let_through()


def _wait(child: subprocess.Popen[bytes], let_through: Callable[[], None]) -> bool:
    """Waits for the end; returns whether an interrupt brought it."""
    try:
        let_through()
        child.wait()
        return False
    except KeyboardInterrupt:
        _send(child, signal.SIGINT)
        try:
            child.wait()
        except BaseException:
            _end(child)
            raise
        return True
    except BaseException:
        _end(child)
        raise


def _send(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if child.poll() is None:
        child.send_signal(number)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends it for good: a run that ends so leaves a hidden folder, which the next one removes."""
    child.kill()
    child.wait()


@dataclass(frozen=True)
class Written:
    """What was written for the program rather than by a person: errors name this instead of the file."""

    name: str
    has_lines: bool
    """Whether its lines are those of the caller."""


def fail(ended: Ended, written: Mapping[str, Written] | None = None) -> NoReturn:
    """Raises what the end of the program means. `written` has what the files were that the caller knows nothing of."""
    message = ended.error.strip().removeprefix("quell: ")
    problems = (_problems(ended.out) or _written(message)) if ended.code == 2 else ()
    for file, what in (written or {}).items():
        name = what.name.replace("\\", r"\\")
        message = re.sub(re.escape(file) + (r"\b" if what.has_lines else r"\b(:\d+)?"), name, message)
        problems = tuple(replace(one, file=what.name, line=one.line if what.has_lines else None) if one.file == file else one for one in problems)
    if ended.code == 2:
        raise InputError(message or "the input is wrong", problems)
    if ended.code < 0:
        try:
            name = signal.Signals(-ended.code).name
        except ValueError:
            name = f"signal {-ended.code}"
        last = "; ".join(message.splitlines()[-3:])
        raise RunError(f"quell was ended by {name}" + (f": {last}" if last else ""), ended.code)
    raise RunError(message or f"quell ended with exit code {ended.code} and said nothing", ended.code)


# file:line: key = found: allowed
_LINE = re.compile(r"(?P<file>.+?):(?P<line>\d+): (?P<key>[\w.*-]+)(?: = (?P<found>.*?))?: (?P<fix>.+)")


def _written(message: str) -> tuple[Problem, ...]:
    """The errors of a file in the message for people, of commands without `--json`."""
    found = (_LINE.fullmatch(line) for line in message.splitlines())
    return tuple(Problem(one["file"], int(one["line"]), None, one["key"], one["found"], one["fix"]) for one in found if one)


def _problems(out: bytes) -> tuple[Problem, ...]:
    """The errors of a scenario that `--json` prints; none if something else is wrong."""
    try:
        read: Any = json.loads(out)
        return tuple(
            Problem(
                file=str(one["file"]),
                line=one["line"],
                argument=one["argument"],
                key=str(one["key"]),
                found=one["found"],
                fix=str(one["allowed"]),
            )
            for one in read["errors"]
        )
    except (ValueError, KeyError, TypeError):
        return ()
