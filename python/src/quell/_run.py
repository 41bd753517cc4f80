"""`run` and `compare`: the commands of the same names."""

from __future__ import annotations

import json
import operator
import os
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from quell import _place, _process, _toml
from quell._result import Comparison, Result
from quell.errors import Interrupted, ResultError, RunError

World = Literal["sim", "virtual", "live"]
Scenario: TypeAlias = "str | os.PathLike[str] | _toml.Text | Mapping[str, Any]"


def run(
    scenario: Scenario,
    *,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    seeds: Iterable[int] | None = None,
    duration: str | None = None,
    world: World = "sim",
    out: str | os.PathLike[str] | None = None,
    packets: bool = False,
    jobs: int | None = None,
    kernel: str | None = None,
    arguments: Sequence[str] = (),
) -> Result:
    """Runs a scenario and returns its result.

    `scenario` is the name of a file, a table (a dict with the keys of a file), or `quell.Text`. `set` changes values, as
    `{"link.rate": "20mbit", "link.queue": {"kind": "dualpi2", "target": "5ms"}}`. `seed` runs that seed only, `seeds` runs each of these, such as `range(1, 6)`. The result goes to `out`,
    which must not exist, or to a new folder below `results`. `arguments` are further options of `quell run`, such as `["--realtime", "9"]`.

    Raises `InputError` if the scenario or an option is wrong, `RunError` if the run failed, `Interrupted` after Ctrl-C: with what was
    measured until then.
    """
    folder = Path(out) if out is not None else _fresh(scenario, world)
    command = ["run", "--json", f"--out={os.fspath(folder)}", f"--world={world}"]
    command += _changes(set, seed, seeds, duration, jobs)
    if packets:
        command.append("--packets")
    if kernel is not None:
        command.append(f"--kernel={kernel}")
    file, text, written = _input(scenario)
    ended = _process.call([*command, *arguments, "--", file], text)
    if ended.interrupted:
        raise Interrupted("the run was interrupted", _kept(folder))
    if ended.code != 0 and not (ended.code == 1 and "--strict" in arguments and folder.is_dir()):
        _process.fail(ended, written)
    return Result(_written(folder, ended))


def compare(
    scenario: Scenario,
    queues: Sequence[str | Mapping[str, Any]],
    *,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    seeds: Iterable[int] | None = None,
    duration: str | None = None,
    world: World = "sim",
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    kernel: str | None = None,
    arguments: Sequence[str] = (),
) -> Comparison:
    """Runs a scenario over several queues: `["fifo", "dualpi2:target=5ms"]`, or tables `{"kind": "dualpi2", "target": "5ms"}`.

    Three seeds each, unless the scenario or `seed` says otherwise (one in the live world). Other arguments and errors are those of `run`;
    `out` is a folder for the results, one folder for each queue.
    """
    if isinstance(queues, str) or not queues:
        raise ValueError("queues is a list with at least one queue, such as ['fifo', 'dualpi2']")
    folder = Path(out) if out is not None else _fresh(scenario, f"{world}-compare")
    command = ["compare", "--json", f"--out={os.fspath(folder)}", f"--world={world}"]
    command += _changes(set, seed, seeds, duration, jobs)
    command += [f"--queue={_toml.queue(one)}" for one in queues]
    if kernel is not None:
        command.append(f"--kernel={kernel}")
    file, text, written = _input(scenario)
    ended = _process.call([*command, *arguments, "--", file], text)
    if ended.interrupted:
        raise Interrupted("the comparison was interrupted", None)
    if ended.code != 0 and not (ended.code == 1 and "--strict" in arguments and ended.out.strip()):
        _process.fail(ended, written)
    try:
        cases: Any = json.loads(ended.out)
        return Comparison({str(case["queue"]): Result(case["folder"]) for case in cases})
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"quell printed no comparison: {error!r}", ended.code) from error


def _changes(
    set_: Mapping[str, Any] | None, seed: int | None, seeds: Iterable[int] | None, duration: str | None, jobs: int | None
) -> list[str]:
    command = [f"--set={_toml.argument(key, value)}" for key, value in (set_ or {}).items()]
    if seeds is not None:
        if seed is not None:
            raise ValueError("seed is one, seeds are several: give one of them")
        try:
            several = [operator.index(one) for one in seeds]
        except TypeError as error:
            raise ValueError(f"seeds={seeds!r}: must be a list of numbers, such as [1, 2, 3] or range(1, 4); a single one is seed=1") from error
        command.append(f"--set={_toml.argument('run.seeds', several)}")
    for name, value in (("seed", seed), ("duration", duration), ("jobs", jobs)):
        if value is not None:
            command.append(f"--{name}={value}")
    return command


# As quell calls it.
_INPUT = "standard input"


def _input(scenario: Scenario) -> tuple[str, str | None, Mapping[str, _process.Written]]:
    """The argument FILE, the standard input, and what errors name instead of that."""
    if isinstance(scenario, (_toml.Text, Mapping)):
        return "-", as_text(scenario), {_INPUT: called(scenario)}
    name = os.fspath(scenario)
    # A file of this name, not standard input.
    return ("./-" if name == "-" else name), None, {}


def as_text(scenario: _toml.Text | Mapping[str, Any]) -> str:
    """The text of a scenario that is in no file."""
    return _toml.scenario(scenario) if isinstance(scenario, Mapping) else str(scenario)


def called(scenario: _toml.Text | Mapping[str, Any]) -> _process.Written:
    """What errors call it: a text has lines of its own, a table only the line that gave it."""
    if isinstance(scenario, Mapping):
        return _process.Written(f"scenario table at {_place.caller()}", has_lines=False)
    return _process.Written("scenario text", has_lines=True)


def _fresh(scenario: Scenario, kind: str) -> Path:
    """A new name below `results`, like those of the command line; random, because two runs may begin in one second."""
    if isinstance(scenario, Mapping):
        name = str(scenario.get("name", "scenario"))
    else:
        name = "scenario" if isinstance(scenario, _toml.Text) else Path(scenario).stem
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:64].strip("-.") or "scenario"
    begun = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return Path("results") / f"{begun}-{name}-{kind}-{secrets.token_hex(3)}"


def _written(folder: Path, ended: _process.Ended) -> Path:
    if not folder.is_dir():
        raise RunError(f"quell ended well and wrote no {folder}: {ended.error.strip()}", ended.code)
    return folder


def _kept(folder: Path) -> Result | None:
    try:
        return Result(folder)
    except ResultError:
        return None
