"""Shared cache: outputs that one machine built, and others restore.

    URL/objects/aa/SHA256      a file
    URL/records/aa/KEY.json    the record of a stage with this key
    URL/requests/aa/REQUEST    keys of the latest records of a request, one a line

The URL is whatever fsspec reads: a folder, a web server, a bucket. A record is used only if its digest and
key match, and a file only if its size and SHA-256 match its record; both go into the store before anything
reads them. That detects damage, not fraud. With a secret, records carry an HMAC (`StageRecord.to_bytes`), and
a record without it is refused.

Whatever is damaged, missing or refused causes a warning, and is written again once it is built. A cache that
fails or stalls causes one warning and is not used for the rest of the run.
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

from kokoro_tvm.builder.engine.record import USED, Output, StageRecord, add_key, parse_keys
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError, InputError
from kokoro_tvm.common.remote import (
    READ_ONLY,
    TooLargeError,
    has_protocol,
    missing_library,
    open_folder,
    read_portions,
    whole_file,
)

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Mode = Literal["read-only", "read-write", "off"]

_UNENCRYPTED = ("http", "ftp")
_MIN_SECRET_CHARACTERS = 16  # a record lets anyone test guesses
_MAX_RECORD_BYTES = 16 << 20
_TIMEOUT_S = 20.0
_MIN_BYTES_PER_S = 500_000

T = TypeVar("T")


@dataclass(frozen=True)
class Pruned:
    """Numbers of records and objects that `prune` removed, and their bytes."""

    records: int
    objects: int
    bytes: int


class Cache:
    """Shared cache. Threads may share it.

    Args:
        url: Its folder.
        mode: Whether it is read, or read and written.
        warn: Called with a reason if a part of the cache, or all of it, is not used.
        secret: Key of the records' HMACs; None: HMACs are neither written nor checked.
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
        self._failed = False
        self._damaged: set[str] = set()  # digests of objects

    @classmethod
    def from_environment(
        cls, warn: Callable[[str], None], environ: Mapping[str, str] = os.environ
    ) -> Cache | None:
        """Return the cache at KOKORO_TVM_CACHE, or None if that is not set.

        KOKORO_TVM_CACHE_MODE is its mode: by default it is read and written, and a web server is only read.
        KOKORO_TVM_CACHE_KEY is the secret of its records' HMACs.

        Raises:
            InputError: Unknown mode or protocol, a short secret, or http without a secret.
        """
        url = environ.get("KOKORO_TVM_CACHE", "")
        mode_name = environ.get("KOKORO_TVM_CACHE_MODE", "")
        secret = environ.get("KOKORO_TVM_CACHE_KEY", "")
        if mode_name and mode_name not in get_args(Mode):
            raise InputError(
                f"KOKORO_TVM_CACHE_MODE is {mode_name!r}; it can be {', '.join(get_args(Mode))}."
            )
        if not url or mode_name == "off":
            return None
        if secret and len(secret) < _MIN_SECRET_CHARACTERS:
            raise InputError(
                f"KOKORO_TVM_CACHE_KEY has {len(secret)} characters; it needs at least "
                f"{_MIN_SECRET_CHARACTERS}. `openssl rand -hex 32` makes one."
            )
        if not secret and has_protocol(url, _UNENCRYPTED):
            raise InputError(
                f"KOKORO_TVM_CACHE, {url}, is not encrypted: anyone on the way could hand over code that "
                "this machine then runs. Use https, or set KOKORO_TVM_CACHE_KEY to the key that its records "
                "were written with."
            )
        web = has_protocol(url, READ_ONLY)
        if web and mode_name == "read-write":
            raise InputError(
                f"KOKORO_TVM_CACHE, {url}, is a web server and cannot be written to; set "
                "KOKORO_TVM_CACHE_MODE=read-only, or name a folder or bucket."
            )
        mode: Mode = "read-only" if web or mode_name == "read-only" else "read-write"
        if reason := missing_library(url):
            raise InputError(f"KOKORO_TVM_CACHE, {url}, cannot be reached: {reason}.")
        return cls(url, mode, warn, secret.encode() or None)

    @property
    def is_signed(self) -> bool:
        """Whether records must have an HMAC."""
        return self._secret is not None

    def record(self, key: str, files: Sequence[str]) -> StageRecord | None:
        """Return the record with this key and these output files.

        None if there is none or, with a warning, if it is refused or the cache fails.
        """
        stored = self._try(lambda system, root: _read_content(system, _record_path(root, key)), "read")
        if stored is None:
            return None
        try:
            record = StageRecord.from_bytes(stored, self._secret)
        except ValueError as error:
            self._warn_ignored(f"the record {key} is refused: {error}")
            return None
        if record.key != key or tuple(o.file for o in record.outputs) != tuple(files):
            self._warn_ignored(f"the record {key} is of something else")
            return None
        return record

    def find_requested(self, request: str, files: Sequence[str]) -> Iterator[StageRecord]:
        """Yield the records of a request with these output files, the latest first."""
        for key in reversed(self._list_keys(request)):
            if (record := self.record(key, files)) is not None:
                yield record

    def _list_keys(self, request: str) -> list[str]:
        """Return the keys of a request's records; none if there is no list or it cannot be read."""
        stored = self._try(lambda system, root: _read_content(system, _request_path(root, request)), "read")
        return parse_keys(stored or b"")

    def try_out(self) -> None:
        """Read from it and, if the mode allows, write a small file. Warns if that fails."""
        self.record("0" * 64, ())  # a miss is an answer, too
        if self.mode != "read-write":
            return

        def write(system: AbstractFileSystem, root: str) -> bool:
            """Write and remove a small file."""
            path = f"{root}/.try-{uuid4().hex}"
            system.makedirs(root, exist_ok=True)
            system.pipe_file(path, b"kokoro-tvm")
            system.rm_file(path)
            return True

        self._try(write, "written")

    def has(self, record: StageRecord) -> bool:
        """Return whether the cache has every output, by size; False, with a warning, if the cache fails."""

        def look(system: AbstractFileSystem, root: str) -> bool:
            """Return whether all outputs are there."""
            return all(_has_object(system, root, output) for output in record.outputs)

        return bool(self._try(look, "read"))

    def get(self, output: Output, path: Path) -> bool:
        """Write an output to `path`.

        Returns False, with a warning and without a file, if it is missing or damaged or the cache fails.
        """

        def read(system: AbstractFileSystem, root: str) -> bool:
            """Write the output to `path`; remove a file that is cut short by a miss."""
            portions = read_portions(system, _object_path(root, output.sha256), output.size)
            try:
                with path.open("wb") as file:
                    file.writelines(portions)
            except FileNotFoundError:  # a miss
                path.unlink(missing_ok=True)
            except TooLargeError:  # its digest differs, below
                pass
            return True

        if not self._try(read, "read", output.size):
            path.unlink(missing_ok=True)
            return False
        if not path.exists():
            self._warn_ignored(f"{output.sha256} is missing")
            return False
        if path.stat().st_size != output.size or file_sha256(path) != output.sha256:
            path.unlink()
            self._damaged.add(output.sha256)
            self._warn_ignored(f"{output.sha256} does not hold what its name says")
            return False
        return True

    def offer(self, record: StageRecord, source: Callable[[Output], Path]) -> None:
        """Write a record, after its outputs, if the mode allows; a failure is only a warning.

        source: returns the path of an output.
        """
        if self.mode != "read-write":
            return

        def write(system: AbstractFileSystem, root: str) -> bool:
            """Write missing objects, then the record, then its key in the list of its request."""
            for output in record.outputs:
                if output.sha256 in self._damaged or not _has_object(system, root, output):
                    with whole_file(system, _object_path(root, output.sha256)) as partial:
                        system.put_file(str(source(output)), partial)
            with whole_file(system, _record_path(root, record.key)) as partial:
                system.pipe_file(partial, record.to_bytes(self._secret))
            if record.derivation.keys() >= {*USED}:
                # If two builds do this at once, one key is lost, and built again when it is needed.
                path = _request_path(root, record.request)
                keys = add_key(_read_content(system, path) or b"", record.key)
                with whole_file(system, path) as partial:
                    system.pipe_file(partial, keys)
            return True

        self._try(write, "written", record.size)

    def prune(self, keep: Collection[str], dry_run: bool = False) -> Pruned:
        """Remove records whose key is not in `keep`, and objects that no remaining record names.

        Nobody else may write to the cache meanwhile, because objects are written before their record.

        Raises:
            InputError: The cache is read-only.
            BuildError: It cannot be read or written.
        """
        if self.mode != "read-write":
            raise InputError(f"the cache {self.url} is only read; whoever writes to it can prune it.")
        system, root = self._open()
        try:
            kinds = ("records", "objects", "requests")
            records, objects, requests = (_list_files(system, f"{root}/{kind}") for kind in kinds)
            used: set[str] = set()
            for path in list(records):
                with suppress(ValueError):  # damaged records are removed, too
                    record = StageRecord.from_bytes(_read_content(system, path) or b"", self._secret)
                    if record.key in keep and path.endswith(f"/{record.key}.json"):
                        used |= {output.sha256 for output in record.outputs}
                        del records[path]
            unused = {path: info for path, info in objects.items() if path.rpartition("/")[2] not in used}
            for path in [] if dry_run else [*records, *unused]:
                system.rm_file(path)
            for path in [] if dry_run else requests:
                if not {*self._list_keys(path.rpartition("/")[2])} & {*keep}:
                    system.rm_file(path)
        except Exception as error:  # whatever a library for some protocol raises
            raise BuildError(
                f"the cache {self.url} cannot be pruned ({type(error).__name__}: {error}); try again, or "
                "delete it"
            ) from error
        freed = sum(int(info["size"]) for info in (*records.values(), *unused.values()))
        return Pruned(len(records), len(unused), freed)

    def _open(self) -> tuple[AbstractFileSystem, str]:
        """Return file system and folder of the cache, opened once."""
        with self._lock:
            if self._opened is None:
                self._opened = open_folder(self.url)
            return self._opened

    def _try(self, action: Callable[[AbstractFileSystem, str], T], verb: str, size: int = 0) -> T | None:
        """Call `action` with the cache's file system and folder; return None, with a warning, if that fails.

        It also fails if it takes too long for `size` bytes. The warning says that the cache cannot be
        `verb`: "read" or "written".
        """
        if self._failed:
            return None
        results: list[T] = []
        errors: list[Exception] = []

        def run() -> None:
            """Call `action`, and keep its result or error."""
            try:
                results.append(action(*self._open()))
            except Exception as error:  # whatever a library for some protocol raises: see below
                errors.append(error)

        timeout_s = _TIMEOUT_S + size / _MIN_BYTES_PER_S
        thread = threading.Thread(target=run, daemon=True)  # a stalled thread must not keep the build alive
        thread.start()
        thread.join(timeout_s)
        if results:
            return results[0]
        for error in errors:
            self._stop_using(f"it cannot be {verb} ({type(error).__name__}: {error})")
        if not errors:
            self._stop_using(f"it did not answer within {timeout_s:.0f} s")
        return None

    def _warn_ignored(self, reason: str) -> None:
        """Warn that the cache has something unusable, unless it is not used any more."""
        if not self._failed:
            self._warn(f"note: of the cache {self.url}, {reason}; it is not used.")

    def _stop_using(self, reason: str) -> None:
        """Warn once, and do not use the cache any more."""
        with self._lock:
            already, self._failed = self._failed, True
        if not already:
            self._warn(f"note: the cache {self.url} is not used for the rest of this run: {reason}.")


def _read_content(system: AbstractFileSystem, path: str) -> bytes | None:
    """Return the content of a record or list; None if there is none. Raises TooLargeError above 16 MiB."""
    try:
        return b"".join(read_portions(system, path, _MAX_RECORD_BYTES))
    except FileNotFoundError:
        return None


def _list_files(system: AbstractFileSystem, folder: str) -> dict[str, Any]:
    """Return the files below a folder, with `size` among their details; {} if there is no folder."""
    return dict(system.find(folder, detail=True)) if system.exists(folder) else {}


def _has_object(system: AbstractFileSystem, root: str, output: Output) -> bool:
    """Return whether the cache has an output's object, by its size."""
    path = _object_path(root, output.sha256)
    return bool(system.exists(path) and system.info(path)["size"] == output.size)


def _object_path(root: str, sha256: str) -> str:
    return f"{root}/objects/{sha256[:2]}/{sha256}"


def _request_path(root: str, request: str) -> str:
    return f"{root}/requests/{request[:2]}/{request}"


def _record_path(root: str, key: str) -> str:
    return f"{root}/records/{key[:2]}/{key}.json"
