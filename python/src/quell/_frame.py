"""Figures of groups as a table for pandas or polars: a row per group and seed, and a column per figure."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from quell._extra import need

if TYPE_CHECKING:
    from quell._result import Comparison, Result

Kind: TypeAlias = "Literal['pandas', 'polars', 'list'] | None"


def result(one: Result, kind: Kind) -> Any:
    """The table of a result."""
    return _made(_rows(one), kind)


def comparison(several: Comparison, kind: Kind) -> Any:
    """The same of a comparison, with the queue in front."""
    return _made([{"queue": queue, **row} for queue, one in several.items() for row in _rows(one)], kind)


def _rows(one: Result) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for run in one.seeds.values() or [one]:
        for group in run.summary["groups"]:
            figures = dict(_flat("", {key: value for key, value in group.items() if key not in ("name", "links")}))
            rows.append({"seed": run.summary["seed"], "group": group["name"], **figures})
    return rows


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Each number or word by its dotted name; of a figure of flows its mean."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list):
        numbers = [one for one in value if isinstance(one, (int, float))]
        if len(numbers) == len(value):
            yield name, sum(numbers) / len(numbers) if numbers else None
    else:
        yield name, value


def _made(rows: Sequence[Mapping[str, Any]], kind: Kind) -> Any:
    # Every row has every column: groups of other applications have other figures.
    names = dict.fromkeys(name for row in rows for name in row)
    whole = [{name: row.get(name) for name in names} for row in rows]
    if kind == "list":
        return whole
    if kind is not None:
        if kind not in ("pandas", "polars"):
            raise ValueError(f"{kind!r}: must be 'pandas', 'polars', 'list' or None for the first of them that is installed")
        return _data_frame(need(kind, kind), whole)
    for module in ("pandas", "polars"):
        try:
            return _data_frame(importlib.import_module(module), whole)
        except ImportError:
            continue
    return whole


def _data_frame(module: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    if module.__name__ == "polars":
        # Also where a figure is missing in the first hundred rows.
        return module.DataFrame(rows, infer_schema_length=None)
    return module.DataFrame(rows)
