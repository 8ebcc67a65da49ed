"""Copy the files of one source into a folder. No code of a package runs."""

from __future__ import annotations

import importlib.metadata
import shutil
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.network import PROBE_TIMEOUT_S, unreachable
from kokoro_tvm.model.pins import check_sha256
from kokoro_tvm.model.sources import npm
from kokoro_tvm.model.sources.material import Log, SourceUnavailableError
from kokoro_tvm.model.sources.wheel import download_wheel, extract
from kokoro_tvm.recipe.front_end import (
    HttpsSource,
    InstalledSource,
    NpmFilesSource,
    PackageSource,
    PypiSource,
)

_MAX_BYTES = 1 << 28  # of an archive


def describe(source: PackageSource) -> str:
    """Return a short phrase for a source, for errors and logs."""
    if isinstance(source, HttpsSource):
        return source.url
    if isinstance(source, PypiSource | InstalledSource):
        return f"{source.kind} {source.package}=={source.version}"
    if isinstance(source, NpmFilesSource):
        return f"npm {source.version}"
    return f"file {source.path}"


def obtain(
    source: PackageSource, work: Path, files: Mapping[str, str], out: Path, root: Path, log: Log
) -> None:
    """Copy the files of a source into `out`, and check them.

    Args:
        source: The source.
        work: Empty folder for downloads.
        files: Path in the source's folder to SHA-256.
        out: Folder of the result.
        root: Folder that relative paths start from.
        log: Called with lines for the log.

    Raises:
        SourceUnavailableError: The source does not answer.
        BuildError: Its content is not what is pinned.
    """
    if isinstance(source, InstalledSource):
        _copy_installed(source, files, out)
    elif isinstance(source, NpmFilesSource):
        _unpack_npm(source, files, out, work, log)
    else:
        archive = _archive(source, work, root, log)
        check_sha256(archive, source.sha256, describe(source))
        extract(archive, source.folder, files, out)
    for name, sha256 in files.items():
        check_sha256(out / name, sha256, f"{name} of {describe(source)}")


def _archive(source: PackageSource, work: Path, root: Path, log: Log) -> Path:
    """Return the archive of a source, downloaded if need be. Raises SourceUnavailableError."""
    if isinstance(source, HttpsSource):
        return _download(source.url, work / "archive.zip", log)
    if isinstance(source, PypiSource):
        return download_wheel(source.package, source.version, work, log)
    assert not isinstance(source, InstalledSource | NpmFilesSource)
    path = root / source.path
    if not path.is_file():
        raise SourceUnavailableError(f"there is no file {source.path}")
    return path


def _download(url: str, target: Path, log: Log) -> Path:
    """Download an address to `target` and return that.

    Raises SourceUnavailableError if it does not answer, BuildError if it is larger than an archive.
    """
    if (reason := unreachable(url)) is not None:
        raise SourceUnavailableError(reason)
    start = time.monotonic()
    try:
        with urllib.request.urlopen(url, timeout=4 * PROBE_TIMEOUT_S) as answer, target.open("wb") as file:
            size = 0
            while block := answer.read(1 << 20):
                size += len(block)
                if size > _MAX_BYTES:
                    raise BuildError(f"{url} is larger than {_MAX_BYTES:,} bytes")
                file.write(block)
    except (OSError, ValueError) as error:  # URLError and a broken connection are OSErrors
        raise SourceUnavailableError(f"{url} cannot be downloaded: {error}") from error
    log(f"downloaded {url}: {size / 1e6:.1f} MB in {time.monotonic() - start:.1f} s")
    return target


def _unpack_npm(source: NpmFilesSource, files: Mapping[str, str], out: Path, work: Path, log: Log) -> None:
    """Download the packages of a source and extract files to `out`. Raises BuildError if one is missing."""
    for package in dict.fromkeys(name.partition("/")[0] for name in files):
        folder = work / package
        folder.mkdir()
        archive = npm.pack(package, source.version, folder, log)
        names = {
            PurePosixPath("package", name.partition("/")[2]): name
            for name in files
            if name.startswith(f"{package}/")
        }
        npm.extract(archive, out, names.__contains__, _MAX_BYTES, names.__getitem__)
        if missing := [name for name in names.values() if not (out / name).is_file()]:
            raise BuildError(f"{archive.name} lacks a file: package/{min(missing).partition('/')[2]}")


def _copy_installed(source: InstalledSource, files: Mapping[str, str], out: Path) -> None:
    """Copy files of an installed package to `out`.

    Raises SourceUnavailableError if the package, its version or a file is missing.
    """
    try:
        package = importlib.metadata.distribution(source.package)
    except importlib.metadata.PackageNotFoundError as error:
        raise SourceUnavailableError(f"{source.package} is not installed") from error
    if package.version != source.version:
        raise SourceUnavailableError(f"{source.package} {package.version} is installed, not {source.version}")
    for name in files:
        path = Path(str(package.locate_file(f"{source.folder}/{name}")))
        if not path.is_file():
            raise SourceUnavailableError(f"{source.package} {source.version} has no {source.folder}/{name}")
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
