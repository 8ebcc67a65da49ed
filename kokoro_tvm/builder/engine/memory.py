"""What was learned from files by reading them, so that an unchanged one need not be read again.

A file is taken to be unchanged while the file system gives it the same inode, size, modification and change
time (both in nanoseconds). The change time nobody can set: writing, replacing, restoring a file or setting
its times back gives it a new one. What is left is damage that the file system knows nothing of: for that,
everything can be read again (`paranoid`).
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

__all__ = ["Memory", "keep_learned", "learned", "stamps"]

# Until the clock that files are stamped by has moved on, what was just changed may change again unnoticed.
_TICK_NS = 20_000_000
_COARSE_TICK_NS = 2_500_000_000  # where stamps show no fractions of a millisecond
_Identity = tuple[int, int, int]
_CHECKSUM = 65  # bytes


class Memory:
    """What was learned from files, by what the file system says of them; threads and processes may share it.

    path: where it is kept (None: in this process alone); losing or damaging it costs reading, nothing else.
    trust: whether what is remembered counts.
    """

    def __init__(self, path: Path | None, trust: bool = True) -> None:
        self._path = path
        self._trust = trust
        self._lock = threading.Lock()
        self._known = _read(path)
        self._new: dict[str, tuple[_Identity, str]] = {}

    def recall(self, path: Path, learn: Callable[[Path], str], about: str = "") -> str:
        """What `learn` makes of a file, called only if that is not known; about: which of several things.

        Raises OSError where the file cannot be read, and what `learn` raises.
        """
        before = path.stat()
        key = _key(before, about)
        found = self._known.get(key)
        if self._trust and found is not None and found[0] == _identity(before):
            return found[1]
        began = time.time_ns()
        learned = learn(path)
        after = path.stat()
        if _identity(after) == _identity(before) and after.st_ctime_ns + _tick(after) < began:
            self._remember(key, after, learned)
        return learned

    def sha256(self, path: Path) -> str:
        """Digest of a file; raises OSError where it cannot be read."""
        return self.recall(path, file_sha256)

    def is_intact(self, path: Path, size: int, sha256: str) -> bool:
        """Whether a file holds this."""
        try:
            return path.stat().st_size == size and self.sha256(path) == sha256
        except OSError:  # not there, not a file, or not readable: not intact
            return False

    def note(self, files: Mapping[Path, str], settle: bool = True) -> None:
        """Remembers files that held this when they got the names they have now, which changed their time.

        settle: whether to wait for the clock's next tick, lest a change right after this go unnoticed.
        """
        found = {path: path.stat() for path in files}
        wait = max((s.st_ctime_ns + _tick(s) for s in found.values()), default=0) - time.time_ns()
        if settle and 0 < wait <= 2 * _TICK_NS:
            time.sleep(wait / 1e9)
        for path, before in found.items():
            after = path.stat()
            settled = not settle or after.st_ctime_ns + _tick(after) <= time.time_ns()
            if settled and _identity(after) == _identity(before):
                self._remember(_key(after), after, files[path])

    def keep(self, paths: Iterable[Path]) -> None:
        """Forgets all other files; raises OSError where one of these is not there."""
        keys = {_key(path.stat()) for path in paths}
        with self._lock:
            self._known = {
                key: known for key, known in (_read(self._path) | self._known).items() if key in keys
            }
            self._new = dict(self._known)
            if self._path is not None:
                self._path.unlink(missing_ok=True)

    def save(self) -> None:
        """Writes down what was learned since the last time; where that fails, files are read again."""
        with self._lock:
            if not self._new or self._path is None:
                return
            known = _read(self._path) | self._new
            self._new = {}
        rows = {key: [*identity, learned] for key, (identity, learned) in known.items()}
        content = json.dumps(rows, separators=(",", ":")).encode()
        with suppress(BuildError):
            write(self._path, _checksum(content) + content)

    def _remember(self, key: str, found: os.stat_result, learned: str) -> None:
        with self._lock:
            self._known[key] = self._new[key] = (_identity(found), learned)


def stamps(path: Path) -> tuple[int, ...]:
    """What changes whenever a file does, even where its times are set back; () where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return (found.st_ino, *_identity(found))


def learned() -> Memory:
    """What this process learned of code and tools."""
    return _learned


def keep_learned(memory: Memory) -> None:
    """What it learns of code and tools from now on is kept there."""
    global _learned
    _learned = memory
    atexit.register(memory.save)


def _key(found: os.stat_result, about: str = "") -> str:
    return f"{found.st_ino} {about}".rstrip()


def _identity(found: os.stat_result) -> _Identity:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _tick(found: os.stat_result) -> int:
    return _TICK_NS if found.st_ctime_ns % 1_000_000 else _COARSE_TICK_NS


def _read(path: Path | None) -> dict[str, tuple[_Identity, str]]:
    try:
        stored = path.read_bytes() if path else b""
    except OSError:
        return {}
    checksum, content = stored[:_CHECKSUM], stored[_CHECKSUM:]
    if checksum != _checksum(content):  # not there yet, or damaged: then nothing is remembered
        return {}
    return {key: ((row[0], row[1], row[2]), row[3]) for key, row in json.loads(content).items()}


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"


_learned = Memory(None)
