"""What goes wrong: all are `QuellError`, and those that a program tells apart have a class of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quell._result import Result


class QuellError(Exception):
    """Anything that this package refuses or that failed below it."""


class BinaryError(QuellError):
    """The program `quell` was not found, or is of another version."""


class ResultError(QuellError):
    """A result folder is incomplete, damaged, or of a format that this version does not read."""


class ColumnError(QuellError, ValueError):
    """A column was asked for that the file does not have."""


class MissingExtra(QuellError, ImportError):
    """A package is needed that is not installed."""


@dataclass(frozen=True)
class Problem:
    """One error in a scenario."""

    file: str
    """Name of the scenario file."""
    line: int | None
    """Line of the file, from 1; None if an argument is wrong."""
    argument: str | None
    """The argument as given, such as `--set link.rate=fast`; None if a line is wrong."""
    key: str
    """Dotted from the top, such as `link.rate`; empty where there is none."""
    found: str | None
    """The value as given; None if the key has none."""
    fix: str
    """What is allowed there, or what is wrong."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else (self.argument or self.file)
        parts = [place]
        if self.key:
            parts.append(self.key if self.found is None else f"{self.key} = {self.found}")
        return ": ".join([*parts, self.fix])


class InputError(QuellError, ValueError):
    """The input is wrong, or this machine cannot run it (exit code 2). Nothing was started.

    `problems` lists the errors of the scenario; it is empty if something else is wrong.
    """

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, problems)
        self.message = message
        self.problems = problems

    def __str__(self) -> str:
        return self.message

    @property
    def first(self) -> Problem | None:
        """The first error of the scenario."""
        return self.problems[0] if self.problems else None

    @property
    def file(self) -> str | None:
        """The file of the first error."""
        return self.first.file if self.first else None

    @property
    def line(self) -> int | None:
        """The line of the first error."""
        return self.first.line if self.first else None

    @property
    def key(self) -> str | None:
        """The key of the first error."""
        return self.first.key if self.first else None

    @property
    def fix(self) -> str | None:
        """What is allowed at the first error."""
        return self.first.fix if self.first else None


class RunError(QuellError, RuntimeError):
    """A run failed.

    `code` is the exit code, or minus the number of the signal that ended the program; `message` is what it said.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code

    def __str__(self) -> str:
        return self.message


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run. `result` has the figures up to then; None if nothing was measured."""

    def __init__(self, message: str, result: Result | None) -> None:
        super().__init__(message)
        self.result = result
