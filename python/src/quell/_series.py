"""The `.parquet` files of a result as Arrow tables.

Only the columns and rows that are asked for are read. Points in time come twice: in ns as written, and in seconds (`time_s` of `time_ns`).
Names of queues, groups and kinds are dictionary-encoded, which pandas and polars call categorical.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quell._extra import need
from quell._where import Where, conditions
from quell.errors import ColumnError, ResultError

# Points in time, which get a column in seconds without being asked.
_TIMES = ("time_ns", "started_ns", "first_byte_ns", "last_byte_ns", "ended_ns")
_NS_PER_S = 1_000_000_000


def read(path: Path, columns: Sequence[str] | None, where: object) -> Any:
    """The table. `where` is a `Where` or a pyarrow expression over the columns of the file."""
    parquet = need("pyarrow.parquet", "arrow")
    try:
        schema = parquet.read_schema(path)
    except FileNotFoundError as error:
        raise ResultError(f"{path} is missing") from error
    except (OSError, ValueError) as error:
        raise ResultError(f"{path} cannot be read: {error}") from error
    names: list[str] = list(schema.names)
    wanted = _wanted(path, names, columns)
    needed = list(dict.fromkeys(_source(name, names) for name in wanted))
    texts = [field.name for field in schema if str(field.type) in ("string", "large_string")]
    rows = _filter(path, names, where)
    try:
        table = parquet.read_table(path, columns=needed, filters=rows, read_dictionary=[name for name in texts if name in needed])
    except (OSError, ValueError) as error:
        raise ResultError(f"{path} cannot be read: {error}") from error
    return _with_seconds(table, wanted, names)


def _wanted(path: Path, names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        found: list[str] = []
        for name in names:
            found.append(name)
            if name in _TIMES:
                found.append(_in_seconds(name))
        return found
    if isinstance(columns, str):
        raise ColumnError(f"columns must be a list, such as [{columns!r}]")
    wanted = list(columns)
    for name in wanted:
        _check(path, names, name)
    return wanted


def _check(path: Path, names: Sequence[str], name: str) -> None:
    if _source(name, names) not in names:
        seconds = [_in_seconds(one) for one in names if one in _TIMES]
        raise ColumnError(f"{path.name} has no column {name!r}; it has {', '.join([*names, *seconds])}")


def _in_seconds(name: str) -> str:
    return name.removesuffix("_ns") + "_s"


def _source(name: str, names: Sequence[str]) -> str:
    """The column of the file behind a column."""
    in_ns = name.removesuffix("_s") + "_ns"
    return in_ns if name not in names and name.endswith("_s") and in_ns in names else name


def _with_seconds(table: Any, wanted: Sequence[str], names: Sequence[str]) -> Any:
    arrow = need("pyarrow", "arrow")
    compute = need("pyarrow.compute", "arrow")
    columns: list[Any] = []
    for name in wanted:
        column = table.column(_source(name, names))
        if name not in names:
            column = compute.divide(column.cast(arrow.float64()), float(_NS_PER_S))
        columns.append(column)
    metadata = table.schema.metadata
    return arrow.table(columns, names=list(wanted)).replace_schema_metadata(metadata)


def _filter(path: Path, names: Sequence[str], where: Any) -> Any:
    """A pyarrow expression, or None."""
    if where is None:
        return None
    dataset = need("pyarrow.dataset", "arrow")
    if isinstance(where, dataset.Expression):
        return where
    given: Where = where
    found: Any = None
    for column, sign, value in conditions(given):
        _check(path, names, column)
        source = _source(column, names)
        if source != column:
            value = [_ns(one) for one in value] if isinstance(value, list) else _ns(value)
        field = dataset.field(source)
        if sign == "in":
            one = field.isin(value)
        elif sign == "not in":
            one = ~field.isin(value)
        else:
            one = {
                "==": field.__eq__,
                "!=": field.__ne__,
                "<": field.__lt__,
                "<=": field.__le__,
                ">": field.__gt__,
                ">=": field.__ge__,
            }[sign](value)
        found = one if found is None else found & one
    return found


def _ns(seconds: Any) -> int:
    return round(float(seconds) * _NS_PER_S)


def together(tables: Sequence[tuple[int, Any]]) -> Any:
    """The tables of several seeds as one, which begins with the seed."""
    arrow = need("pyarrow", "arrow")
    with_seed = [
        table.add_column(0, "seed", arrow.array([seed] * table.num_rows, arrow.int64())) for seed, table in tables
    ]
    return arrow.concat_tables(with_seed).unify_dictionaries()
