"""Pull of a bundle: download missing files, verify all of them, then rename the folder into place.

    FOLDER/../.kokoro-tvm-pull/SHA256    a file, complete or not
    FOLDER/../.kokoro-tvm-pull/new/      the bundle, until it is complete

Files that another bundle beside FOLDER has are linked or copied, and verified like downloaded ones.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.common.bundles import locate_pulled_bundles
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.common.output import resolve_link
from kokoro_tvm.runtime.bundle.manifest import Bundle, read_bundle
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.runtime.bundle.provenance import verify_provenance
from kokoro_tvm.runtime.locking import hold_lock
from kokoro_tvm.runtime.registry.address import Layout, Repository
from kokoro_tvm.runtime.registry.artifact import MAX_MANIFEST_BYTES, OciLayer, read_layers, sha256_of
from kokoro_tvm.runtime.registry.download import download, report_write_errors
from kokoro_tvm.runtime.registry.sources import Source, open_source
from kokoro_tvm.runtime.registry.trust import SBOM, SIGNED, key_ids, require_signature
from kokoro_tvm.runtime.registry.web import TransferError, Web

if TYPE_CHECKING:
    from securesystemslib.signer import Key


_WORK = ".kokoro-tvm-pull"
_MANIFEST = "bundle.json"
_FOLDER_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class PulledBundle:
    """A bundle in its folder.

    Attributes:
        bundle: complete and verified.
        digest: SHA-256 of its OCI manifest.
        downloaded: in bytes.
        shared: bytes taken from other bundles.
        trusted: who vouches for it, for people.
    """

    bundle: Bundle
    digest: str
    downloaded: int
    shared: int
    trusted: str


def pull(
    place: Repository | Layout,
    output: Path | None = None,
    key: Key | None = None,
    meter: Callable[[int, int], None] = lambda arrived, total: None,
) -> PulledBundle:
    """Download a bundle and verify it; a bundle in the folder is replaced in one step, at the end.

    Args:
        place: of the bundle.
        output: its folder; None: one of its recipe's name in `locate_pulled_bundles()`.
        key: that must have signed the bundle; None accepts unsigned ones.
        meter: called with the bytes downloaded so far and their total.

    Raises:
        BundleError: the bundle is missing, damaged or not signed by the key, the source fails, or the disk is
            full.
        InputError: the folder holds something else, or this user has no home folder.
    """
    if output is not None:
        output = resolve_link(output)
    source, parent = open_source(place, Web()), _parent(output)
    with report_write_errors(parent):
        _make_private(parent / _WORK)
        with _hold_folder(parent / _WORK):
            return _Pull(source, str(place), parent / _WORK, meter).run(output, key)


@dataclass(frozen=True)
class _Pull:
    """A pull in progress; `place` is that of the source, for messages, `work` the folder of partial files."""

    source: Source
    place: str
    work: Path
    meter: Callable[[int, int], None]

    def run(self, output: Path | None, key: Key | None) -> PulledBundle:
        try:
            manifest = self.source.manifest()
        except TransferError as error:
            raise BundleError(_unavailable(self.place, error)) from error
        layers = read_layers(manifest, self.place)
        new = self.work / "new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            bundle = self._describe(layers, new)
            trusted = self._check_trust(new, key)
            folder = output if output is not None else resolve_link(self.work.parent / bundle.recipe)
            _check_folder(folder, bundle.recipe)
            downloaded = self._download(bundle, layers)
            identity = new.stat()
            _swap(new, folder)
            _check_final(folder, identity)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        size = sum({file.sha256: file.size for file in bundle.files()}.values())
        return PulledBundle(
            read_bundle(folder, bundle.sha256), sha256_of(manifest), downloaded, size - downloaded, trusted
        )

    def _describe(self, layers: dict[str, OciLayer], new: Path) -> Bundle:
        """Download the manifest and the provenance, and compare them with the layers."""
        for name in (_MANIFEST, PROVENANCE, SBOM, SIGNED):
            if name in layers:
                if (size := layers[name].size) > MAX_MANIFEST_BYTES:
                    raise BundleError(
                        f"{name} of {self.place} has {size} bytes, more than any bundle needs. "
                        "Name another place."
                    )
                download(self.source, layers[name], new / name, self.place, lambda _: None)
            elif name in (_MANIFEST, PROVENANCE):
                raise BundleError(f"{self.place} has no {name}. Push the bundle again.")
        bundle = read_bundle(new)
        for file in bundle.files():
            name = file.path.relative_to(new).as_posix()
            if layers.get(name) != OciLayer(name, file.size, file.sha256):
                raise BundleError(
                    f"{self.place} has another {name} than its bundle.json, or none. Push the bundle again."
                )
        verify_provenance(bundle)
        return bundle

    def _check_trust(self, new: Path, key: Key | None) -> str:
        """Return who vouches for the bundle; raises BundleError if the key did not sign it."""
        if key is not None:
            require_signature(new, key, self.place)
            return f"signed by the key {key.keyid[:16]}, which you named"
        signers = ", ".join(key_id[:16] for key_id in key_ids(new))
        signed = f"signed by {signers}, not by a key that you named" if signers else "not signed"
        return f"{signed}: {self.source.authority} could have changed it"

    def _download(self, bundle: Bundle, layers: dict[str, OciLayer]) -> int:
        """Download the bundle's files, or link them; return the number of downloaded bytes."""
        names: dict[str, list[Path]] = {}
        for file in bundle.files():
            names.setdefault(file.sha256, []).append(file.path)
        missing = {layer.sha256: layer for layer in layers.values() if layer.sha256 in names}
        local = _find_local_files(self.work.parent)
        for sha256 in [sha256 for sha256 in missing if sha256 in local]:
            if _link(local[sha256], self.work / sha256, sha256):
                del missing[sha256]
        total = sum(layer.size - _size(self.work / layer.sha256) for layer in missing.values())
        _check_room(self.work.parent, total)
        downloaded = 0

        def arrived(count: int) -> None:
            nonlocal downloaded
            downloaded += count
            self.meter(downloaded, total)

        for layer in missing.values():
            download(self.source, layer, self.work / layer.sha256, self.place, arrived)
        for sha256, paths in names.items():
            for path in paths[1:]:
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.work / sha256, path)
            paths[0].parent.mkdir(parents=True, exist_ok=True)
            (self.work / sha256).replace(paths[0])
        return downloaded


def _find_local_files(parent: Path) -> dict[str, Path]:
    """Return SHA-256 -> file, according to the manifests of the bundles in a folder."""
    files: dict[str, Path] = {}
    for manifest in sorted(parent.glob("*/bundle.json")):
        with suppress(BundleError):  # of another version, or no bundle: it has nothing to share
            files |= {file.sha256: file.path for file in read_bundle(manifest.parent).files()}
    return files


def _link(source: Path, path: Path, sha256: str) -> bool:
    """Link a file to `path`, or copy it; return whether it has this digest."""
    path.unlink(missing_ok=True)
    try:
        status = source.lstat()
        if not stat.S_ISREG(status.st_mode):
            return False
        if not _is_own(status):  # its owner could change it afterwards
            raise PermissionError
        os.link(source, path)
    except OSError:  # it is gone, another user's, or on a file system without links
        if not source.is_file():
            return False
        shutil.copyfile(source, path)
    if file_sha256(path) == sha256:
        return True
    path.unlink()
    return False


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _is_own(status: os.stat_result) -> bool:
    """Return whether a file is this user's, on systems with owners."""
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _make_private(work: Path) -> None:
    """Create a folder that nobody else can write to, or check the existing one.

    Raises:
        BundleError: others could write to it, and replace verified files or plant links.
    """
    work.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        work.mkdir(mode=0o700)
    status = work.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH if hasattr(os, "getuid") else 0
    if not stat.S_ISDIR(status.st_mode) or not _is_own(status) or status.st_mode & others:
        raise BundleError(
            f"{work} is a link, belongs to another user, or can be written by others. Remove it, or name "
            "a folder in a place of your own with --output."
        )
    work.chmod(0o700)


def _check_final(folder: Path, identity: os.stat_result) -> None:
    """Check that a path leads to the folder that was verified; raises BundleError."""
    status = folder.lstat()
    if not os.path.samestat(status, identity) or not _is_own(status):
        raise BundleError(
            f"{folder} is not the folder that was verified: somebody who can write to {folder.parent} put "
            "another in its place. Do not use it. Name a folder in a place of your own with --output."
        )


def _swap(new: Path, folder: Path) -> None:
    """Rename a folder to `folder`; an existing one is deleted afterwards."""
    old = new.with_name("old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _parent(output: Path | None) -> Path:
    if output is not None:
        return output.absolute().parent
    try:
        return locate_pulled_bundles()
    except RuntimeError as error:
        raise InputError(f"There is no folder to pull into ({error}). Name one with --output.") from error


def _check_folder(folder: Path, recipe: str) -> None:
    if not _FOLDER_NAME.fullmatch(recipe):
        raise BundleError(f"The bundle is called {recipe!r}, which is no name. Do not use it.")
    if folder.exists() and not (folder / _MANIFEST).is_file() and (folder.is_file() or any(folder.iterdir())):
        raise InputError(f"{folder} is there and no bundle. Name another folder with --output.")


def _check_room(parent: Path, total: int) -> None:
    if (free := shutil.disk_usage(parent).free) < total:
        raise BundleError(
            f"{parent} has room for {free} bytes, and {total} have to come. Make room, or name another "
            "folder with --output."
        )


def _unavailable(place: str, error: TransferError) -> str:
    if error.status == 404:
        return f"There is no {place}: {error}. Check its name."
    return f"{place} is not available: {error}. Check the address, or try again later."


@contextmanager
def _hold_folder(work: Path) -> Iterator[None]:
    """Keep other pulls from a folder while the block runs, and remove the folder if it is empty then."""
    try:
        with hold_lock(work / "lock", work.parent, BundleError):
            yield
    finally:
        if not any(work.iterdir()):
            work.rmdir()
