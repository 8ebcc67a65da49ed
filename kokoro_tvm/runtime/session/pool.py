"""The thread that calls compiled code, and with it the only TVM thread pool of this process.

TVM keeps a pool per calling thread: a server with ten threads would hold ten pools. So all calls run on one
thread, and callers wait for its result.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from kokoro_tvm.runtime.forks import held_at_forks
from kokoro_tvm.runtime.session.tvm_runtime import pool_size, use_threads

P = ParamSpec("P")
T = TypeVar("T")

# A virtual machine that is forked within a call is unusable, and the allocator's locks may be taken. So a
# fork waits for the running component, and no other call starts before it.
_computing = held_at_forks()
_queueing = held_at_forks()


_thread: ThreadPoolExecutor | None = None  # created at the first call
_size = 0  # of its pool


def _forget() -> None:
    """Drop the parent's thread in a forked process, which does not have it."""
    global _thread
    _thread = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def compute(threads: int, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Call a function on the compute thread, with `threads` TVM threads, and return its result.

    `function` must not call `compute`.
    """

    def call() -> T:
        with _computing:
            use_threads(threads)
            return function(*arguments, **options)

    with _queueing:
        future = _thread_for(threads).submit(call)
    return future.result()


def _thread_for(threads: int) -> ThreadPoolExecutor:
    """Return the compute thread; for more threads than its pool has, both are replaced."""
    global _thread, _size
    if _thread is None or threads > _size:
        if _thread is not None:
            _thread.shutdown()
        _size = pool_size(threads)
        _thread = ThreadPoolExecutor(1, thread_name_prefix="kokoro-tvm")
    return _thread
