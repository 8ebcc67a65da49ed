"""The store: every output of every stage by what it holds, every finished stage by what it was made of.

    objects/aa/SHA256      a file, read-only, never written to again
    records/aa/KEY.json    what a stage of this derivation wrote (KEY: digest of the derivation)
    stages/NAME            keys of a stage's records, one a line, the last one being current
    requests/aa/REQUEST    keys of the records of a request: what is known of a derivation before it runs
    work/                  temporary folders of stages that run
    locks/                 who works on a key
    verified.json          which files were read and what they held; learned.json: the same of code and tools

An object is complete when it has its name, a stage is finished when it has its record: both get there by
renaming, after all they consist of is on the disk. What a stage wrote is seen in folders outside the store as
further names (hard links) of the objects; where a file system has no links, as copies. Only digests decide.
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
from kokoro_tvm.builder.engine.durable import storing
from kokoro_tvm.builder.engine.memory import Memory, stamps
from kokoro_tvm.builder.engine.record import USED, Output, StageRecord, list_with, listed_keys

__all__ = ["WHOLE", "Damage", "Store", "read_keys", "read_record", "sweep"]

WHOLE = "store"
"""In the place of a key, what is locked while anything is published, restored or collected."""

_BEAT = 10.0  # seconds between signs of life of one that waits
_READ_ONLY = 0o444


@dataclass(frozen=True)
class Damage:
    """An output that is not what its record says: it is `missing`, or it holds something else."""

    path: Path
    output: Output
    missing: bool


class Store:
    """A store in the folder `root`, which need not exist. Threads and processes may share it.

    paranoid: whether files are read again even if they look unchanged. cache: where what is not here is
    looked for, and what is published is offered. Whatever writes raises BuildError with the path and what to
    do about it; nothing is published then.
    """

    def __init__(self, root: Path, paranoid: bool = False, cache: Cache | None = None) -> None:
        self.root = root
        self.paranoid = paranoid
        self.cache = cache
        self.verified = Memory(root / "verified.json", trust=not paranoid)
        self._read: dict[str, tuple[tuple[int, ...], StageRecord | None]] = {}
        self._expected: dict[str, StageRecord] = {}

    # Reading

    def record(self, key: str) -> StageRecord | None:
        """The record of this derivation; None where there is none that is whole."""
        path = self._record_path(key)
        now, (before, found) = stamps(path), self._read.get(key, ((), None))
        if now != before:
            found = read_record(path, key)
            self._read[key] = (now, found)
        return found

    def records(self) -> Iterator[StageRecord]:
        """All records that are whole."""
        paths = sorted((self.root / "records").glob("*/*.json"))
        return (found for path in paths if (found := read_record(path, path.stem)) is not None)

    def stages(self) -> list[str]:
        """Names of all stages that were ever built or restored here."""
        return sorted(path.name for path in (self.root / "stages").glob("[!.]*"))

    def history(self, stage: str) -> list[StageRecord]:
        """Records that were current for a stage, the latest last; those that are gone are left out."""
        return [r for r in map(self.record, read_keys(self.root / "stages" / stage)) if r is not None]

    def requested(self, request: str) -> list[StageRecord]:
        """Records of a request, the latest last; those that are gone are left out."""
        return [r for r in map(self.record, read_keys(self._request_path(request))) if r is not None]

    def current(self, stage: str) -> StageRecord | None:
        """The record a stage's visible outputs are of; None where it was never built, or that is unknown."""
        if stage in self._expected:
            return self._expected[stage]
        keys = read_keys(self.root / "stages" / stage)
        return self.record(keys[-1]) if keys else None

    @contextmanager
    def expecting(self) -> Iterator[dict[str, StageRecord]]:
        """While entered, stages count as having the records that are put into the result, by name: so what
        comes after a stage that will be restored is looked ahead to."""
        try:
            yield self._expected
        finally:
            self._expected.clear()

    def read(self, output: Output, path: Path) -> bytes | None:
        """What an output holds, as `path`, the store or its cache has it; None where none has it intact."""
        for place in (path, self.object(output.sha256)):
            if self.verified.is_intact(place, output.size, output.sha256):
                return place.read_bytes()
        if self.cache is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "output")
            return copy.read_bytes() if self.cache.get(output, copy) else None

    def object(self, sha256: str) -> Path:
        """Where the object with this digest is, or would be."""
        return self.root / "objects" / sha256[:2] / sha256

    def holds(self, output: Output) -> bool:
        """Whether the object of an output is there, and intact."""
        return self.verified.is_intact(self.object(output.sha256), output.size, output.sha256)

    def has(self, record: StageRecord, folder: Path) -> bool:
        """Whether `restore` would bring the folder to hold a record's outputs."""
        return all(self.holds(damage.output) for damage in self.verify(record, folder))

    def verify(self, record: StageRecord, folder: Path) -> tuple[Damage, ...]:
        """Which of a record's outputs are not in `folder` as they were written."""
        bad = [
            Damage(folder / o.file, o, missing=not (folder / o.file).exists())
            for o in record.outputs
            if not self.verified.is_intact(folder / o.file, o.size, o.sha256)
        ]
        self.verified.save()
        return tuple(bad)

    def audit(self) -> Iterator[tuple[Path, str]]:
        """Every record and every object, and what is wrong with it ("" for nothing)."""
        for path in sorted((self.root / "records").glob("*/*.json")):
            yield path, "" if read_record(path, path.stem) else "is no record, or was changed"
        for path in sorted((self.root / "objects").glob("*/*")):
            intact = self.verified.is_intact(path, path.stat().st_size, path.name)
            yield path, "" if intact else "holds something else than was written"
        self.verified.save()

    # Writing

    @contextmanager
    def lock(self, key: str, beat: Callable[[float], None] = lambda elapsed: None) -> Iterator[None]:
        """Holds the lock of a key against all threads and processes; beat: called with the seconds waited."""
        path = self.root / "locks" / key
        durable.make_folder(path.parent)
        lock, began = FileLock(path, thread_local=False), time.monotonic()
        while True:
            with storing(path), suppress(Timeout):  # an OSError, too
                lock.acquire(timeout=_BEAT)
                break
            beat(time.monotonic() - began)
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def workspace(self, key: str) -> Iterator[Path]:
        """An empty folder for who holds the key's lock, gone afterwards; what killed ones left goes, too."""
        work = self.root / "work"
        durable.make_folder(work)
        for stale in [*work.glob(f"{key}-*"), *work.glob(f".{key}-*")]:
            shutil.rmtree(stale, ignore_errors=True)
        sweep(self.root)
        with storing(work):
            folder = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=work))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def fetch(self, record: StageRecord, lock: str) -> bool:
        """Takes a record of the cache over, with its outputs, for who holds the lock; False where the cache
        lacks one of them."""
        assert self.cache is not None
        with self.workspace(lock) as folder:
            for output in record.outputs:
                path = folder / output.file
                if self.holds(output):
                    continue
                if not self.cache.get(output, path):
                    return False
                with storing(path):
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
        """Takes the files a stage wrote out of `folder` into the store and writes the record, last."""
        outputs = []
        for file in files:
            path = folder / file
            with storing(path):
                if path.stat().st_mode & 0o777 != _READ_ONLY:
                    path.chmod(_READ_ONLY)
                durable.sync(path)
                outputs.append(Output(file, path.stat().st_size, self.verified.sha256(path)))
        record = StageRecord(
            stage, derivation, tuple(outputs), round(seconds, 3), round(cpu_seconds, 3), time.time()
        )
        self.add(record, lambda output: folder / output.file)
        self.offer(record)
        return record

    def offer(self, record: StageRecord) -> None:
        """Puts a record of this store, and its outputs, into the cache, if there is one to be written to."""
        if self.cache is not None:
            self.cache.offer(record, lambda output: self.object(output.sha256))

    def add(self, record: StageRecord, source: Callable[[Output], Path]) -> None:
        """Takes a record in, whose outputs are where `source` says, verified and on the store's file system.

        The files are moved.
        """
        with self.lock(WHOLE):
            for output in record.outputs:
                if self.holds(output):
                    continue
                path = self.object(output.sha256)
                with storing(path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    source(output).replace(path)
                    durable.sync_folder(path.parent)
                    self.verified.note({path: output.sha256}, settle=False)
            if record.derivation.keys() >= {*USED}:
                # Before the record, which nobody would find otherwise if this is killed between the two.
                _note(self._request_path(record.request), record.key)
            durable.write(self._record_path(record.key), record.to_bytes())

    def restore(self, record: StageRecord, folder: Path, stage: str = "") -> bool:
        """Brings `folder` to hold a record's outputs; False where the store does not hold all it takes.

        stage: whose folder it is; files of its earlier records go, and this one becomes its current one. The
        last output counts as the manifest of the others: while one of them is replaced, it is not there.
        """
        damaged = self.verify(record, folder)
        lost = [d.output for d in damaged if not self.holds(d.output)]
        if lost:
            return False
        former = {o.file for r in self.history(stage) for o in r.outputs} if stage else set()
        try:
            with self.lock(WHOLE):
                if damaged:
                    self._place(damaged, record, folder)
                for file in former - {o.file for o in record.outputs}:
                    with storing(folder / file):
                        (folder / file).unlink(missing_ok=True)
                if stage:
                    _note(self.root / "stages" / stage, record.key)
        except _GoneError:
            return False
        if damaged:
            with storing(folder):
                self.verified.note({folder / o.file: o.sha256 for o in record.outputs})
            self.verified.save()
        return True

    def repair(self, path: Path, copies: Iterable[Path]) -> str:
        """Replace a damaged object by an intact copy, or remove it or a damaged record; say which.

        copies: files that may hold what the object held.
        """
        with self.lock(WHOLE), storing(path):
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

    def _place(self, damaged: Sequence[Damage], record: StageRecord, folder: Path) -> None:
        partial = self.root / "work" / "link"
        durable.make_folder(partial.parent)
        manifest = record.outputs[-1]
        with storing(folder / manifest.file):
            (folder / manifest.file).unlink(missing_ok=True)
        for output in [*(d.output for d in damaged if d.output != manifest), manifest]:
            source, path = self.object(output.sha256), folder / output.file
            with storing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                partial.unlink(missing_ok=True)
                try:
                    durable.link(source, partial)
                except FileNotFoundError as error:
                    raise _GoneError(source) from error
                partial.replace(path)

    def _request_path(self, request: str) -> Path:
        return self.root / "requests" / request[:2] / request

    def _record_path(self, key: str) -> Path:
        return self.root / "records" / key[:2] / f"{key}.json"


def read_keys(path: Path) -> list[str]:
    """The keys in a list; none where there is none, or it is damaged: what it lists is built again."""
    return listed_keys(_content(path))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _note(path: Path, key: str) -> None:
    """Makes a key the last of a list."""
    if read_keys(path)[-1:] != [key]:
        durable.write(path, list_with(_content(path), key))


class _GoneError(Exception):
    """An object was there a moment ago."""


def read_record(path: Path, key: str) -> StageRecord | None:
    """The record at `path`; None where there is none that is whole and has this key."""
    try:
        found = StageRecord.from_bytes(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if found.key == key else None


def sweep(root: Path, dry_run: bool = False) -> tuple[int, int]:
    """Removes temporary folders of a store that nobody works in any more; how many, and their bytes."""
    count = freed = 0
    for folder in (root / "work").glob("*-*"):
        key = folder.name.lstrip(".").partition("-")[0]  # what a stage puts beside its folder has a dot
        lock = FileLock(root / "locks" / key, thread_local=False)
        with suppress(Timeout, OSError), lock.acquire(blocking=False):
            freed += sum(p.lstat().st_size for p in folder.rglob("*") if p.is_file())
            if not dry_run:
                shutil.rmtree(folder)
            count += 1
    return count, freed
