"""Dask as an engine of sweeps. Its dashboard, where it has one, is for this machine alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from quell._extra import need

_DASHBOARD = "127.0.0.1:0"

# A task only waits for a process. By default dask looks a hundred times a second at what its threads do, and at itself: that takes 4 % of a
# processor for a worker that does nothing, and so 1 %.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


@contextmanager
def cluster(kind: str, jobs: int | None, slurm: Mapping[str, Any]) -> Generator[Any, None, None]:
    """A client of a new cluster, which ends with the block."""
    distributed = need("distributed", "dask")
    dask = need("dask", "dask")
    with dask.config.set(_QUIET):
        made = _made(distributed, kind, jobs, slurm)
        with made, distributed.Client(made) as client:
            yield client


def _made(distributed: Any, kind: str, jobs: int | None, slurm: Mapping[str, Any]) -> Any:
    if kind == "dask":
        # Each task only waits for a process of its own, so threads of this one are enough.
        return distributed.LocalCluster(
            n_workers=jobs or os.cpu_count() or 1, threads_per_worker=1, processes=False, dashboard_address=_DASHBOARD
        )
    jobqueue = need("dask_jobqueue", "slurm")
    options = dict(slurm)
    scheduler = {"dashboard_address": _DASHBOARD, **options.pop("scheduler_options", {})}
    made = jobqueue.SLURMCluster(scheduler_options=scheduler, **options)
    made.scale(jobs=jobs or 1)
    return made


def submit(client: Any) -> Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterator[Any]]:
    """Hands tasks to a client."""
    distributed = need("distributed", "dask")

    def run(task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        # Not pure: a store that was removed must not be taken for one that is there.
        futures = [client.submit(task, *each, pure=False) for each in arguments]
        try:
            for future in distributed.as_completed(futures):
                try:
                    yield future.result()
                except distributed.KilledWorker as error:
                    # The other parts go on; whole cells of this one are kept.
                    yield f"a part lost its worker too often and was given up ({error.task}); the same call goes on"
        finally:
            client.cancel(futures)

    return run
