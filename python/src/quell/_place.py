"""The line of the caller, for errors in what it wrote as a table."""

from __future__ import annotations

import os
import sys


def caller() -> str:
    """`analysis.py:12`: the line outside of this package that called it; `line 3` where the code has no file, as in a notebook."""
    own = os.path.dirname(os.path.abspath(__file__))
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == own:
        frame = frame.f_back
    file = frame.f_code.co_filename
    return f"{os.path.basename(file)}:{frame.f_lineno}" if os.path.isfile(file) else f"line {frame.f_lineno}"
