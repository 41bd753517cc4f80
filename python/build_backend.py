"""Builds the wheel for `pip install ./python`: of the program that is built already, else by maturin, which compiles it.

The program is the one that `QUELL` names, or `target/release/quell` of this checkout, if it is of the package's version. A wheel of it is the
package and that file; it needs nothing else. Wheels for other machines come from `make wheel`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "quell"
MATURIN = ["maturin>=1.16,<2"]

Config = Mapping[str, Any] | None


def version() -> str:
    return (PACKAGE / "_version.py").read_text(encoding="utf-8").rpartition('VERSION = "')[2].split('"')[0]


def program() -> Path | None:
    """The program of this version; None if there is none."""
    named = os.environ.get("QUELL")
    path = Path(named) if named else HERE.parent / "target" / "release" / "quell"
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return path if said.split() == ["quell", version()] else None


def get_requires_for_build_wheel(config: Config = None) -> list[str]:
    return ["tomli; python_version < '3.11'"] if program() else MATURIN


get_requires_for_build_editable = get_requires_for_build_wheel


def get_requires_for_build_sdist(config: Config = None) -> list[str]:
    return MATURIN


def build_sdist(folder: str, config: Config = None) -> str:
    return str(_maturin().build_sdist(folder, config))


def build_wheel(folder: str, config: Config = None, metadata: str | None = None) -> str:
    found = program()
    if found is None:
        return str(_maturin().build_wheel(folder, config, metadata))
    source = ((f"quell/{path.relative_to(PACKAGE)}", path.read_bytes()) for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".py", ".typed"))
    return _wheel(Path(folder), found, source)


def build_editable(folder: str, config: Config = None, metadata: str | None = None) -> str:
    found = program()
    if found is None:
        return str(_maturin().build_editable(folder, config, metadata))
    return _wheel(Path(folder), found, iter([("quell.pth", f"{PACKAGE.parent}\n".encode())]))


def _maturin() -> Any:
    return import_module("maturin")


def _wheel(folder: Path, found: Path, files: Iterator[tuple[str, bytes]]) -> str:
    name, tag = f"quell-{version()}", f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"{name}.dist-info"
    record: list[str] = []
    with zipfile.ZipFile(folder / f"{name}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(path: str, content: bytes, mode: int = 0o644) -> None:
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")

        for path, content in files:
            add(path, content)
        add(f"{name}.data/scripts/quell", found.read_bytes(), 0o755)
        for licence in sorted(HERE.parent.glob("LICENSE-*")):
            add(f"{info}/licenses/{licence.name}", licence.read_bytes())
        add(f"{info}/METADATA", _metadata().encode())
        add(f"{info}/entry_points.txt", _entry_points().encode())
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: quell\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        add(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]).encode())
    return f"{name}-{tag}.whl"


def _project() -> Any:
    # The second is the first for Python 3.10.
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return toml.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _entry_points() -> str:
    groups = _project()["entry-points"].items()
    return "".join(f"[{group}]\n" + "".join(f"{name} = {what}\n" for name, what in points.items()) for group, points in groups)


def _metadata() -> str:
    project = _project()
    lines = [
        "Metadata-Version: 2.4",
        "Name: quell",
        f"Version: {version()}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {one}" for one in project["classifiers"]),
    ]
    for extra, packages in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {one}; extra == "{extra}"' for one in packages)]
    readme = (HERE / project["readme"]).read_text(encoding="utf-8")
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])
