"""Sweeps: one scenario with many values, and a store that keeps every cell.

The program does the work (`quell sweep`); this writes its file, divides the cells among engines and reads the table. A task of an engine is
"make sure that these cells exist", so it does no harm when an engine repeats one or loses a worker.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

from quell import _place, _process, _series, _toml
from quell._axis import Axis
from quell._run import Scenario, as_text, called
from quell.errors import Interrupted, RunError

# A task of an engine lasts about so long: much longer than handing it over, much shorter than a batch job.
_SHARD_SECONDS = 30.0


@dataclass(frozen=True)
class Plan:
    """What a sweep would do."""

    cells: int
    """All combinations with all seeds."""
    done: int
    """Cells that the store has."""
    failed: int
    """Cells that failed before; `retry_failed=True` runs them again."""
    to_run: int
    estimated_s: float
    """A rough time for the rest, with as many jobs as were asked for."""


class Store:
    """What a sweep left in its folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def table(
        self,
        columns: Sequence[str] | None = None,
        where: object = None,
        *,
        over_seeds: bool = False,
        confidence: float | None = None,
    ) -> Any:
        """A `pyarrow.Table` with a row per cell, its values and every figure as columns (extra `arrow`).

        `columns` may have `*`. With `over_seeds` a row per point: means over its seeds, standard errors, confidence intervals. The rows are in
        the order of the plan, whoever ran which cell.
        """
        command = ["sweep", "table"]
        if columns is not None:
            command += [f"--columns={column}" for column in columns]
        if over_seeds:
            command.append("--over-seeds")
        if confidence is not None:
            command.append(f"--confidence={confidence}")
        with tempfile.TemporaryDirectory(prefix="quell-") as folder:
            out = Path(folder) / "table.parquet"
            ended = _process.call([*command, f"--out={out}", "--", os.fspath(self.folder)])
            if ended.code != 0 or not out.exists():
                _process.fail(ended)
            return _series.read(out, None, where)

    def merge(self, *others: str | os.PathLike[str] | Store) -> None:
        """Adds the cells of other stores. Different results of one cell are a `RunError`; both are kept."""
        sources = [os.fspath(one.folder if isinstance(one, Store) else one) for one in others]
        _done(_process.call(["sweep", "merge", "--", os.fspath(self.folder), *sources]))

    def check(self) -> None:
        """Raises `RunError` if a cell is not as it was made."""
        _done(_process.call(["sweep", "check", "--", os.fspath(self.folder)]))

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"


class Sweep:
    """A scenario, and the values to try.

    `axes` has a key of the scenario, as `--set` takes it (`group.*.rtt` is that of every group), with a list of values, `quell.log(…)` or
    `quell.linear(…)`. `seeds` run for each combination; by default those of the scenario. `method` is `grid` for every combination, or
    `random` or `lhs` (Latin hypercube) for so many `cells`, drawn with `draw_seed`. `skip` leaves out the combinations that have all values of
    one of its tables. `set` holds for every cell. `objective` names columns to `minimise` and `maximise`, for the column `not_dominated`.
    """

    def __init__(
        self,
        scenario: Scenario,
        axes: Mapping[str, Sequence[Any] | Axis],
        *,
        seeds: Sequence[int] | None = None,
        method: Literal["grid", "random", "lhs"] = "grid",
        cells: int | None = None,
        draw_seed: int | None = None,
        skip: Sequence[Mapping[str, Any]] = (),
        set: Mapping[str, Any] | None = None,
        objective: Mapping[str, Sequence[str]] | None = None,
        world: str | None = None,
    ) -> None:
        self._scenario = scenario
        self._place = _place.caller()
        table: dict[str, Any] = {"schema": 1}
        for key, value in (
            ("world", world),
            ("seeds", None if seeds is None else list(seeds)),
            ("method", method),
            ("cells", cells),
            ("seed", draw_seed),
            ("set", dict(set) if set else None),
            ("axis", {key: _values(key, one) for key, one in axes.items()}),
            ("constraint", [{"skip": dict(one)} for one in skip] or None),
            ("objective", objective),
        ):
            if value is not None:
                table[key] = value
        self._table = table

    def text(self, scenario: str) -> str:
        """The sweep file, for a scenario of this path."""
        return _toml.scenario({**self._table, "scenario": scenario})

    def plan(self, store: str | os.PathLike[str] = "store", *, jobs: int | None = None) -> Plan:
        """How many cells there are, how many the store has, and about how long the rest takes. Writes nothing."""
        with tempfile.TemporaryDirectory(prefix="quell-") as folder:
            return _plan(*self._write(Path(folder)), store, jobs)

    def run(
        self,
        store: str | os.PathLike[str] = "store",
        *,
        engine: Any = "local",
        jobs: int | None = None,
        progress: bool = False,
        keep: Literal["summary", "series"] = "summary",
        retry_failed: bool = False,
        slurm: Mapping[str, Any] | None = None,
    ) -> Store:
        """Runs the cells that the store does not have, and returns the store.

        `engine` is `local` (the program's own jobs), a `concurrent.futures.Executor`, a dask client, `dask` (a cluster on this machine of
        `jobs` workers), or `dask-slurm` (`slurm` are the arguments of `dask_jobqueue.SLURMCluster`, `jobs` the number of its jobs). Engines other
        than `local` take shards of about half a minute; the store must be in a folder that all workers share.

        Raises `RunError` at the end if cells failed: all others are kept. `Interrupted` after Ctrl-C: the same call goes on.
        """
        # Workers may run elsewhere, so that the file lies in the store, under a name that says what is in it.
        root = Path(store).absolute()
        root.mkdir(parents=True, exist_ok=True)
        file, written = self._write(root / "python")
        command = ["sweep", f"--store={root}", f"--keep={keep}"]
        if retry_failed:
            command.append("--retry-failed")
        plan = _plan(file, written, root, 1)
        tell = _Progress(plan, progress)
        with _engine(engine, jobs, slurm) as submit:
            if submit is None:
                shards = min(max(1, ceil(plan.estimated_s / 10)), 20) if progress else 1
                threads = [] if jobs is None else [f"--jobs={jobs}"]
                tasks: Iterator[str | None] = (_shard([*command, *threads], file, written, k, shards) for k in range(1, shards + 1))
            else:
                shards = max(1, min(ceil(plan.estimated_s / _SHARD_SECONDS), plan.to_run))
                tasks = _all(submit, [*command, "--jobs=1"], file, written, shards)
            failures: list[str] = []
            for done, failure in enumerate(tasks, 1):
                if failure:
                    failures.append(failure)
                tell(done, shards)
        if failures:
            raise RunError("\n".join(dict.fromkeys(failures)), 1)
        return Store(store)

    def _write(self, folder: Path) -> tuple[Path, Mapping[str, _process.Written]]:
        """The file of the sweep, and what errors call it and that of the scenario."""
        folder.mkdir(parents=True, exist_ok=True)
        written: dict[str, _process.Written] = {}
        if isinstance(self._scenario, (Mapping, _toml.Text)):
            scenario = str(_named(folder, "scenario", as_text(self._scenario)))
            written[scenario] = called(self._scenario)
        else:
            scenario = os.path.abspath(self._scenario)
        file = _named(folder, "sweep", self.text(scenario))
        written[str(file)] = _process.Written(f"sweep at {self._place}", has_lines=False)
        return file, written


def _named(folder: Path, kind: str, text: str) -> Path:
    """A file that is named after what it holds: another text has another name, so nothing is overwritten."""
    written = text.encode("utf-8")
    path = folder / f"{kind}-{hashlib.sha256(written).hexdigest()[:16]}.toml"
    if not path.exists():
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as new:
            new.write(written)
        os.replace(new.name, path)
    return path


def _values(key: str, one: Sequence[Any] | Axis) -> object:
    if isinstance(one, Axis):
        return one.table()
    if isinstance(one, (str, bytes)):
        raise ValueError(f"{key}: give a list of values, such as [{one!r}]")
    return list(one)


def _plan(file: Path, written: Mapping[str, _process.Written], store: str | os.PathLike[str], jobs: int | None) -> Plan:
    command = ["sweep", "--dry-run", f"--store={os.fspath(store)}"]
    if jobs is not None:
        command.append(f"--jobs={jobs}")
    ended = _process.call([*command, "--", str(file)])
    if ended.interrupted:
        raise Interrupted("the plan was interrupted", None)
    if ended.code != 0:
        _process.fail(ended, written)
    said = ended.out.decode("utf-8", "replace")

    def number(pattern: str) -> int:
        found = re.search(rf"^ *(\d+) {pattern}", said, re.MULTILINE)
        return int(found[1]) if found else 0

    about = re.search(r"to run, about ([\d.]+) (s|min|h)\b", said)
    if about is None:
        raise RunError(f"quell printed no plan: {said!r}", ended.code)
    return Plan(
        cells=number("cells"),
        done=number("are in "),
        failed=number("failed"),
        to_run=number("to run"),
        estimated_s=float(about[1]) * {"s": 1, "min": 60, "h": 3600}[about[2]],
    )


def _shard(command: Sequence[str], file: Path, written: Mapping[str, _process.Written], shard: int, shards: int) -> str | None:
    """Makes sure that the cells of a shard exist; returns what failed. It runs in workers too."""
    ended = _process.call([*command, f"--shard={shard}/{shards}", "--", str(file)])
    if ended.interrupted:
        raise Interrupted("the sweep was interrupted; the same call goes on", None)
    if ended.code == 1:
        return ended.error.strip().removeprefix("quell: ")
    if ended.code != 0:
        _process.fail(ended, written)
    return None


def _done(ended: _process.Ended) -> None:
    if ended.code != 0:
        _process.fail(ended)


# What hands a shard to an engine, and gives its results as they come.
_Submit = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterator[Any]]


def _all(
    submit: _Submit, command: Sequence[str], file: Path, written: Mapping[str, _process.Written], shards: int
) -> Iterator[str | None]:
    return submit(_shard, [(command, file, written, shard, shards) for shard in range(1, shards + 1)])


@contextmanager
def _engine(engine: Any, jobs: int | None, slurm: Mapping[str, Any] | None) -> Generator[_Submit | None, None, None]:
    """What hands tasks over; None for the program itself."""
    if slurm is not None and engine != "dask-slurm":
        raise ValueError("slurm has an effect only with engine='dask-slurm'")
    if engine == "local":
        yield None
    elif engine in ("dask", "dask-slurm"):
        from quell import _dask

        with _dask.cluster(engine, jobs, slurm or {}) as client:
            yield _dask.submit(client)
    elif type(engine).__module__.partition(".")[0] == "distributed":
        from quell import _dask

        yield _dask.submit(engine)
    elif callable(getattr(engine, "submit", None)):
        yield _futures(engine)
    else:
        raise ValueError(f"engine={engine!r}: must be 'local', 'dask', 'dask-slurm', an executor or a dask client")


def _futures(executor: Any) -> _Submit:
    from concurrent.futures import as_completed

    def submit(task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        futures = [executor.submit(task, *each) for each in arguments]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            # What has not begun is not needed after an error.
            for future in futures:
                future.cancel()

    return submit


class _Progress:
    def __init__(self, plan: Plan, wanted: bool) -> None:
        self.wanted = wanted
        if wanted:
            self._say(f"{plan.cells} cells, {plan.done} are there, {plan.to_run} to run, about {plan.estimated_s:g} s on one processor")

    def __call__(self, done: int, shards: int) -> None:
        if self.wanted:
            self._say(f"{done} of {shards} parts done")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
