"""Open files of a bundle: the bytes that were verified are the bytes that are mapped or loaded.

Another file could take the place of a path between two openings, so no file is opened twice.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.manifest import FileRef

_CHUNK = 1 << 20  # bytes
# A named pipe in place of a file would otherwise block until somebody writes to it.
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class OpenFile:
    """An open file of a bundle; `status` is its os.stat_result at opening."""

    def __init__(self, ref: FileRef) -> None:
        """Open the file of `ref`.

        Raises:
            BundleError: there is no such file, it cannot be read, or its size is not the manifest's.
        """
        self.ref = ref
        self._content: bytes | None = None
        try:
            self._descriptor = os.open(ref.path, _FLAGS)
        except FileNotFoundError as error:
            raise BundleError(
                f"{ref.path} is missing from the bundle. Copy the bundle again, all of it."
            ) from error
        except OSError as error:
            raise BundleError(
                f"{ref.path} cannot be read ({error.strerror}). Make it readable, or copy the bundle again."
            ) from error
        self.status = os.fstat(self._descriptor)
        try:
            if not stat.S_ISREG(self.status.st_mode):
                raise BundleError(f"{ref.path} is not a regular file. Copy the bundle again.")
            if self.status.st_size != ref.size:
                raise BundleError(
                    f"{ref.path} has {self.status.st_size} bytes, but bundle.json says {ref.size}. "
                    "Copy the bundle again."
                )
        except BundleError:
            self.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor, to map the file; a mapping stays valid after `close`."""
        return self._descriptor

    def check(self, keep: bool = False) -> None:
        """Read the file and compare its SHA-256 with the manifest; `keep` its bytes for `content`.

        Raises:
            BundleError: they differ.
        """
        digest, chunks = hashlib.sha256(), []
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        while chunk := os.read(self._descriptor, _CHUNK):
            digest.update(chunk)
            if keep:
                chunks.append(chunk)
        if digest.hexdigest() != self.ref.sha256:
            raise BundleError(
                f"{self.ref.path} has sha256 {digest.hexdigest()}, but bundle.json says {self.ref.sha256}: "
                "the file was changed or damaged. Copy or build the bundle again."
            )
        if keep:
            self._content = b"".join(chunks)

    def content(self) -> bytes:
        """Return the verified bytes.

        Raises:
            BundleError: as `check` does.
        """
        if self._content is None:
            self.check(keep=True)
        assert self._content is not None
        return self._content

    def close(self) -> None:
        """Close the file; mappings stay valid."""
        os.close(self._descriptor)


class OpenFiles:
    """Several open files; a context manager that closes them."""

    def __init__(self, refs: Iterable[FileRef]) -> None:
        """Open all files, so that a partial copy of a bundle is refused before anything is read.

        Raises:
            BundleError: as OpenFile does; those already open are closed.
        """
        self._files: dict[FileRef, OpenFile] = {}
        try:
            for ref in refs:
                if ref not in self._files:
                    self._files[ref] = OpenFile(ref)
        except BundleError:
            self._close()
            raise

    def __getitem__(self, ref: FileRef) -> OpenFile:
        return self._files[ref]

    def __iter__(self) -> Iterator[OpenFile]:
        return iter(self._files.values())

    def __enter__(self) -> OpenFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        for file in self._files.values():
            file.close()
