"""Garbage collection of a store: records, objects, and what killed builds left."""

from __future__ import annotations

import operator
import shutil
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from kokoro_tvm.builder.engine.durable import translate_write_errors
from kokoro_tvm.builder.engine.store import WHOLE, Store, read_keys, read_record, sweep


@dataclass(frozen=True)
class Collected:
    """Numbers of records, objects, temporary folders and folders that were removed, and their bytes."""

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
    """Remove records, objects that no remaining record names, and abandoned temporary folders.

    Builds may run meanwhile.

    Args:
        store: The store.
        keep: Keys of the records that stay.
        dry_run: Only count what would be removed.
        folders: Folders of outputs to remove as well.

    Raises:
        BuildError: A file cannot be removed.
    """
    temporaries, freed = sweep(store.root, dry_run)
    remover = _Remover(dry_run)
    with store.lock(WHOLE):
        for folder in folders:
            remover.remove_folder(folder)
        records = objects = 0
        used: set[str] = set()
        for path in sorted((store.root / "records").glob("*/*")):
            record = read_record(path, path.stem)
            if record is not None and record.key in keep:
                used |= {o.sha256 for o in record.outputs}
            else:
                remover.remove(path)
                records += 1
        for path in sorted((store.root / "objects").glob("*/*")):
            if path.name not in used:
                remover.remove(path)
                objects += 1
        for path in (*(store.root / "requests").glob("*/*"), *(store.root / "stages").glob("[!.]*")):
            if not {*read_keys(path)} & {*keep}:
                remover.remove(path)
        for path in (store.root / "locks").glob("*"):
            if path.name != WHOLE:  # whoever waits for it creates another one
                with suppress(Timeout, OSError), FileLock(path, thread_local=False).acquire(blocking=False):
                    remover.remove(path)
        with translate_write_errors(store.root):
            store.verified.keep((store.root / "objects").glob("*/*"))
    store.verified.save()
    return Collected(records, objects, temporaries, len(folders), freed + remover.freed)


class _Remover:
    """Removes files, or only counts them.

    Attributes:
        freed: Bytes freed so far: a file counts once its last hard link is removed.
    """

    def __init__(self, dry_run: bool) -> None:
        self.freed = 0
        self._dry_run = dry_run
        self._links: Counter[tuple[int, int]] = Counter()  # links removed, by device and inode

    def remove(self, path: Path) -> None:
        """Remove a file, or only count it. Raises BuildError if that fails."""
        with translate_write_errors(path):
            stat = path.stat()
            identity = stat.st_dev, stat.st_ino
            self._links[identity] += 1
            removed = self._links[identity] if self._dry_run else 1
            self.freed += stat.st_size if stat.st_nlink == removed else 0
            if not self._dry_run:
                path.unlink()

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder and its files, or only count these. Raises BuildError if that fails."""
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                self.remove(path)
        if not self._dry_run:
            with translate_write_errors(folder):
                shutil.rmtree(folder)
