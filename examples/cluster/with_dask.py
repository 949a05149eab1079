"""The blocks of a corpus on the workers of a cluster."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence

from corpus import Block, peak_megabytes
from distributed import Client, LocalCluster, as_completed

Score = Callable[[Block], int]


def scores(
    score: Score,
    blocks: Sequence[Block],
    scheduler: str | None,
    workers: int,
    memory: str,
    *,
    lose_a_worker: bool = False,
) -> Iterator[tuple[Block, int]]:
    """Each block with its score, in the order in which they are done.

    Without the address of a `scheduler`, on so many processes of this machine. What a worker had
    when it ended is done again by the others.
    """
    cluster = scheduler or LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=memory,
        dashboard_address=None,
    )
    with Client(cluster) as client:
        function = client.scatter(score, broadcast=True)
        futures = client.map(_apply, [function] * len(blocks), blocks, pure=False, retries=10)
        known = dict(zip(futures, blocks, strict=True))
        for future, value in as_completed(futures, with_results=True):
            if lose_a_worker:
                _end_one(client)
                lose_a_worker = False
            yield known.pop(future), value
            future.release()
        taken = client.run(peak_megabytes, on_error="ignore").values()
        print(f"a worker took {max(taken, default=0)} MB at most", file=sys.stderr)
    if isinstance(cluster, LocalCluster):
        cluster.close()


def _apply(score: Score, block: Block) -> int:
    return score(block)


def _end_one(client: Client) -> None:
    """Kill a worker as a machine would that loses its power."""
    worker, process = next(iter(client.run(os.getpid).items()))
    print(f"killing the worker {worker}")
    os.kill(process, signal.SIGKILL)
