"""What of a store may go: records that nobody keeps, what only they hold, and what killed builds left."""

from __future__ import annotations

import operator
import shutil
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from kokoro_tvm.builder.engine.durable import storing
from kokoro_tvm.builder.engine.store import WHOLE, Store, read_keys, read_record, sweep

__all__ = ["Collected", "collect"]


@dataclass(frozen=True)
class Collected:
    """What was removed: how many records, objects, left-over temporaries and folders, and their bytes."""

    records: int
    objects: int
    temporaries: int
    folders: int
    bytes: int

    def __add__(self, other: Collected) -> Collected:
        return Collected(*map(operator.add, astuple(self), astuple(other)))


def collect(
    store: Store, keep: Collection[str], dry_run: bool = False, folders: Sequence[Path] = ()
) -> Collected:
    """Removes every record whose key is not in `keep`, every object that no kept record names, what killed
    builds left behind, and some folders of outputs. Builds may go on meanwhile.

    dry_run: only counts what it would remove. Raises BuildError.
    """
    temporaries, freed = sweep(store.root, dry_run)
    going = _Going(dry_run)
    with store.lock(WHOLE):
        for folder in folders:
            going.remove_folder(folder)
        records = objects = 0
        used: set[str] = set()
        for path in sorted((store.root / "records").glob("*/*")):
            found = read_record(path, path.stem)
            if found is not None and found.key in keep:
                used |= {o.sha256 for o in found.outputs}
            else:
                going.remove(path)
                records += 1
        for path in sorted((store.root / "objects").glob("*/*")):
            if path.name not in used:
                going.remove(path)
                objects += 1
        for path in (*(store.root / "requests").glob("*/*"), *(store.root / "stages").glob("[!.]*")):
            if not {*read_keys(path)} & {*keep}:
                going.remove(path)
        for path in (store.root / "locks").glob("*"):
            if path.name != WHOLE:  # who waits for one that is removed takes another
                with suppress(Timeout, OSError), FileLock(path, thread_local=False).acquire(blocking=False):
                    going.remove(path)
        with storing(store.root):
            store.verified.keep((store.root / "objects").glob("*/*"))
    store.verified.save()
    return Collected(records, objects, temporaries, len(folders), freed + going.freed)


class _Going:
    """Removes files, or only counts, and knows the bytes that this frees: none while a file has another
    name."""

    def __init__(self, dry_run: bool) -> None:
        self.freed = 0
        self._dry_run = dry_run
        self._names: Counter[tuple[int, int]] = Counter()  # that would be gone, by device and number

    def remove(self, path: Path) -> None:
        with storing(path):
            found = path.stat()
            identity = found.st_dev, found.st_ino
            self._names[identity] += 1
            gone = self._names[identity] if self._dry_run else 1
            self.freed += found.st_size if found.st_nlink == gone else 0
            if not self._dry_run:
                path.unlink()

    def remove_folder(self, folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                self.remove(path)
        if not self._dry_run:
            with storing(folder):
                shutil.rmtree(folder)
