"""Every packet of a run as rows, streamed: a file of gigabytes takes no more memory than one of kilobytes."""

from __future__ import annotations

import ipaddress
import itertools
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quell import _pcapng
from quell._extra import need
from quell._where import COMPARE, Where, conditions
from quell.errors import ColumnError, ResultError

_Fields = Mapping[str, str]
_Cell = Callable[[_pcapng.Raw, _Fields], Any]

_PROTOCOLS = {6: "tcp", 17: "udp"}
_ECN = ("not-ect", "ect1", "ect0", "ce")


def _sojourn_ns(packet: _pcapng.Raw, fields: _Fields) -> int | None:
    text = fields.get("sojourn_ms")
    if text is None:
        return None
    whole, _, part = text.partition(".")
    return int(whole) * 1_000_000 + int(part.ljust(6, "0")[:6] or 0)


def _sojourn_ms(packet: _pcapng.Raw, fields: _Fields) -> float | None:
    ns = _sojourn_ns(packet, fields)
    return None if ns is None else ns / 1e6


def _ip(header: bytes) -> tuple[int, int]:
    """The version, and where its payload begins; (0, 0) if it is neither 4 nor 6."""
    if len(header) >= 20 and header[0] >> 4 == 4:
        return 4, (header[0] & 15) * 4
    if len(header) >= 40 and header[0] >> 4 == 6:
        return 6, 40
    return 0, 0


def _ecn(packet: _pcapng.Raw, fields: _Fields) -> str | None:
    version, _ = _ip(packet.header)
    if version == 4:
        return _ECN[packet.header[1] & 3]
    return _ECN[packet.header[1] >> 4 & 3] if version == 6 else None


def _protocol_number(header: bytes) -> int | None:
    return {4: lambda: header[9], 6: lambda: header[6]}.get(_ip(header)[0], lambda: None)()


def _protocol(packet: _pcapng.Raw, fields: _Fields) -> str | None:
    number = _protocol_number(packet.header)
    return None if number is None else _PROTOCOLS.get(number, str(number))


def _address(first4: int, first6: int) -> _Cell:
    def cell(packet: _pcapng.Raw, fields: _Fields) -> str | None:
        version, _ = _ip(packet.header)
        if version == 0:
            return None
        start, length = (first4, 4) if version == 4 else (first6, 16)
        return str(ipaddress.ip_address(packet.header[start : start + length]))

    return cell


def _transport(form: str, at: int, protocols: tuple[int, ...]) -> _Cell:
    """A number of the TCP or UDP header."""
    size = struct.calcsize(form)

    def cell(packet: _pcapng.Raw, fields: _Fields) -> int | None:
        _, start = _ip(packet.header)
        if _protocol_number(packet.header) not in protocols or len(packet.header) < start + at + size:
            return None
        return int(struct.unpack_from(form, packet.header, start + at)[0])

    return cell


def _field(name: str) -> _Cell:
    return lambda packet, fields: fields.get(name)


def _value(packet: _pcapng.Raw, fields: _Fields) -> int:
    return int(fields.get("value", "0"))


# Each column: its type in Arrow, and how it is made. Texts of few values are dictionary-encoded.
_COLUMNS: dict[str, tuple[str, _Cell]] = {
    "time_ns": ("int64", lambda packet, fields: packet.time_ns),
    "time_s": ("float64", lambda packet, fields: packet.time_ns / 1e9),
    "direction": ("names", lambda packet, fields: packet.interface),
    "queue": ("names", _field("queue")),
    "group": ("names", _field("group")),
    "sojourn_ns": ("int64", _sojourn_ns),
    "sojourn_ms": ("float64", _sojourn_ms),
    "fate": ("names", lambda packet, fields: fields.get("fate", "").partition(":")[0] or None),
    "reason": ("names", lambda packet, fields: fields.get("fate", "").partition(":")[2] or None),
    "length_bytes": ("int64", lambda packet, fields: packet.length),
    "ecn": ("names", _ecn),
    "value": ("int64", _value),
    "protocol": ("names", _protocol),
    "source": ("names", _address(12, 8)),
    "destination": ("names", _address(16, 24)),
    "source_port": ("int64", _transport(">H", 0, (6, 17))),
    "destination_port": ("int64", _transport(">H", 2, (6, 17))),
    "sequence": ("int64", _transport(">I", 4, (6,))),
    "acknowledgement": ("int64", _transport(">I", 8, (6,))),
    "tcp_flags": ("int64", _transport(">B", 13, (6,))),
    "header": ("binary", lambda packet, fields: packet.header),
}
# What `time` means on this page and in Wireshark.
_ALSO = {"time": "time_s"}

COLUMNS = tuple(_COLUMNS)
"""Columns of packets, in their order."""


class Packets:
    """The packets of a run. Each iteration reads the file anew and gives a dict per packet; nothing is kept."""

    def __init__(self, path: Path, columns: Sequence[str] | None, where: Where | None) -> None:
        self.path = path
        if isinstance(columns, str):
            raise ColumnError(f"columns must be a list, such as [{columns!r}]")
        self.columns = tuple(columns) if columns is not None else COLUMNS[:-1]
        """The columns of each packet; by default all but the bytes of its header."""
        self._cells = {name: _cell(name) for name in self.columns}
        self._tests = [(_cell(name), COMPARE[sign], value) for name, sign, value in conditions(where)]
        if not path.is_file():
            raise ResultError(f"{path} is missing: the run must be made with packets=True (--packets)")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for packet in _pcapng.packets(self.path):
            fields = dict(part.split("=", 1) for part in packet.comment.split(" ") if "=" in part)
            try:
                if all(_holds(test, cell(packet, fields), value) for cell, test, value in self._tests):
                    yield {name: cell(packet, fields) for name, cell in self._cells.items()}
            except (ValueError, struct.error) as error:
                raise ResultError(f"{self.path} has a packet that cannot be read: {packet.comment!r}: {error}") from error

    def batches(self, size: int = 65_536) -> Iterator[Any]:
        """The packets as Arrow record batches of `size` rows."""
        arrow = need("pyarrow", "arrow")
        schema = self._schema(arrow)
        rows = iter(self)
        while part := list(itertools.islice(rows, size)):
            columns = [arrow.array([row[field.name] for row in part], type=field.type) for field in schema]
            yield arrow.record_batch(columns, schema=schema)

    def table(self) -> Any:
        """All of them as one Arrow table: about 100 bytes of memory a packet."""
        arrow = need("pyarrow", "arrow")
        return arrow.Table.from_batches(self.batches(), schema=self._schema(arrow)).unify_dictionaries()

    def _schema(self, arrow: Any) -> Any:
        types = {
            "int64": arrow.int64(),
            "float64": arrow.float64(),
            "names": arrow.dictionary(arrow.int32(), arrow.string()),
            "binary": arrow.binary(),
        }
        return arrow.schema([(name, types[_COLUMNS[_ALSO.get(name, name)][0]]) for name in self.columns])

    def __repr__(self) -> str:
        return f"<packets of {self.path}: {', '.join(self.columns)}>"


def _cell(name: str) -> _Cell:
    try:
        return _COLUMNS[_ALSO.get(name, name)][1]
    except KeyError:
        raise ColumnError(f"a packet has no {name!r}; it has {', '.join(COLUMNS)}") from None


def _holds(test: Callable[[Any, Any], bool], found: Any, value: Any) -> bool:
    try:
        return test(found, value)
    except TypeError:
        # Nothing is larger or smaller than what a packet does not have.
        return False
