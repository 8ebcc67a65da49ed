"""Cache of facts about files, such as digests, so that unchanged files are not read again.

A file counts as unchanged if its inode, size, modification time and change time (in nanoseconds) are the
same. Programs cannot set the change time: writing, replacing or restoring a file, or setting its times back,
gives it a new one. Damage below the file system stays unnoticed; `paranoid` builds read every file again.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from kokoro_tvm.builder.engine.durable import write
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError

# Two changes within a tick of the file system's clock may have the same time.
_TICK_NS = 20_000_000
_COARSE_TICK_NS = 2_500_000_000  # if times have no fractions of a millisecond
_Identity = tuple[int, int, int]
_CHECKSUM_BYTES = 65


class Memory:
    """Cache of facts about files. Threads and processes may share it.

    Args:
        path: File that it is saved in; None: this process alone. If it is lost, files are read again.
        trust: Whether cached facts are used.
    """

    def __init__(self, path: Path | None, trust: bool = True) -> None:
        self._path = path
        self._trust = trust
        self._lock = threading.Lock()
        self._facts = _read_facts(path)
        self._new: dict[str, tuple[_Identity, str]] = {}

    def recall(self, path: Path, learn: Callable[[Path], str], about: str = "") -> str:
        """Return the cached fact about a file, or compute it.

        Args:
            path: The file.
            learn: Computes the fact.
            about: Topic, if there are several facts about a file.

        Raises:
            OSError: The file cannot be read. `learn` may raise other errors.
        """
        before = path.stat()
        key = _fact_key(before, about)
        cached = self._facts.get(key)
        if self._trust and cached is not None and cached[0] == _identity(before):
            return cached[1]
        began = time.time_ns()
        fact = learn(path)
        after = path.stat()
        if _identity(after) == _identity(before) and after.st_ctime_ns + _clock_step(after) < began:
            self._remember(key, after, fact)
        return fact

    def sha256(self, path: Path) -> str:
        """Return the digest of a file. Raises OSError if it cannot be read."""
        return self.recall(path, file_sha256)

    def is_intact(self, path: Path, size: int, sha256: str) -> bool:
        """Return whether a file has this size and digest."""
        try:
            return path.stat().st_size == size and self.sha256(path) == sha256
        except OSError:  # missing, no file, or not readable
            return False

    def note(self, files: Mapping[Path, str], settle: bool = True) -> None:
        """Cache the digests of files that were just renamed, which changed their times.

        Args:
            files: Digest of each file.
            settle: Wait for the clock's next tick, so that a change right after this is noticed.
        """
        stats = {path: path.stat() for path in files}
        wait = max((s.st_ctime_ns + _clock_step(s) for s in stats.values()), default=0) - time.time_ns()
        if settle and 0 < wait <= 2 * _TICK_NS:
            time.sleep(wait / 1e9)
        for path, before in stats.items():
            after = path.stat()
            settled = not settle or after.st_ctime_ns + _clock_step(after) <= time.time_ns()
            if settled and _identity(after) == _identity(before):
                self._remember(_fact_key(after), after, files[path])

    def keep(self, paths: Iterable[Path]) -> None:
        """Forget all other files, and delete the saved facts until `save`.

        Raises OSError if a path does not exist.
        """
        keys = {_fact_key(path.stat()) for path in paths}
        with self._lock:
            facts = _read_facts(self._path) | self._facts
            self._facts = {key: fact for key, fact in facts.items() if key in keys}
            self._new = dict(self._facts)
            if self._path is not None:
                self._path.unlink(missing_ok=True)

    def save(self) -> None:
        """Save new facts. If that fails, files are read again next time."""
        with self._lock:
            if not self._new or self._path is None:
                return
            facts = _read_facts(self._path) | self._new
            self._new = {}
        rows = {key: [*identity, fact] for key, (identity, fact) in facts.items()}
        content = json.dumps(rows, separators=(",", ":")).encode()
        with suppress(BuildError):
            write(self._path, _checksum(content) + content)

    def _remember(self, key: str, stat: os.stat_result, fact: str) -> None:
        """Cache a fact about a file in its present state."""
        with self._lock:
            self._facts[key] = self._new[key] = (_identity(stat), fact)


def stamps(path: Path) -> tuple[int, ...]:
    """Return numbers that change whenever a file does, even if its times are set back; () if none."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return (stat.st_ino, *_identity(stat))


def process_memory() -> Memory:
    """Return this process's cache of facts about code and tools, which `use_memory` sets."""
    return _learned


def use_memory(memory: Memory) -> None:
    """Let `process_memory` return this cache, and save it at exit."""
    global _learned
    _learned = memory
    atexit.register(memory.save)


def _fact_key(stat: os.stat_result, about: str = "") -> str:
    """Return the key of a fact: a file's inode and the topic, because paths change."""
    return f"{stat.st_ino} {about}".rstrip()


def _identity(stat: os.stat_result) -> _Identity:
    """Return what changes whenever a file does."""
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _clock_step(stat: os.stat_result) -> int:
    """Return how coarse the clock of the file's times may be, in ns."""
    return _TICK_NS if stat.st_ctime_ns % 1_000_000 else _COARSE_TICK_NS


def _read_facts(path: Path | None) -> dict[str, tuple[_Identity, str]]:
    """Return the facts of a file; none if it is missing or damaged."""
    try:
        stored = path.read_bytes() if path else b""
    except OSError:
        return {}
    checksum, content = stored[:_CHECKSUM_BYTES], stored[_CHECKSUM_BYTES:]
    if checksum != _checksum(content):  # missing or damaged
        return {}
    return {key: ((row[0], row[1], row[2]), row[3]) for key, row in json.loads(content).items()}


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"


_learned = Memory(None)
