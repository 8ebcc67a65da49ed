"""Whether the files of a bundle are what its manifest says, byte for byte, and remembering that they were.

Reading a third of a gigabyte takes longer than loading it. So a large file that was found good is not read
again while the file system says it is the same file, unchanged: device, inode, size and, in nanoseconds, the
times of its last change. One of these, the change time (ctime), nobody can set: writing, replacing, copying
and restoring a file give it a new one. What is left is damage the file system knows nothing of.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.bundle import Bundle, FileRef

__all__ = ["verify_bundle", "verify_files"]

_ALWAYS_READ = 1 << 22  # bytes; smaller files, code among them, take a few milliseconds together
_SETTLED = 2.0  # seconds; a file changed later may change once more without a new time on a coarse clock


def verify_bundle(bundle: Bundle, workers: int = 1, again: bool = False) -> None:
    """Check every file of `bundle`; large ones known to be good are read only where `again` asks for it.

    `workers` threads read side by side. What was good is remembered in the user's cache folder, where that
    can be written to.

    Raises:
        BundleError: a file is missing, or its size or sha256 is not the manifest's.
    """
    files = bundle.files()
    _check_sizes(files)
    memory = _memory_of(bundle.root)
    remembered = {} if again or memory is None else _read(memory)
    # Taken before a file is read: what changes it afterwards makes it another.
    identities = {ref: _identity(ref.path) for ref in files if ref.size > _ALWAYS_READ}
    good = {ref for ref, identity in identities.items() if remembered.get(identity) == ref.sha256}
    _compare([ref for ref in files if ref not in good], workers)
    if memory is not None and len(good) < len(identities):
        _write(memory, {identity: ref.sha256 for ref, identity in identities.items() if identity})


def verify_files(files: Iterable[FileRef], workers: int = 1) -> None:
    """Read `files` and compare them with the manifest; raises BundleError with both values.

    All sizes are looked at first, so that a half-copied bundle is refused without reading what is there.
    """
    files = tuple(files)
    _check_sizes(files)
    _compare(files, workers)


def _check_sizes(files: Iterable[FileRef]) -> None:
    for ref in files:
        if not ref.path.is_file():
            raise BundleError(f"{ref.path} is missing from the bundle. Copy the bundle again, all of it.")
        size = ref.path.stat().st_size
        if size != ref.size:
            raise BundleError(
                f"{ref.path} has {size} bytes, but bundle.json says {ref.size}. Copy the bundle again."
            )


def _compare(files: Iterable[FileRef], workers: int) -> None:
    # The largest first, or the last thread would sit over it alone. hashlib lets go of the interpreter lock.
    ordered = sorted(files, key=lambda ref: ref.size, reverse=True)
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for ref, found in zip(ordered, pool.map(_sha256, ordered), strict=True):
            if found != ref.sha256:
                raise BundleError(
                    f"{ref.path} has sha256 {found}, but bundle.json says {ref.sha256}: the file was changed "
                    "or damaged. Copy or build the bundle again."
                )


def _sha256(ref: FileRef) -> str:
    with ref.path.open("rb", buffering=0) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _identity(path: Path) -> str:
    """What the file system says of the file that changes when its content may have changed.

    Empty where it was changed so lately that a coarse clock could give the next change the same time.
    """
    found = path.stat()
    if found.st_ctime > time.time() - _SETTLED:
        return ""
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def _memory_of(root: Path) -> Path | None:
    """Where it is written down which files of the bundle at `root` were good.

    None where there is no place for it, or the operating system's ctime is something else.
    """
    if os.name != "posix":
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
        told = json.loads(memory.read_bytes())
    except (OSError, ValueError):  # not there yet, or not ours: then every file is read
        return {}
    return told if isinstance(told, dict) else {}


def _write(memory: Path, told: dict[str, str]) -> None:
    partial = memory.with_suffix(f".{os.getpid()}.part")
    # Where it cannot be written (a full disk, a read-only home folder), files are read every time.
    with suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial.write_text(json.dumps(told))
        partial.replace(memory)
