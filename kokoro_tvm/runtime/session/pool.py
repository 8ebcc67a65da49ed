"""The one thread that calls compiled code, and with it the one pool of TVM threads in this process.

TVM keeps a pool for every thread that calls it: a server that speaks from ten threads would hold ten pools.
So calls are handed to one thread, where they queue up; the calling thread waits for its result.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from kokoro_tvm.runtime.forks import held_at_forks
from kokoro_tvm.runtime.session.tvm_runtime import pool_size, use_threads

__all__ = ["compute"]

P = ParamSpec("P")
T = TypeVar("T")

# A virtual machine that is copied in the middle of a call is of no use, and the allocator's locks may be
# taken then. So whoever forks waits for the component that runs; nobody gets in line before it.
_computing = held_at_forks()
_queueing = held_at_forks()


_thread: ThreadPoolExecutor | None = None  # the computing one, created when it is first needed
_size = 0  # of its pool


def _forget() -> None:
    """A forked process has none of its parent's threads; waiting for them would take forever."""
    global _thread
    _thread = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def compute(threads: int, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """`function(*arguments, **options)`, called where compiled code it calls uses `threads` threads.

    Blocks until it returns, and raises what it raises. Not to be called from within `function`.
    """

    def call() -> T:
        with _computing:
            use_threads(threads)
            return function(*arguments, **options)

    with _queueing:
        future = _thread_for(threads).submit(call)
    return future.result()


def _thread_for(threads: int) -> ThreadPoolExecutor:
    """The computing thread. A pool cannot grow: for more threads than it has, both are replaced."""
    global _thread, _size
    if _thread is None or threads > _size:
        if _thread is not None:
            _thread.shutdown()
        _size = pool_size(threads)
        _thread = ThreadPoolExecutor(1, thread_name_prefix="kokoro-tvm")
    return _thread
