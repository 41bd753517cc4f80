"""Reads `packets.pcapng`, one packet after the other: the blocks that quell writes (docs/reference/results.md), and skips others.

Little-endian or big-endian, one section; a block that ends too early or says a wrong length is a `ResultError`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from quell.errors import ResultError

_SECTION = 0x0A0D0D0A
_INTERFACE = 1
_PACKET = 6
_COMMENT = 1
_NAME = 2
_RESOLUTION = 9
# quell's blocks have some hundred bytes.
_LONGEST = 1 << 24


@dataclass(frozen=True)
class Raw:
    """A packet as the file has it."""

    interface: str
    time_ns: int
    length: int
    header: bytes
    comment: str


def packets(path: Path) -> Iterator[Raw]:
    """Every packet of the file, in its order."""
    try:
        with path.open("rb", buffering=1 << 20) as file:
            yield from _Reader(file, path).packets()
    except FileNotFoundError as error:
        raise ResultError(f"{path} is missing: the run must be made with packets=True (--packets)") from error
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error}") from error


class _Reader:
    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file = file
        self.path = path
        self.order = "<"
        # Name, and nanoseconds as a fraction of its unit of time.
        self.interfaces: list[tuple[str, int, int]] = []

    def packets(self) -> Iterator[Raw]:
        first = True
        while head := self.file.read(8):
            if len(head) < 8:
                raise self.broken("ends within a block")
            kind = struct.unpack("<I", head[:4])[0]
            if first and kind != _SECTION:
                raise self.broken("is no pcapng file")
            first = False
            if kind == _SECTION:
                # Its own order of bytes is in it; its length is read with that.
                magic = self.file.read(4)
                orders = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
                if magic not in orders:
                    raise self.broken("is no pcapng file")
                self.order = orders[magic]
                self.interfaces = []
                self.body(head, taken=4)
                continue
            kind = struct.unpack(self.order + "I", head[:4])[0]
            body = self.body(head, taken=0)
            try:
                if kind == _INTERFACE:
                    self.interface(body)
                elif kind == _PACKET:
                    yield self.packet(body)
            except (struct.error, IndexError, ValueError) as error:
                raise self.broken(f"has a damaged block: {error}") from error
        if first:
            raise self.broken("is no pcapng file: it is empty")

    def body(self, head: bytes, taken: int) -> bytes:
        length = struct.unpack(self.order + "I", head[4:])[0]
        if length % 4 or not 12 + taken <= length <= _LONGEST:
            raise self.broken(f"has a block of {length} bytes")
        rest = self.file.read(length - 8 - taken)
        if len(rest) != length - 8 - taken:
            raise self.broken("ends within a block")
        if struct.unpack(self.order + "I", rest[-4:])[0] != length:
            raise self.broken("has a block of two lengths")
        return rest[:-4]

    def broken(self, what: str) -> ResultError:
        return ResultError(f"{self.path} {what}")

    def options(self, body: bytes, at: int) -> Iterator[tuple[int, bytes]]:
        while at + 4 <= len(body):
            code, length = struct.unpack_from(self.order + "HH", body, at)
            if code == 0:
                return
            if at + 4 + length > len(body):
                raise ValueError("an option is longer than its block")
            yield code, body[at + 4 : at + 4 + length]
            at += 4 + length + -length % 4

    def interface(self, body: bytes) -> None:
        name, resolution = f"{len(self.interfaces)}", 6
        for code, text in self.options(body, 8):
            if code == _NAME:
                name = text.decode("utf-8", "replace")
            elif code == _RESOLUTION:
                resolution = text[0]
        # The highest bit says that it is a power of two.
        units = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
        self.interfaces.append((name, 1_000_000_000, units))

    def packet(self, body: bytes) -> Raw:
        interface, high, low, captured, length = struct.unpack_from(self.order + "IIIII", body)
        end = 20 + captured
        if end > len(body):
            raise ValueError("a packet is longer than its block")
        if interface >= len(self.interfaces):
            raise ValueError(f"there is no interface {interface}")
        name, times, units = self.interfaces[interface]
        comment = b""
        for code, text in self.options(body, end + -captured % 4):
            if code == _COMMENT:
                comment = text
                break
        time = (high << 32 | low) * times // units
        return Raw(name, time, length, body[20:end], comment.decode("utf-8", "replace"))
