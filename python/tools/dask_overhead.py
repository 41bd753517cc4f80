"""What dask adds to a sweep: processor time and elapsed time beside those of the program alone, in one run.

    python dask_overhead.py [PARTS] [ROUNDS]

Each round runs the same sweep twice into new stores: `quell sweep --shard K/N` for each of PARTS (8) parts by a loop, and the same parts by
`engine="dask"` with one worker. A part lasts about ten seconds. This program takes no part in the work, so that what it uses
itself is dask's: scheduler, worker, messages, and their start.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import quell
from quell import _sweep  # pyright: ignore[reportPrivateUsage]

SCENARIO = """\
schema = 1
name = "overhead"
[link]
rate = "100mbit"
queue = "dualpi2"
[[group]]
name = "classic"
rtt = "20ms"
app = "bulk"
[run]
duration = "120s"
warmup = "1s"
"""


def used() -> tuple[float, float]:
    """Processor time of this process, and of those that it started and that have ended, in seconds."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime


def run(engine: str, parts: int, store: Path) -> tuple[float, float, float]:
    """Elapsed time, own processor time and that of the program."""
    sweep = quell.Sweep(quell.Text(SCENARIO), {"link.rate": ["100mbit"]}, seeds=range(1, parts * 38 + 1))
    plan = sweep.plan(store, jobs=1)
    _sweep._SHARD_SECONDS = plan.estimated_s / parts  # pyright: ignore[reportPrivateUsage]
    own, program, began = *used(), time.monotonic()
    if engine == "dask":
        sweep.run(store, engine="dask", jobs=1)
    else:
        file, written = sweep._write(store / "python")  # pyright: ignore[reportPrivateUsage]
        for part in range(1, parts + 1):
            failed = _sweep._shard(  # pyright: ignore[reportPrivateUsage]
                ["sweep", f"--store={store}", "--keep=summary", "--jobs=1"], file, written, part, parts
            )
            if failed:
                raise SystemExit(failed)
    after = used()
    return time.monotonic() - began, after[0] - own, after[1] - program


def main() -> None:
    """Prints a line for each run."""
    parts = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    print("round  engine  elapsed s  own processor s  program's processor s  own share")
    for number in range(1, rounds + 1):
        for engine in ("loop", "dask"):
            with tempfile.TemporaryDirectory() as folder:
                elapsed, own, program = run(engine, parts, Path(folder) / "store")
            print(f"{number:5}  {engine:6}  {elapsed:9.1f}  {own:15.2f}  {program:21.1f}  {own / program:9.2%}", flush=True)


if __name__ == "__main__":
    main()
