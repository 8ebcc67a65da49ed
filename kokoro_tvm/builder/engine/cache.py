"""A shared cache: what one machine has built, others need not build.

    URL/objects/aa/SHA256      a file
    URL/records/aa/KEY.json    what a stage of this derivation wrote
    URL/requests/aa/REQUEST    keys of the latest records of a request, one a line

It lies anywhere that fsspec reaches: a folder, a web server, a bucket. A record counts only if its digest and
key fit, a file only if its size and SHA-256 are those of its record; both go into the store before anything
reads them. That finds damage, not fraud. With a key, records are written with an HMAC, and a record that
has none, or another, is refused. What is damaged, missing or refused is not used, causes a warning, and is
written again once it is built. A cache that fails, stalls or cuts short causes one warning and is not used
for the rest of the run; what it lacks is built.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args
from uuid import uuid4

from kokoro_tvm.builder.engine.record import USED, Output, StageRecord, list_with, listed_keys
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError, InputError
from kokoro_tvm.common.remote import (
    READ_ONLY,
    TooLargeError,
    has_protocol,
    open_folder,
    read_portions,
    unreachable,
    whole_file,
)

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

__all__ = ["Cache", "Mode", "Pruned"]

Mode = Literal["read-only", "read-write", "off"]

_OPEN = ("http", "ftp")  # protocols that anyone on the way can change
_SHORTEST = 16  # characters of a key: records tell whether a guess is right
_LARGEST_RECORD = 16 << 20  # bytes
_PATIENCE = 20.0  # seconds until it has to answer
_SLOWEST = 500_000  # bytes a second it has to come to

T = TypeVar("T")


@dataclass(frozen=True)
class Pruned:
    """What `prune` removed: how many records and objects, and their bytes."""

    records: int
    objects: int
    bytes: int


class Cache:
    """The cache at `url`. Threads may share it.

    warn: called with the reason when something in the cache is not used, or all of it no longer. secret: key
    of the records' HMACs; None: they are neither written nor checked.
    """

    def __init__(
        self, url: str, mode: Mode, warn: Callable[[str], None], secret: bytes | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self.mode = mode
        self._warn = warn
        self._secret = secret
        self._opened: tuple[AbstractFileSystem, str] | None = None
        self._lock = threading.Lock()
        self._left = False
        self._damaged: set[str] = set()  # objects

    @classmethod
    def from_environment(
        cls, warn: Callable[[str], None], environ: Mapping[str, str] = os.environ
    ) -> Cache | None:
        """The cache that KOKORO_TVM_CACHE names, or None.

        KOKORO_TVM_CACHE_MODE says how it is used; by default it is read and written, but a web server is only
        read. KOKORO_TVM_CACHE_KEY is the key of its records' HMACs. Raises InputError for an unknown mode or
        protocol, a short key, and plain http without a key.
        """
        url = environ.get("KOKORO_TVM_CACHE", "")
        wanted = environ.get("KOKORO_TVM_CACHE_MODE", "")
        secret = environ.get("KOKORO_TVM_CACHE_KEY", "")
        if wanted and wanted not in get_args(Mode):
            raise InputError(f"KOKORO_TVM_CACHE_MODE is {wanted!r}; it can be {', '.join(get_args(Mode))}.")
        if not url or wanted == "off":
            return None
        if secret and len(secret) < _SHORTEST:
            raise InputError(
                f"KOKORO_TVM_CACHE_KEY has {len(secret)} characters; it needs at least {_SHORTEST}. "
                "`openssl rand -hex 32` makes one."
            )
        if not secret and has_protocol(url, _OPEN):
            raise InputError(
                f"KOKORO_TVM_CACHE, {url}, is not encrypted: anyone on the way could hand over code that "
                "this machine then runs. Use https, or set KOKORO_TVM_CACHE_KEY to the key that its records "
                "were written with."
            )
        web = has_protocol(url, READ_ONLY)
        if web and wanted == "read-write":
            raise InputError(
                f"KOKORO_TVM_CACHE, {url}, is a web server and cannot be written to; set "
                "KOKORO_TVM_CACHE_MODE=read-only, or name a folder or bucket."
            )
        mode: Mode = "read-only" if web or wanted == "read-only" else "read-write"
        if reason := unreachable(url):
            raise InputError(f"KOKORO_TVM_CACHE, {url}, cannot be reached: {reason}.")
        return cls(url, mode, warn, secret.encode() or None)

    @property
    def is_signed(self) -> bool:
        """Whether its records have to carry an HMAC."""
        return self._secret is not None

    def record(self, key: str, files: Sequence[str]) -> StageRecord | None:
        """The record with this key, if it is of just these files; None if there is none."""

        stored = self._try(lambda system, root: _content(system, _record_path(root, key)), "read")
        if stored is None:
            return None
        try:
            found = _read_record(stored, self._secret)
        except ValueError as error:
            self._ignore(f"the record {key} is refused: {error}")
            return None
        if found.key != key or tuple(o.file for o in found.outputs) != tuple(files):
            self._ignore(f"the record {key} is of something else")
            return None
        return found

    def requested(self, request: str, files: Sequence[str]) -> Iterator[StageRecord]:
        """The records of a request that are of just these files, the latest first."""
        for key in reversed(self._keys(request)):
            if (found := self.record(key, files)) is not None:
                yield found

    def _keys(self, request: str) -> list[str]:
        stored = self._try(lambda system, root: _content(system, _request_path(root, request)), "read")
        return listed_keys(stored or b"")

    def try_out(self) -> None:
        """Reads from it, and writes a small file if it may be written to; warns if either fails."""
        self.record("0" * 64, ())  # which it cannot have: it only has to answer
        if self.mode != "read-write":
            return

        def write(system: AbstractFileSystem, root: str) -> bool:
            path = f"{root}/.try-{uuid4().hex}"
            system.makedirs(root, exist_ok=True)
            system.pipe_file(path, b"kokoro-tvm")
            system.rm_file(path)
            return True

        self._try(write, "written")

    def has(self, record: StageRecord) -> bool:
        """Whether every output of a record is there, by its size."""

        def look(system: AbstractFileSystem, root: str) -> bool:
            return all(_is_there(system, root, output) for output in record.outputs)

        return bool(self._try(look, "read"))

    def get(self, output: Output, path: Path) -> bool:
        """Writes an output to `path`; False if the cache does not have it as its record says."""

        def read(system: AbstractFileSystem, root: str) -> bool:
            portions = read_portions(system, _object_path(root, output.sha256), output.size)
            try:
                with path.open("wb") as file:
                    file.writelines(portions)
            except FileNotFoundError:  # the cache has none
                path.unlink(missing_ok=True)
            except TooLargeError:  # below, its digest is another one
                pass
            return True

        if not self._try(read, "read", output.size):
            path.unlink(missing_ok=True)
            return False
        if not path.exists():
            self._ignore(f"{output.sha256} is missing")
            return False
        if path.stat().st_size != output.size or file_sha256(path) != output.sha256:
            path.unlink()
            self._damaged.add(output.sha256)
            self._ignore(f"{output.sha256} does not hold what its name says")
            return False
        return True

    def offer(self, record: StageRecord, source: Callable[[Output], Path]) -> None:
        """Writes a record, after its outputs, if the cache may be written to; source: where an output is."""
        if self.mode != "read-write":
            return

        def write(system: AbstractFileSystem, root: str) -> bool:
            for output in record.outputs:
                if output.sha256 in self._damaged or not _is_there(system, root, output):
                    with whole_file(system, _object_path(root, output.sha256)) as partial:
                        system.put_file(str(source(output)), partial)
            with whole_file(system, _record_path(root, record.key)) as partial:
                system.pipe_file(partial, record.to_bytes(self._secret))
            if record.derivation.keys() >= {*USED}:
                # Of two that do this at once one is forgotten, and built again where it is needed.
                path = _request_path(root, record.request)
                listed = list_with(_content(system, path) or b"", record.key)
                with whole_file(system, path) as partial:
                    system.pipe_file(partial, listed)
            return True

        self._try(write, "written", record.size)

    def prune(self, keep: Collection[str], dry_run: bool = False) -> Pruned:
        """Removes every record whose key is not in `keep`, and every file that no kept record names.

        For a cache that nobody else writes to meanwhile: a file is there before its record. Raises InputError
        if the cache is only read, BuildError if it cannot be read or written.
        """
        if self.mode != "read-write":
            raise InputError(f"the cache {self.url} is only read; whoever writes to it can prune it.")
        system, root = self._open()
        try:
            kinds = ("records", "objects", "requests")
            records, objects, requests = (_files_in(system, f"{root}/{kind}") for kind in kinds)
            used: set[str] = set()
            for path in list(records):
                with suppress(ValueError):  # what is no record goes, too
                    found = _read_record(_content(system, path) or b"", self._secret)
                    if found.key in keep and path.endswith(f"/{found.key}.json"):
                        used |= {output.sha256 for output in found.outputs}
                        del records[path]
            unused = {path: info for path, info in objects.items() if path.rpartition("/")[2] not in used}
            for path in [] if dry_run else [*records, *unused]:
                system.rm_file(path)
            for path in [] if dry_run else requests:
                if not {*self._keys(path.rpartition("/")[2])} & {*keep}:
                    system.rm_file(path)
        except Exception as error:  # whatever a library for some protocol raises
            raise BuildError(
                f"the cache {self.url} cannot be pruned ({type(error).__name__}: {error}); try again, or "
                "delete it"
            ) from error
        freed = sum(int(info["size"]) for info in (*records.values(), *unused.values()))
        return Pruned(len(records), len(unused), freed)

    def _open(self) -> tuple[AbstractFileSystem, str]:
        with self._lock:
            if self._opened is None:
                self._opened = open_folder(self.url)
            return self._opened

    def _try(self, action: Callable[[AbstractFileSystem, str], T], done: str, size: int = 0) -> T | None:
        """The result of `action` on the cache's file system and folder; None, with a warning, if it fails or
        takes too long for `size` bytes."""
        if self._left:
            return None
        results: list[T] = []
        errors: list[Exception] = []

        def run() -> None:
            try:
                results.append(action(*self._open()))
            except Exception as error:  # whatever a library for some protocol raises: see below
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

    def _ignore(self, reason: str) -> None:
        """Warns of what is not used."""
        if not self._left:
            self._warn(f"note: of the cache {self.url}, {reason}; it is not used.")

    def _leave(self, reason: str) -> None:
        """Stops using the cache; warns the first time."""
        with self._lock:
            already, self._left = self._left, True
        if not already:
            self._warn(f"note: the cache {self.url} is not used for the rest of this run: {reason}.")


def _content(system: AbstractFileSystem, path: str) -> bytes | None:
    """Of a record or a list; None where there is none. Raises TooLargeError."""
    try:
        return b"".join(read_portions(system, path, _LARGEST_RECORD))
    except FileNotFoundError:
        return None


def _read_record(stored: bytes, secret: bytes | None) -> StageRecord:
    """A record that is what `StageRecord` says, whoever wrote it. Raises ValueError."""
    try:
        record = StageRecord.from_bytes(stored, secret)
    except (RecursionError, OverflowError) as error:
        raise ValueError(f"not a record: {error}") from error
    numbers = (record.seconds, record.cpu_seconds, record.finished)
    typed = isinstance(record.derivation, dict) and all(isinstance(n, (int, float)) for n in numbers)
    if not typed or not all(
        isinstance(o.file, str) and type(o.size) is int and o.size >= 0 and isinstance(o.sha256, str)
        for o in record.outputs
    ):
        raise ValueError("not a record: a field of it is of another type")
    return record


def _files_in(system: AbstractFileSystem, folder: str) -> dict[str, Any]:
    """Every file below a folder, with its `size`; none where there is no such folder."""
    return dict(system.find(folder, detail=True)) if system.exists(folder) else {}


def _is_there(system: AbstractFileSystem, root: str, output: Output) -> bool:
    """Whether the object of an output is there, by its size."""
    path = _object_path(root, output.sha256)
    return bool(system.exists(path) and system.info(path)["size"] == output.size)


def _object_path(root: str, sha256: str) -> str:
    return f"{root}/objects/{sha256[:2]}/{sha256}"


def _request_path(root: str, request: str) -> str:
    return f"{root}/requests/{request[:2]}/{request}"


def _record_path(root: str, key: str) -> str:
    return f"{root}/records/{key[:2]}/{key}.json"
