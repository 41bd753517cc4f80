"""Conditions on rows: `{"queue": "l4s", "flow": [0, 1]}` or `[("time_s", ">=", 10), ("queue", "==", "l4s")]`, all of which must hold."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Where: TypeAlias = "Mapping[str, object] | Sequence[tuple[str, str, object]]"
Condition: TypeAlias = "tuple[str, str, Any]"

COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda found, allowed: found in allowed,
    "not in": lambda found, allowed: found not in allowed,
}


def conditions(where: Where | None) -> list[Condition]:
    """The conditions as `(column, operator, value)`, checked."""
    if where is None:
        return []
    if isinstance(where, Mapping):
        return [_equal(str(column), value) for column, value in where.items()]
    found: list[Condition] = []
    given: Sequence[Any] = where
    for one in given:
        if not isinstance(one, (tuple, list)) or len(one) != 3:
            raise ValueError(f"{one!r}: a condition is (column, operator, value), such as ('time_s', '>=', 10)")
        column, sign, value = one
        if sign not in COMPARE:
            raise ValueError(f"{sign!r} is no operator: use one of {', '.join(COMPARE)}")
        if sign in ("in", "not in"):
            value = _several(value)
        found.append((str(column), str(sign), value))
    return found


def _equal(column: str, value: object) -> Condition:
    several = not isinstance(value, (str, bytes)) and isinstance(value, Iterable)
    return (column, "in", _several(value)) if several else (column, "==", value)


def _several(value: object) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ValueError(f"{value!r}: 'in' needs a list of values")
    return list(value)
