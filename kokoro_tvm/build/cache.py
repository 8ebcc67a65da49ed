"""A shared cache: what one machine has built, others need not build.

    URL/objects/aa/SHA256      a file
    URL/records/aa/KEY.json    what a stage with these ingredients wrote

It lies anywhere that fsspec reaches (a folder, a web server, a bucket) and is trusted with nothing: only a
record whose digest and key fit counts, only files of the size and SHA-256 the record says are taken, and they
are taken into the store before anything reads them. A cache that fails, stalls, cuts short or lies is told of
once and left alone for the rest of the run; what it would have given is built.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args
from uuid import uuid4

from kokoro_tvm.build.digest import file_sha256
from kokoro_tvm.build.record import Output, Record
from kokoro_tvm.errors import InputError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

__all__ = ["Cache", "Mode"]

Mode = Literal["read-only", "read-write", "off"]

_READ_ONLY = ("http", "https")  # protocols that cannot be written to
_PATIENCE = 20.0  # seconds until it has to answer
_SLOWEST = 500_000  # bytes a second it has to come to

T = TypeVar("T")


class Cache:
    """The cache at `url`. warn: told once, when it is left alone from then on. Threads may share it."""

    def __init__(self, url: str, mode: Mode, warn: Callable[[str], None]) -> None:
        self.url = url.rstrip("/")
        self.mode = mode
        self._warn = warn
        self._opened: tuple[AbstractFileSystem, str] | None = None
        self._lock = threading.Lock()
        self._left = False

    @classmethod
    def from_environment(
        cls, warn: Callable[[str], None], environ: Mapping[str, str] = os.environ
    ) -> Cache | None:
        """The one that KOKORO_TVM_CACHE names, to be used as KOKORO_TVM_CACHE_MODE says; None for none.

        Without a mode it is read and written, but for a web server, which can only be read. Raises InputError
        for an unknown mode or protocol.
        """
        url = environ.get("KOKORO_TVM_CACHE", "")
        told = environ.get("KOKORO_TVM_CACHE_MODE", "")
        if told and told not in get_args(Mode):
            raise InputError(f"KOKORO_TVM_CACHE_MODE is {told!r}; it can be {', '.join(get_args(Mode))}.")
        if not url or told == "off":
            return None
        readable = url.startswith(tuple(f"{protocol}:" for protocol in _READ_ONLY))
        if readable and told == "read-write":
            raise InputError(
                f"KOKORO_TVM_CACHE, {url}, is a web server and cannot be written to; set "
                "KOKORO_TVM_CACHE_MODE=read-only, or name a folder or bucket."
            )
        mode: Mode = "read-only" if readable or told == "read-only" else "read-write"
        cache = cls(url, mode, warn)
        cache._check()
        return cache

    def record(self, key: str, files: Sequence[str]) -> Record | None:
        """The record of what has these ingredients, if it is of just these files; None where it has none."""

        def read() -> bytes | None:
            system, root = self._open()
            try:
                return bytes(system.cat_file(_record_path(root, key)))
            except FileNotFoundError:
                return None

        stored = self._try(read, "read")
        if stored is None:
            return None
        try:
            found = Record.from_bytes(stored)
        except ValueError as error:
            self._leave(f"the record {key} is damaged ({error})")
            return None
        if found.key != key or tuple(o.file for o in found.outputs) != tuple(files):
            self._leave(f"the record {key} is of something else")
            return None
        return found

    def try_out(self) -> None:
        """Reads, and writes a small file where that may be done: a cache that is of no use is told of."""
        self.record("0" * 64, ())  # which it cannot have: it only has to answer
        if self.mode != "read-write":
            return

        def write() -> bool:
            system, root = self._open()
            path = f"{root}/.try-{uuid4().hex}"
            system.makedirs(root, exist_ok=True)
            system.pipe_file(path, b"kokoro-tvm")
            system.rm_file(path)
            return True

        self._try(write, "written")

    def get(self, output: Output, path: Path) -> bool:
        """Brings an output to `path`; False where it cannot be had as its record says it is."""

        def read() -> bool:
            system, root = self._open()
            system.get_file(_object_path(root, output.sha256), str(path))
            return True

        if not self._try(read, "read", output.size):
            return False
        if path.stat().st_size != output.size or file_sha256(path) != output.sha256:
            path.unlink()
            self._leave(f"{output.sha256} does not hold what its name says")
            return False
        return True

    def offer(self, record: Record, source: Callable[[Output], Path]) -> None:
        """Puts a record there, after its outputs, if it may be written to; `source` says where they are."""
        if self.mode != "read-write":
            return

        def write() -> bool:
            system, root = self._open()
            for output in record.outputs:
                path = _object_path(root, output.sha256)
                if not (system.exists(path) and system.info(path)["size"] == output.size):
                    with _whole(system, path) as partial:
                        system.put_file(str(source(output)), partial)
            with _whole(system, _record_path(root, record.key)) as partial:
                system.pipe_file(partial, record.to_bytes())
            return True

        self._try(write, "written", record.size)

    def _check(self) -> None:
        """Raises InputError for a URL that no installed library can read."""
        from fsspec import get_filesystem_class
        from fsspec.utils import get_protocol

        try:
            get_filesystem_class(get_protocol(self.url))
        except (ValueError, ImportError) as error:
            raise InputError(f"KOKORO_TVM_CACHE, {self.url}, cannot be reached: {error}.") from error

    def _open(self) -> tuple[AbstractFileSystem, str]:
        from fsspec.core import url_to_fs

        with self._lock:
            if self._opened is None:
                # Listings that are kept would hide what others have written since.
                self._opened = url_to_fs(self.url, use_listings_cache=False, skip_instance_cache=True)
            return self._opened

    def _try(self, action: Callable[[], T], done: str, size: int = 0) -> T | None:
        """What `action` gives, in the time it may take for so many bytes; None, and a warning, otherwise."""
        if self._left:
            return None
        results: list[T] = []
        errors: list[Exception] = []

        def run() -> None:
            try:
                results.append(action())
            except Exception as error:  # whatever a library for some protocol raises: told below
                errors.append(error)

        patience = _PATIENCE + size / _SLOWEST
        thread = threading.Thread(target=run, daemon=True)  # one that stalls must not keep the build
        thread.start()
        thread.join(patience)
        if results:
            return results[0]
        for error in errors:
            self._leave(f"it cannot be {done} ({type(error).__name__}: {error})")
        if not errors:
            self._leave(f"it did not answer within {patience:.0f} s")
        return None

    def _leave(self, reason: str) -> None:
        with self._lock:
            told, self._left = self._left, True
        if not told:
            self._warn(
                f"note: the cache {self.url} is left alone from here on, and what is missing is built: "
                f"{reason}."
            )


def _object_path(root: str, sha256: str) -> str:
    return f"{root}/objects/{sha256[:2]}/{sha256}"


def _record_path(root: str, key: str) -> str:
    return f"{root}/records/{key[:2]}/{key}.json"


@contextmanager
def _whole(system: AbstractFileSystem, path: str) -> Iterator[str]:
    """The name under which to write a file: it gets its own name afterwards, so nobody sees half of it."""
    folder, _, name = path.rpartition("/")
    partial = f"{folder}/.{name}.{uuid4().hex}"
    system.makedirs(folder, exist_ok=True)
    yield partial
    system.mv(partial, path)
