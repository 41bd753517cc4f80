"""A result folder: figures, series, distributions, packets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from quell import _frame, _html, _process, _series, _text
from quell._histogram import Histogram
from quell._packets import Packets
from quell._where import Where
from quell.errors import ResultError

if TYPE_CHECKING:
    from quell._plot import ComparisonPlots, Plots
    from quell.types import Summary

SCHEMA = 1
"""The version of `summary.json` and `histograms.json` that this package reads."""


class Result:
    """A result of `quell run`: `Result("results/…")` opens a folder, `quell.run` returns a new one.

    With several seeds it is the folder around them: `seeds` has the result of each, `aggregate` their means, and series come with a column
    `seed`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise ResultError(f"{self.folder} is no result: there is no such folder")
        self.seeds: Mapping[int, Result] = {}
        """The result of each seed, if there are several; else empty."""
        if (self.folder / "aggregate.json").exists():
            self.seeds = {seed: Result(self.folder / f"seed{seed}") for seed in self._seeds()}

    def _seeds(self) -> list[int]:
        numbers = self.aggregate.get("seeds")
        if not isinstance(numbers, list) or not numbers or not all(isinstance(one, int) for one in numbers):
            raise ResultError(f"{self.folder / 'aggregate.json'} is damaged: it has no list of seeds")
        return cast("list[int]", numbers)

    @cached_property
    def summary(self) -> Summary:
        """Every figure, as in `summary.json`. Its keys are typed, and their comments give the units."""
        if self.seeds:
            raise ResultError(
                f"{self.folder} has {len(self.seeds)} seeds: take the summary of one, such as seeds[{min(self.seeds)}].summary, "
                "or their means, aggregate"
            )
        return cast("Summary", self._json("summary.json"))

    @cached_property
    def aggregate(self) -> Mapping[str, Any]:
        """The means of several seeds, as in `aggregate.json`: `{"mean": …, "standard_error": …, "n": …}` in place of each number."""
        return self._json("aggregate.json")

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """How the run went, as in `run.json`: version, host, command line, times."""
        return self._read("run.json")

    @property
    def scenario(self) -> str:
        """The scenario as it ran, with every default: `run(Text(result.scenario))` repeats it."""
        path = self._one().folder / "scenario.toml"
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ResultError(f"{path} cannot be read: {error}") from error

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str((self.aggregate if self.seeds else self.summary).get("scenario"))

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the result; of several seeds those of all, each once."""
        return list((self.aggregate if self.seeds else self.summary)["warnings"])

    @property
    def partial(self) -> bool:
        """Whether the run ended early, or a seed is missing."""
        return bool((self.aggregate if self.seeds else self.summary)["partial"])

    def frame(self, kind: _frame.Kind = None) -> Any:
        """The figures of the groups: a row per group and seed, a column per figure, such as `delay_ms.p99`; of flows their mean.

        A DataFrame of pandas if that is installed, else of polars, else a list of dicts; `kind` says which: `"pandas"`, `"polars"`, `"list"`.
        """
        return _frame.result(self, kind)

    def people(self) -> Mapping[str, Any]:
        """What people feel, as `quell report --json` has it: an answer in sentences, `words` of people, and `rows` with every figure."""
        return _people([self])

    def flows(self, columns: Sequence[str] | None = None, where: object = None) -> Any:
        """`flows.parquet` as a `pyarrow.Table`: a row per flow and interval (extra `arrow`).

        Only what `columns` and `where` ask for is read. `where` is `{"group": "l4s"}`, `[("time_s", ">=", 10)]`, or a pyarrow expression.
        """
        return self._series("flows.parquet", columns, where)

    def queues(self, columns: Sequence[str] | None = None, where: object = None) -> Any:
        """`queues.parquet`: a row per queue and interval. Arguments as of `flows`."""
        return self._series("queues.parquet", columns, where)

    def events(self, columns: Sequence[str] | None = None, where: object = None) -> Any:
        """`events.parquet`: a row per event of an application that records any. Arguments as of `flows`."""
        return self._series("events.parquet", columns, where)

    def histogram(
        self,
        of: Literal["delay", "backlog"] = "delay",
        *,
        queue: str | None = None,
        group: str | None = None,
        direction: str = "forward",
        hop: str | None = None,
    ) -> Histogram:
        """The distribution of the delay in a queue or of a group, or of the backlog that each packet of a queue left behind.

        One of `queue` and `group`; neither is needed if there is only one queue in that direction. `hop` is the link, where there are
        several. Of several seeds the packets of all.
        """
        if self.seeds:
            return Histogram.together(
                [
                    one.histogram(of, queue=queue, group=group, direction=direction, hop=hop)
                    for one in self.seeds.values()
                ]
            )
        if queue is not None and group is not None:
            raise ValueError("a histogram is of a queue or of a group")
        if of not in ("delay", "backlog"):
            raise ValueError(f"{of!r}: must be 'delay' or 'backlog'")
        if of == "backlog" and group is not None:
            raise ValueError("a group has no backlog: name a queue")
        file = self._json("histograms.json")
        try:
            if group is not None:
                known = list(file["groups"])
                found = [one for one in known if one["name"] == group]
            else:
                known = [
                    one
                    for one in file["queues"]
                    if one["direction"] == direction and hop in (None, one.get("hop", "link"))
                ]
                found = [one for one in known if queue in (None, one["name"])]
            if len(found) != 1:
                names = ", ".join(str(one["name"]) for one in known)
                what = f"group {group!r}" if group is not None else f"queue {queue!r} in direction {direction}"
                raise ValueError(f"{'several are' if found else 'none is'} {what}: there is {names or 'none'}")
            key, unit = ("delay_ns", "ns") if of == "delay" else ("backlog_at_dequeue_bytes", "bytes")
            return Histogram.of(str(found[0]["name"]), unit, found[0][key])
        except (KeyError, TypeError) as error:
            raise ResultError(f"{self.folder / 'histograms.json'} is damaged: {error!r} is missing") from error

    def packets(self, columns: Sequence[str] | None = None, where: Where | None = None) -> Packets:
        """Every packet of a run with `packets=True`: an iterable of dicts that reads `packets.pcapng` as it goes.

        `.batches()` gives Arrow record batches, `.table()` one Arrow table. Columns are in `quell.PACKET_COLUMNS`.
        """
        return Packets(self._one().folder / "packets.pcapng", columns, where)

    @property
    def plot(self) -> Plots:
        """Plots, each of which returns its matplotlib Axes (extra `plot`)."""
        from quell._plot import Plots

        return Plots(self)

    def _one(self) -> Result:
        """The result of the only seed."""
        if self.seeds:
            raise ResultError(f"{self.folder} has {len(self.seeds)} seeds: take one, such as seeds[{min(self.seeds)}]")
        return self

    def _series(self, file: str, columns: Sequence[str] | None, where: object) -> Any:
        if not self.seeds:
            return _series.read(self.folder / file, columns, where)
        return _series.together([(seed, _series.read(one.folder / file, columns, where)) for seed, one in self.seeds.items()])

    def _json(self, name: str) -> Mapping[str, Any]:
        """A file of the format that this version reads."""
        read = self._read(name)
        if read.get("schema") != SCHEMA:
            raise ResultError(
                f"{self.folder / name} is of format {read.get('schema', 'unknown')}, and this version reads {SCHEMA}: "
                "read it with the quell that wrote it (run.json names its version)"
            )
        return read

    def _read(self, name: str) -> Mapping[str, Any]:
        path = self.folder / name
        try:
            read = json.loads(path.read_bytes())
        except FileNotFoundError as error:
            raise ResultError(f"{self.folder} is no complete result: {name} is missing") from error
        except (OSError, ValueError) as error:
            raise ResultError(f"{path} cannot be read: {error}") from error
        if not isinstance(read, dict):
            raise ResultError(f"{path} is damaged: it is not a table")
        return cast("Mapping[str, Any]", read)

    def __repr__(self) -> str:
        return f"Result({str(self.folder)!r})"

    def __str__(self) -> str:
        return _text.result(self)

    def _repr_html_(self) -> str:
        return _html.result(self)


def _people(results: Sequence[Result]) -> Mapping[str, Any]:
    ended = _process.call(["report", "--json", "--", *(str(one.folder) for one in results)])
    if ended.code != 0:
        _process.fail(ended)
    return cast("Mapping[str, Any]", json.loads(ended.out))


class Comparison(Mapping[str, Result]):
    """The results of `quell.compare`, by queue as it was given, in that order."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        self._results = dict(results)

    def __getitem__(self, queue: str) -> Result:
        return self._results[queue]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def frame(self, kind: _frame.Kind = None) -> Any:
        """As of a result, for all queues: the first column is the queue."""
        return _frame.comparison(self, kind)

    def people(self) -> Mapping[str, Any]:
        """As of a result, with an entry for each queue in `words` and in the `values` of each row."""
        return _people(list(self.values()))

    @property
    def plot(self) -> ComparisonPlots:
        """Plots of all of them in one (extra `plot`)."""
        from quell._plot import ComparisonPlots

        return ComparisonPlots(self)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self)})"

    def __str__(self) -> str:
        return _text.comparison(self)

    def _repr_html_(self) -> str:
        return _html.comparison(self)
