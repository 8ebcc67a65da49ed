"""Content-addressed store of outputs, with a record for each stage that ran.

    objects/aa/SHA256      a file, read-only, never written to again
    records/aa/KEY.json    the record of a stage (KEY: digest of its derivation)
    stages/NAME            keys of a stage's records, one a line; the last one is current
    requests/aa/REQUEST    keys of the records of a request (the part of a derivation known before the run)
    work/                  temporary folders of running stages
    locks/                 locks of keys
    verified.json          digests of files that were read; learned.json: the same for code and tools

Objects and records are renamed to their names after their content is on the disk, so each is complete or
absent. Outputs are visible in folders outside the store as hard links to the objects, or as copies if the
file system has no links.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from kokoro_tvm.builder.engine import durable
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.durable import translate_write_errors
from kokoro_tvm.builder.engine.memory import Memory, stamps
from kokoro_tvm.builder.engine.record import USED, Output, StageRecord, add_key, parse_keys

WHOLE = "store"
"""Name of the lock that is held while anything is published, restored or collected."""

_BEAT_S = 10.0
_READ_ONLY = 0o444


@dataclass(frozen=True)
class Damage:
    """Output that differs from its record. missing: whether the file is gone."""

    path: Path
    output: Output
    missing: bool


class Store:
    """Store in a folder. Threads and processes may share it.

    Methods that write raise BuildError with the path and the remedy; nothing is published then.

    Args:
        root: The folder, which need not exist.
        paranoid: Read files again even if they look unchanged.
        cache: Shared cache.
        snapshot: Read the record of each stage only once, for programs that build nothing.
    """

    def __init__(
        self, root: Path, paranoid: bool = False, cache: Cache | None = None, snapshot: bool = False
    ) -> None:
        self.root = root
        self.paranoid = paranoid
        self.cache = cache
        self.verified = Memory(root / "verified.json", trust=not paranoid)
        self._records: dict[str, tuple[tuple[int, ...], StageRecord | None]] = {}
        self._expected: dict[str, StageRecord] = {}
        self._currents: dict[str, StageRecord | None] | None = {} if snapshot else None

    # Reading

    def record(self, key: str) -> StageRecord | None:
        """Return the record with this key; None if there is none or it is damaged."""
        path = self._record_path(key)
        now, (before, record) = stamps(path), self._records.get(key, ((), None))
        if now != before:
            record = read_record(path, key)
            self._records[key] = (now, record)
        return record

    def records(self) -> Iterator[StageRecord]:
        """Return all records that are not damaged."""
        paths = sorted((self.root / "records").glob("*/*.json"))
        return (record for path in paths if (record := read_record(path, path.stem)) is not None)

    def stages(self) -> list[str]:
        """Return the names of all stages that were ever built or restored here."""
        return sorted(path.name for path in (self.root / "stages").glob("[!.]*"))

    def history(self, stage: str) -> list[StageRecord]:
        """Return the records that were current for a stage and still exist, the latest last."""
        return [r for r in map(self.record, read_keys(self.root / "stages" / stage)) if r is not None]

    def find_requested(self, request: str) -> list[StageRecord]:
        """Return the records of a request that still exist, the latest last."""
        return [r for r in map(self.record, read_keys(self._request_path(request))) if r is not None]

    def current(self, stage: str) -> StageRecord | None:
        """Return the record of a stage's visible outputs; None if there is none."""
        if stage in self._expected:
            return self._expected[stage]
        if self._currents is not None and stage in self._currents:
            return self._currents[stage]
        keys = read_keys(self.root / "stages" / stage)
        record = self.record(keys[-1]) if keys else None
        if self._currents is not None:
            self._currents[stage] = record
        return record

    @contextmanager
    def expect_records(self) -> Iterator[dict[str, StageRecord]]:
        """Pretend that stages have the records that the caller puts into the result, by name.

        So the states of stages after one that will be restored can be predicted.
        """
        try:
            yield self._expected
        finally:
            self._expected.clear()

    def read(self, output: Output, path: Path) -> bytes | None:
        """Return the content of an output from `path`, the store or its cache; None if none has it intact.

        Nothing is added to the store.
        """
        for candidate in (path, self.object(output.sha256)):
            if self.verified.is_intact(candidate, output.size, output.sha256):
                return candidate.read_bytes()
        if self.cache is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "output")
            return copy.read_bytes() if self.cache.get(output, copy) else None

    def object(self, sha256: str) -> Path:
        """Return the path of the object with this digest."""
        return self.root / "objects" / sha256[:2] / sha256

    def holds(self, output: Output) -> bool:
        """Return whether the object of an output is in the store, and intact."""
        return self.verified.is_intact(self.object(output.sha256), output.size, output.sha256)

    def has(self, record: StageRecord, folder: Path) -> bool:
        """Return whether `restore` would succeed."""
        return all(self.holds(damage.output) for damage in self.verify(record, folder))

    def verify(self, record: StageRecord, folder: Path) -> tuple[Damage, ...]:
        """Return the outputs of a record that are missing or damaged in `folder`; save new digests."""
        damage = [
            Damage(folder / o.file, o, missing=not (folder / o.file).exists())
            for o in record.outputs
            if not self.verified.is_intact(folder / o.file, o.size, o.sha256)
        ]
        self.verified.save()
        return tuple(damage)

    def audit(self) -> Iterator[tuple[Path, str]]:
        """Yield the path of every record and object, and what is wrong with it ("" for nothing).

        New digests are saved at the end.
        """
        for path in sorted((self.root / "records").glob("*/*.json")):
            yield path, "" if read_record(path, path.stem) else "is no record, or was changed"
        for path in sorted((self.root / "objects").glob("*/*")):
            intact = self.verified.is_intact(path, path.stat().st_size, path.name)
            yield path, "" if intact else "holds something else than was written"
        self.verified.save()

    # Writing

    @contextmanager
    def lock(self, key: str, beat: Callable[[float], None] = lambda elapsed: None) -> Iterator[None]:
        """Hold the lock of a key. beat: called every 10 s with the seconds waited."""
        path = self.root / "locks" / key
        durable.make_folder(path.parent)
        lock, began = FileLock(path, thread_local=False), time.monotonic()
        while True:
            with translate_write_errors(path), suppress(Timeout):  # an OSError, too
                lock.acquire(timeout=_BEAT_S)
                break
            beat(time.monotonic() - began)
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def workspace(self, key: str) -> Iterator[Path]:
        """Create an empty folder for the holder of the key's lock, and remove it afterwards.

        Folders that killed builds left are removed, too.
        """
        work = self.root / "work"
        durable.make_folder(work)
        for stale in [*work.glob(f"{key}-*"), *work.glob(f".{key}-*")]:
            shutil.rmtree(stale, ignore_errors=True)
        sweep(self.root)
        with translate_write_errors(work):
            folder = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=work))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def fetch(self, record: StageRecord, lock: str) -> bool:
        """Copy a record and its outputs from the cache; return False on a cache miss.

        The caller holds `lock`.
        """
        assert self.cache is not None
        with self.workspace(lock) as folder:
            for output in record.outputs:
                path = folder / output.file
                if self.holds(output):
                    continue
                if not self.cache.get(output, path):
                    return False
                with translate_write_errors(path):
                    path.chmod(_READ_ONLY)
                    durable.sync(path)
            self.add(record, lambda output: folder / output.file)
        return True

    def publish(
        self,
        stage: str,
        derivation: Mapping[str, Any],
        folder: Path,
        files: Sequence[str],
        seconds: float,
        cpu_seconds: float,
    ) -> StageRecord:
        """Move the files that a stage wrote from `folder` to the store, write the record, and return it."""
        outputs = []
        for file in files:
            path = folder / file
            with translate_write_errors(path):
                if path.stat().st_mode & 0o777 != _READ_ONLY:
                    path.chmod(_READ_ONLY)
                durable.sync(path)
                outputs.append(Output(file, path.stat().st_size, self.verified.sha256(path)))
        times = round(float(seconds), 3), round(float(cpu_seconds), 3), time.time()
        record = StageRecord(stage, derivation, tuple(outputs), *times)
        self.add(record, lambda output: folder / output.file)
        self.offer(record)
        return record

    def offer(self, record: StageRecord) -> None:
        """Write a record of this store and its outputs to the cache, if there is one; see `Cache.offer`."""
        if self.cache is not None:
            self.cache.offer(record, lambda output: self.object(output.sha256))

    def add(self, record: StageRecord, source: Callable[[Output], Path]) -> None:
        """Add a record and move its outputs to the store.

        source: path of an output, which is verified and on the store's file system.
        """
        with self.lock(WHOLE):
            for output in record.outputs:
                if self.holds(output):
                    continue
                path = self.object(output.sha256)
                with translate_write_errors(path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    source(output).replace(path)
                    durable.sync_folder(path.parent)
                    self.verified.note({path: output.sha256}, settle=False)
            if record.derivation.keys() >= {*USED}:
                # Before the record, so that no record is unlisted if the build is killed in between.
                _append_key(self._request_path(record.request), record.key)
            durable.write(self._record_path(record.key), record.to_bytes())

    def restore(self, record: StageRecord, folder: Path, stage: str = "") -> bool:
        """Restore a record's outputs in `folder`; return False if the store lacks one of them.

        The last output is the manifest of the others: it is absent while one of them is replaced.

        Args:
            record: The record.
            folder: Folder of the outputs.
            stage: Stage that the folder belongs to: files of its earlier records are removed, and the record
                becomes its current one.
        """
        damaged = self.verify(record, folder)
        if not all(self.holds(d.output) for d in damaged):
            return False
        former = {o.file for r in self.history(stage) for o in r.outputs} if stage else set()
        with self.lock(WHOLE):
            if damaged and not self._place_outputs(damaged, record, folder):
                return False
            for file in former - {o.file for o in record.outputs}:
                with translate_write_errors(folder / file):
                    (folder / file).unlink(missing_ok=True)
            if stage:
                _append_key(self.root / "stages" / stage, record.key)
        if damaged:
            with translate_write_errors(folder):
                self.verified.note({folder / o.file: o.sha256 for o in record.outputs})
            self.verified.save()
        return True

    def repair(self, path: Path, copies: Iterable[Path]) -> str:
        """Replace a damaged object by an intact copy, or remove a damaged object or record.

        Args:
            path: The object or record.
            copies: Files that may have the content of the object.

        Returns:
            "restored" or "removed".
        """
        with self.lock(WHOLE), translate_write_errors(path):
            partial = self.root / "work" / "repaired"
            durable.make_folder(partial.parent)
            partial.unlink(missing_ok=True)
            if path.parent.parent == self.root / "objects":
                for copy in copies:
                    if copy.is_file() and self.verified.is_intact(copy, copy.stat().st_size, path.name):
                        durable.link(copy, partial)
                        partial.replace(path)
                        return "restored"
            path.unlink()
            return "removed"

    def _place_outputs(self, damaged: Sequence[Damage], record: StageRecord, folder: Path) -> bool:
        """Replace damaged outputs, the manifest last; return False if an object was removed meanwhile."""
        partial = self.root / "work" / "link"
        durable.make_folder(partial.parent)
        manifest = record.outputs[-1]
        with translate_write_errors(folder / manifest.file):
            (folder / manifest.file).unlink(missing_ok=True)
        for output in [*(d.output for d in damaged if d.output != manifest), manifest]:
            source, path = self.object(output.sha256), folder / output.file
            with translate_write_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                partial.unlink(missing_ok=True)
                try:
                    durable.link(source, partial)
                except FileNotFoundError:
                    return False
                partial.replace(path)
        return True

    def _request_path(self, request: str) -> Path:
        return self.root / "requests" / request[:2] / request

    def _record_path(self, key: str) -> Path:
        return self.root / "records" / key[:2] / f"{key}.json"


def read_keys(path: Path) -> list[str]:
    """Read a list of keys; [] if there is none or it is damaged, so that what it lists is built again."""
    return parse_keys(_read_content(path))


def _read_content(path: Path) -> bytes:
    """Return the content of a file; b"" if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _append_key(path: Path, key: str) -> None:
    """Write a key as the last one of a list of keys. Raises BuildError if that fails."""
    if read_keys(path)[-1:] != [key]:
        durable.write(path, add_key(_read_content(path), key))


def read_record(path: Path, key: str) -> StageRecord | None:
    """Return the record at `path`; None if there is none, it is damaged or has another key."""
    try:
        record = StageRecord.from_bytes(path.read_bytes())
    except (OSError, ValueError):
        return None
    return record if record.key == key else None


def sweep(root: Path, dry_run: bool = False) -> tuple[int, int]:
    """Remove abandoned temporary folders of a store; return how many, and their bytes."""
    count = freed = 0
    for folder in (root / "work").glob("*-*"):
        key = folder.name.lstrip(".").partition("-")[0]  # a stage may put folders with a dot beside its own
        lock = FileLock(root / "locks" / key, thread_local=False)
        with suppress(Timeout, OSError), lock.acquire(blocking=False):
            freed += sum(p.lstat().st_size for p in folder.rglob("*") if p.is_file())
            if not dry_run:
                shutil.rmtree(folder)
            count += 1
    return count, freed
