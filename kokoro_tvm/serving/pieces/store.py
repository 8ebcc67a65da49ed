"""A folder of spoken pieces, each in a file that is named by a digest of what decides about its sound.

    URL/aa/DIGEST      a digest of what follows and of the name, then float32 samples, little-endian

It lies anywhere that fsspec reaches. A file gets its name when it is whole, and counts if its digest fits.
Several processes may share a folder: what one of them removes is computed again by whoever wants it.
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

__all__ = ["DamagedError", "PieceStore"]

_HEAD = hashlib.sha256().digest_size
_LOOK = 16  # files are counted again after this part of the most bytes was written: others write too
_LEFT = 0.875  # of the most bytes, after files were removed
_ABANDONED = 600.0  # seconds after which whoever wrote a file without its name is taken for dead


class DamagedError(Exception):
    """A file does not hold what its name says."""


class PieceStore:
    """Audio by digest in a folder of at most `most` bytes. Not for several threads that write.

    Its methods raise whatever the library of the folder's protocol raises.
    """

    def __init__(self, url: str, most: int, abandoned: float = _ABANDONED) -> None:
        """abandoned: seconds after which a file without its name, which a killed process left, is removed."""
        self.url = url.rstrip("/")
        self.bytes = 0
        """Bytes of its files as far as is known."""
        self._most = most
        self._unseen = most  # bytes written since the files were counted
        self._abandoned = abandoned
        self._partial: dict[str, float] = {}  # files without their name, and when they were first seen
        self._opened: tuple[Any, str] | None = None

    def get(self, digest: str, samples: int) -> Floats | None:
        """Audio float32 (samples,); None where it has none. Raises DamagedError."""
        system, path = self._place(digest)
        size = _HEAD + 4 * samples
        try:
            data = bytes(system.cat_file(path, 0, size + 1))
        except FileNotFoundError:
            return None
        if len(data) != size or data[:_HEAD] != _seal(digest, data[_HEAD:]):
            raise DamagedError(f"{path} does not hold what its name says")
        return np.frombuffer(data, "<f4", offset=_HEAD).astype(np.float32)

    def put(self, digest: str, audio: Floats) -> bool:
        """Keep audio float32 (samples,), in the place of what is there; False where it is too large.

        Others make room for it, chosen at random: that needs no clock, and no writing when one is read.
        """
        content = audio.astype("<f4").tobytes()
        size = _HEAD + len(content)
        if size > self._most:
            return False
        if self.bytes + size > self._most or self._unseen >= self._most / _LOOK:
            self._make_room(size)
        system, path = self._place(digest)
        with whole_file(system, path) as partial:
            system.pipe_file(partial, _seal(digest, content) + content)
        self.bytes += size
        self._unseen += size
        return True

    def _make_room(self, size: int) -> None:
        """Count all files, and remove some where another of `size` bytes would be too much."""
        system, root = self._open()
        sizes = {path: int(found["size"]) for path, found in system.find(root, detail=True).items()}
        self.bytes, self._unseen = sum(sizes.values()), 0
        now = time.monotonic()
        partial = [path for path in sizes if path.rpartition("/")[2].startswith(".")]
        self._partial = {path: self._partial.get(path, now) for path in partial}
        dead = [path for path, seen in self._partial.items() if now - seen >= self._abandoned]
        others = list(sizes.keys() - self._partial.keys())
        random.shuffle(others)
        enough = min(_LEFT * self._most, self._most - size) if self.bytes + size > self._most else self._most
        while dead or (others and self.bytes > enough):
            path = (dead or others).pop()
            with contextlib.suppress(FileNotFoundError):  # another process was first
                system.rm_file(path)
            self.bytes -= sizes[path]

    def _place(self, digest: str) -> tuple[Any, str]:
        system, root = self._open()
        return system, f"{root}/{digest[:2]}/{digest}"

    def _open(self) -> tuple[Any, str]:
        if self._opened is None:
            self._opened = open_folder(self.url)
        return self._opened


def _seal(digest: str, content: bytes) -> bytes:
    found = hashlib.sha256(digest.encode())
    found.update(content)
    return found.digest()
