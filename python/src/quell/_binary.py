"""Finds the program.

Beside the Python that runs, where the wheel puts it; then the environment variable `QUELL`; then the PATH. The first one found counts, and
it must be of the package's version: formats and options of another one differ.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

from quell._version import VERSION
from quell.errors import BinaryError

_versions: dict[tuple[str, int, int], str] = {}


def find() -> str:
    """The path of the program."""
    path, origin = _first()
    found = _version(path)
    if found != VERSION:
        raise BinaryError(
            f"{path} ({origin}) is quell {found}, and this package needs {VERSION}: install them together, or name another in QUELL"
        )
    return path


def _first() -> tuple[str, str]:
    own = Path(sysconfig.get_path("scripts")) / "quell"
    if own.is_file() and os.access(own, os.X_OK):
        return str(own), "beside this Python"
    named = os.environ.get("QUELL")
    if named:
        if not (Path(named).is_file() and os.access(named, os.X_OK)):
            raise BinaryError(f"QUELL={named} is not a program")
        return os.path.abspath(named), "from QUELL"
    found = shutil.which("quell")
    if found is None:
        raise BinaryError(f"the program quell is missing: it is neither {own} nor in QUELL nor in the PATH")
    return os.path.abspath(found), "from the PATH"


def _version(path: str) -> str:
    try:
        status = os.stat(path)
        key = (path, status.st_mtime_ns, status.st_size)
        if key not in _versions:
            told = subprocess.run(
                [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
            )
            words = told.stdout.decode("utf-8", "replace").split()
            if told.returncode != 0 or len(words) != 2 or words[0] != "quell":
                raise BinaryError(f"{path} --version does not answer as quell does (exit code {told.returncode})")
            _versions[key] = words[1]
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BinaryError(f"{path} cannot be started: {error}") from error
    return _versions[key]
