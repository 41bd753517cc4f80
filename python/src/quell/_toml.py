"""Scenarios that were made in Python, as TOML, and values for `--set`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Text(str):
    """The text of a scenario, where `run` and `compare` otherwise take the name of its file."""


def scenario(table: Mapping[str, Any]) -> str:
    """The text of a scenario file with these keys."""
    return "".join(f"{_key(key)} = {value(one)}\n" for key, one in table.items())


def value(one: object) -> str:
    """A value as TOML, on one line."""
    # Of a subclass, as numpy has some, only what it is of these: its own text may be another one.
    if isinstance(one, str):
        return _text(str.__str__(one))
    if isinstance(one, bool):
        return "true" if one else "false"
    if isinstance(one, int):
        return int.__repr__(one)
    if isinstance(one, float):
        if not math.isfinite(one):
            raise ValueError(f"{float(one)} is no value of a scenario")
        return float.__repr__(one)
    if isinstance(one, Mapping):
        inner = ", ".join(f"{_key(str(key))} = {value(inner)}" for key, inner in one.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(one, Sequence) and not isinstance(one, (bytes, bytearray)):
        return "[" + ", ".join(value(inner) for inner in one) + "]"
    if isinstance(one, (Decimal, Fraction)):
        return value(int(one) if one == int(one) else float(one))
    # What numpy, pandas, polars and the like call a number, or an array of numbers.
    for name in ("tolist", "to_list", "item"):
        plain = getattr(one, name, None)
        if callable(plain):
            return value(plain())
    raise TypeError(f"{type(one).__name__} is no value of a scenario: use text, numbers, bool, lists and dicts")


def argument(key: str, one: object) -> str:
    """`KEY=VALUE` for `--set`. Text goes as it is: quell reads `20mbit` without quotes."""
    return f"{key}={str.__str__(one) if isinstance(one, str) else value(one)}"


def queue(one: str | Mapping[str, Any]) -> str:
    """`KIND:PARAMETER=VALUE,…` for `--queue`, from that text or from a table with `kind`."""
    if isinstance(one, str):
        return one
    rest = dict(one)
    kind = rest.pop("kind", None)
    if not isinstance(kind, str):
        raise ValueError(f"a queue needs its kind, such as {{'kind': 'dualpi2', 'target': '5ms'}}: {dict(one)}")
    parameters = ",".join(argument(key, parameter) for key, parameter in rest.items())
    return f"{kind}:{parameters}" if parameters else kind


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are those of TOML's basic strings, but for DEL and what is not a character at all.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
