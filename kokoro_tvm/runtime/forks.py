"""Locks that are free in a forked child."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager


def held_at_forks() -> AbstractContextManager[object]:
    """Return a lock that `fork` acquires first, so that what it guards is consistent in the child.

    Forking acquires locks in the reverse order of their creation: create the inner one of nested locks first.
    The lock is reentrant, because its owner may fork.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
