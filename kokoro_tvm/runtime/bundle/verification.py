"""Verification of a bundle's files by SHA-256, with a cache of earlier results.

Hashing a third of a gigabyte takes longer than loading it. So a verified large file of weights is not read
again while device, inode, size, mtime and ctime (in nanoseconds) stay the same. No program can set the ctime:
writing, replacing, copying and restoring a file change it. Damage that the file system does not notice
remains. Code is always read.
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

_LARGE_BYTES = 1 << 22  # smaller files take a few milliseconds together
_CTIME_IS_CHANGE = os.name == "posix"
_SETTLED_S = 2.0  # a file changed later may change again without a new time on a coarse clock


def verify_bundle(bundle: Bundle, files: OpenFiles, workers: int = 1, again: bool = False) -> None:
    """Compare the open files of a bundle with its manifest; keep the bytes of libraries for loading.

    Results are cached in the user's cache folder, if that is writable.

    Args:
        bundle: its manifest.
        files: all of its files.
        workers: threads that read in parallel.
        again: read large weights even if a cached result exists.

    Raises:
        BundleError: the SHA-256 of a file differs.
    """
    code = set(bundle.code_files())
    cache = _cache_path(bundle.root)
    known = {} if again or cache is None else _read_cache(cache)
    large = [file for file in files if file.ref.size > _LARGE_BYTES and file.ref not in code]
    # From when a file was opened: a later change gives it another identity.
    identities = {file.ref: _identity(file.status) for file in large}
    good = {ref for ref, identity in identities.items() if known.get(identity) == ref.sha256}
    verify_files([file for file in files if file.ref not in good], workers, code)
    if cache is not None and len(good) < len(identities):
        _write_cache(cache, {identity: ref.sha256 for ref, identity in identities.items() if identity})


def verify_files(files: Iterable[OpenFile], workers: int = 1, keep: Container[FileRef] = ()) -> None:
    """Read files and compare them with the manifest; keep the bytes of those in `keep`.

    Raises:
        BundleError: the SHA-256 of a file differs.
    """
    # The largest first, to balance the threads. hashlib releases the interpreter lock.
    ordered = sorted(files, key=lambda file: file.ref.size, reverse=True)
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for _ in pool.map(lambda file: file.check(keep=file.ref in keep), ordered):
            pass


def _identity(status: os.stat_result) -> str:
    """Return metadata that change with the content, or "" if the file changed moments ago."""
    if status.st_ctime > time.time() - _SETTLED_S:
        return ""
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _cache_path(root: Path) -> Path | None:
    """Return the file of cached results, or None on systems without a ctime of changes (Windows)."""
    if not _CTIME_IS_CHANGE:
        return None
    cache_home = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(cache_home) if cache_home else Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
    return folder / "kokoro-tvm" / "verified" / f"{name}.json"


def _read_cache(path: Path) -> dict[str, str]:
    """Return identity -> sha256."""
    try:
        results = json.loads(path.read_bytes())
    except (OSError, ValueError):  # missing or damaged: every file is read
        return {}
    return results if isinstance(results, dict) else {}


def _write_cache(path: Path, results: dict[str, str]) -> None:
    partial = path.with_suffix(f".{os.getpid()}.part")
    # If it cannot be written (a full disk, a read-only home), every file is read again next time.
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial.write_text(json.dumps(results))
        partial.replace(path)
