"""Whether the files of a bundle are what its manifest says, byte for byte, and remembering that they were.

Reading a third of a gigabyte takes longer than loading it. So a large file of numbers that was found good is
not read again while the file system says it is the same file, unchanged: device, inode, size and, in
nanoseconds, the times of its last change. One of these, the change time (ctime), nobody can set: writing,
replacing, copying and restoring a file give it a new one. What is left is damage the file system knows
nothing of. Code is always read, whatever its size.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from kokoro_tvm.runtime.bundle.files import OpenFile, OpenFiles
from kokoro_tvm.runtime.bundle.manifest import Bundle, FileRef

__all__ = ["verify_bundle", "verify_files"]

_ALWAYS_READ = 1 << 22  # bytes; smaller files take a few milliseconds together
_CTIME_IS_CHANGE = os.name == "posix"
_SETTLED = 2.0  # seconds; a file changed later may change once more without a new time on a coarse clock


def verify_bundle(bundle: Bundle, files: OpenFiles, workers: int = 1, again: bool = False) -> None:
    """Compare the open files of `bundle` with its manifest.

    Large weights known to be good are read only where `again` says so; libraries always are, and their bytes
    are kept for loading. `workers` threads read side by side. What was good is remembered in the user's cache
    folder, where that can be written to.

    Raises:
        BundleError: the sha256 of a file is not the manifest's.
    """
    code = set(bundle.code_files())
    memory = _memory_of(bundle.root)
    remembered = {} if again or memory is None else _read(memory)
    large = [file for file in files if file.ref.size > _ALWAYS_READ and file.ref not in code]
    # Taken when a file was opened: what changes it afterwards makes it another.
    identities = {file.ref: _identity(file.status) for file in large}
    good = {ref for ref, identity in identities.items() if remembered.get(identity) == ref.sha256}
    verify_files([file for file in files if file.ref not in good], workers, code)
    if memory is not None and len(good) < len(identities):
        _write(memory, {identity: ref.sha256 for ref, identity in identities.items() if identity})


def verify_files(files: Iterable[OpenFile], workers: int = 1, keep: Container[FileRef] = ()) -> None:
    """Read `files` and compare them with the manifest; raises BundleError with both values.

    keep: those whose bytes are kept for loading.
    """
    # The largest first, or the last thread would sit over it alone. hashlib lets go of the interpreter lock.
    ordered = sorted(files, key=lambda file: file.ref.size, reverse=True)
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for _ in pool.map(lambda file: file.check(keep=file.ref in keep), ordered):
            pass


def _identity(status: os.stat_result) -> str:
    """What the file system says of a file that changes when its content may have changed.

    Empty where it was changed so lately that a coarse clock could give the next change the same time.
    """
    if status.st_ctime > time.time() - _SETTLED:
        return ""
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _memory_of(root: Path) -> Path | None:
    """Where it is written down which files of the bundle at `root` were good.

    None where there is no place for it, and where the system's ctime is something else (Windows: the time of
    creation): there every file is read every time.
    """
    if not _CTIME_IS_CHANGE:
        return None
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
    return folder / "kokoro-tvm" / "verified" / f"{name}.json"


def _read(memory: Path) -> dict[str, str]:
    """Identity -> sha256; nothing where nothing readable was written."""
    try:
        found = json.loads(memory.read_bytes())
    except (OSError, ValueError):  # not there yet, or not ours: then every file is read
        return {}
    return found if isinstance(found, dict) else {}


def _write(memory: Path, known: dict[str, str]) -> None:
    partial = memory.with_suffix(f".{os.getpid()}.part")
    # Where it cannot be written (a full disk, a read-only home folder), files are read every time.
    with suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial.write_text(json.dumps(known))
        partial.replace(memory)
