"""Runs network queues and congestion controls against each other, and reads the results.

    import quell

    result = quell.run("coexistence.toml", set={"link.rate": "20mbit"}, seed=1)
    print(result)
    result.summary["queues"][0]["delay_ms"]

The work is done by the program `quell`, which the package starts; a crash of it is an exception here. docs/guides/python.md explains all
of it.
"""

from quell._axis import Axis, linear, log
from quell._confidence import confidence_interval
from quell._histogram import Histogram
from quell._link import Link, Ran
from quell._packets import COLUMNS as PACKET_COLUMNS
from quell._packets import Packets
from quell._result import Comparison, Result
from quell._run import compare, run
from quell._sweep import Plan, Store, Sweep
from quell._toml import Text
from quell._version import VERSION as __version__
from quell.errors import (
    BinaryError,
    ColumnError,
    InputError,
    Interrupted,
    MissingExtra,
    Problem,
    QuellError,
    ResultError,
    RunError,
)

__all__ = [
    "PACKET_COLUMNS",
    "Axis",
    "BinaryError",
    "ColumnError",
    "Comparison",
    "Histogram",
    "InputError",
    "Interrupted",
    "Link",
    "MissingExtra",
    "Packets",
    "Plan",
    "Problem",
    "QuellError",
    "Ran",
    "Result",
    "ResultError",
    "RunError",
    "Store",
    "Sweep",
    "Text",
    "__version__",
    "compare",
    "confidence_interval",
    "linear",
    "log",
    "run",
]
