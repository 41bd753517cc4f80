"""Optional packages, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from quell.errors import MissingExtra


def need(module: str, extra: str) -> Any:
    """The module, or an error that names the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(f"{package} is not installed: pip install 'quell[{extra}]'") from error
