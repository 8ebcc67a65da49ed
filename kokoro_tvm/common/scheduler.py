"""Client of a Dask scheduler, whose workers run what this process submits."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kokoro_tvm.common.errors import BuildError, InputError

_CONNECT_TIMEOUT_S = 20.0
_POLL_INTERVAL_S = 1.0  # between looks at the scheduler's workers
_NOTIFY_AFTER_S = 2.0  # without a worker


def connect(address: str) -> Any:
    """Return a client of the scheduler at `address`; the caller closes it.

    Raises:
        BuildError: The scheduler cannot be reached.
        InputError: The extra `dask` is not installed.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("a Dask scheduler needs the extra `dask`: pip install 'kokoro-tvm[dask]'") from error
    try:
        return Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BuildError(
            f"the scheduler {address} cannot be reached: {error}; `dask scheduler` starts one"
        ) from error


def completed(
    client: Any, address: str, futures: Iterable[Any], notify: Callable[[str], None]
) -> Iterator[Any]:
    """Yield futures as they end, and notify of workers that are missing or lost.

    Raises:
        BuildError: the scheduler no longer answers.
    """
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    remaining = 0
    for future in futures:
        future.add_done_callback(ended.put)
        remaining += 1
    workers: set[str] = set()
    idle_since, polled, is_told = time.monotonic(), -_POLL_INTERVAL_S, False
    while remaining:
        now = time.monotonic()
        if now - polled >= _POLL_INTERVAL_S:
            present, polled = _workers(client, address), now
            for worker in sorted(workers - present):
                notify(f"the worker {worker} was lost; another one begins again what it had begun")
            if present or workers:  # a wait begins when the last worker is gone
                idle_since, is_told = now, False
            workers = present
        if not workers and not is_told and now - idle_since >= _NOTIFY_AFTER_S:
            notify(f"waiting for workers: start one with `dask worker {address} --nthreads 1`")
            is_told = True
        try:
            future = ended.get(timeout=_POLL_INTERVAL_S)
        except queue.Empty:
            continue
        if future.status == "cancelled":  # nobody here cancels: the client has given the scheduler up
            raise _connection_error(address)
        remaining -= 1
        yield future


def _workers(client: Any, address: str) -> set[str]:
    """Return the addresses of the scheduler's workers. Raises BuildError if the scheduler does not answer."""
    if client.status not in ("running", "connecting"):
        raise _connection_error(address)
    try:
        return set(client.scheduler_info(n_workers=-1)["workers"])
    except (OSError, TimeoutError) as error:
        raise _connection_error(address) from error


def _connection_error(address: str) -> BuildError:
    """Return the error of a scheduler that no longer answers."""
    return BuildError(
        f"the scheduler {address} no longer answers; start it and its workers again, and repeat the command: "
        "what was finished is kept"
    )
