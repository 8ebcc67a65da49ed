"""Locks that a forked child does not find taken by a thread that it does not have."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager

__all__ = ["held_at_forks"]


def held_at_forks() -> AbstractContextManager[object]:
    """A lock for a module: whoever forks waits for its owner, so that what it guards is whole in the child.

    Locks are taken in the reverse order of their making: one that is taken within another is made before it.
    Reentrant, because its owner may fork.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
