"""Folder of spoken pieces; a digest of everything that decides about the sound names each file.

    URL/aa/DIGEST      a digest of the content and the name, then float32 samples, little-endian

The folder is anywhere that fsspec reaches. A file gets its name when it is complete, and is used if its
digest matches. Several processes may share a folder: a piece that one of them removes is computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import time
from typing import Any

import numpy as np

from kokoro_tvm.common.remote import open_folder, whole_file
from kokoro_tvm.runtime.session.model import Floats

_HEADER_BYTES = hashlib.sha256().digest_size
_RECOUNT_PART = 16  # files are counted again after this part of the limit is written: others write too
_TARGET = 0.875  # of the limit, after files are removed
_ABANDONED_S = 600.0  # after which the writer of an incomplete file is taken for dead


class DamagedError(Exception):
    """The content of a file does not match its name."""


class PieceStore:
    """Audio by digest, in a folder of bounded size. One thread writes.

    Its methods raise the errors of the library of the folder's protocol.

    Attributes:
        url: Of the folder.
        bytes: Bytes of its files, as far as is known.
    """

    def __init__(self, url: str, max_bytes: int, abandoned_s: float = _ABANDONED_S) -> None:
        """Describe a folder. An incomplete file of a killed process is removed after `abandoned_s`."""
        self.url = url.rstrip("/")
        self.bytes = 0
        self._max_bytes = max_bytes
        self._uncounted = max_bytes  # bytes written since the files were counted
        self._abandoned_s = abandoned_s
        self._partial: dict[str, float] = {}  # incomplete files, and when they were first seen
        self._opened: tuple[Any, str] | None = None

    def get(self, digest: str, samples: int) -> Floats | None:
        """Read audio, float32 (samples,); None if there is none.

        Raises DamagedError if its checksum differs.
        """
        system, path = self._locate(digest)
        size = _HEADER_BYTES + 4 * samples
        try:
            data = bytes(system.cat_file(path, 0, size + 1))
        except FileNotFoundError:
            return None
        if len(data) != size or data[:_HEADER_BYTES] != _checksum(digest, data[_HEADER_BYTES:]):
            raise DamagedError(f"{path}: the content does not match the name")
        return np.frombuffer(data, "<f4", offset=_HEADER_BYTES).astype(np.float32)

    def put(self, digest: str, audio: Floats) -> bool:
        """Write audio, float32 (samples,); return False if it is too large.

        Files chosen at random make room for it: that needs no clock, and no write when one is read.
        """
        content = audio.astype("<f4").tobytes()
        size = _HEADER_BYTES + len(content)
        if size > self._max_bytes:
            return False
        if self.bytes + size > self._max_bytes or self._uncounted >= self._max_bytes / _RECOUNT_PART:
            self._make_room(size)
        system, path = self._locate(digest)
        with whole_file(system, path) as partial:
            system.pipe_file(partial, _checksum(digest, content) + content)
        self.bytes += size
        self._uncounted += size
        return True

    def _make_room(self, size: int) -> None:
        """Count all files, and remove some if another of `size` bytes would exceed the limit."""
        system, root = self._open()
        sizes = {path: int(entry["size"]) for path, entry in system.find(root, detail=True).items()}
        self.bytes, self._uncounted = sum(sizes.values()), 0
        now = time.monotonic()
        partial = [path for path in sizes if path.rpartition("/")[2].startswith(".")]
        self._partial = {path: self._partial.get(path, now) for path in partial}
        dead = [path for path, seen in self._partial.items() if now - seen >= self._abandoned_s]
        others = list(sizes.keys() - self._partial.keys())
        random.shuffle(others)
        enough = (
            min(_TARGET * self._max_bytes, self._max_bytes - size)
            if self.bytes + size > self._max_bytes
            else self._max_bytes
        )
        while dead or (others and self.bytes > enough):
            path = (dead or others).pop()
            with contextlib.suppress(FileNotFoundError):  # another process was first
                system.rm_file(path)
            self.bytes -= sizes[path]

    def _locate(self, digest: str) -> tuple[Any, str]:
        """Return the file system and the path of audio."""
        system, root = self._open()
        return system, f"{root}/{digest[:2]}/{digest}"

    def _open(self) -> tuple[Any, str]:
        """Return file system and folder of the store, opened once."""
        if self._opened is None:
            self._opened = open_folder(self.url)
        return self._opened


def _checksum(digest: str, content: bytes) -> bytes:
    """Return the checksum of a file's content and name."""
    seal = hashlib.sha256(digest.encode())
    seal.update(content)
    return seal.digest()
