"""Pulling a bundle: what is missing of it travels, all of it is verified, and then it has its name.

    FOLDER/../.kokoro-tvm-pull/SHA256    what came of a file, until the bundle is whole
    FOLDER/../.kokoro-tvm-pull/new/      the bundle, until then

Files that another bundle beside FOLDER has are linked, or copied, and verified as if they had travelled.
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
from kokoro_tvm.runtime.registry.artifact import LARGEST_MANIFEST, OciLayer, read_layers, sha256_of
from kokoro_tvm.runtime.registry.download import download, writing
from kokoro_tvm.runtime.registry.sources import Source, open_source
from kokoro_tvm.runtime.registry.trust import SBOM, SIGNED, key_ids, require_signature
from kokoro_tvm.runtime.registry.web import TransferError, Web

if TYPE_CHECKING:
    from securesystemslib.signer import Key

__all__ = ["Pulled", "pull"]

_WORK = ".kokoro-tvm-pull"
_MANIFEST = "bundle.json"
_FOLDER_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class Pulled:
    """A bundle in its folder. digest: SHA-256 of what was pulled; arrived, shared: bytes that travelled, and
    that other bundles had; trusted: whom it takes to believe in it."""

    bundle: Bundle
    digest: str
    arrived: int
    shared: int
    trusted: str


def pull(
    place: Repository | Layout,
    output: Path | None = None,
    key: Key | None = None,
    meter: Callable[[int, int], None] = lambda arrived, total: None,
) -> Pulled:
    """Brings a bundle to `output`, by default a folder of its recipe's name in `locate_pulled_bundles()`.

    key: which must have signed it; None: nobody has to. meter: called with bytes that came and all that have
    to come. A bundle that is in the folder already is replaced in one step, at the end.

    Raises BundleError: it is not there, cannot be had, is damaged, changed, or not signed by the key; the
    disk is full. InputError: the folder is that of something else, or this user has none.
    """
    if output is not None:
        output = resolve_link(output)
    source, parent = open_source(place, Web()), _parent(output)
    with writing(parent):
        _make_private(parent / _WORK)
        with _hold_folder(parent / _WORK):
            return _Pull(source, str(place), parent / _WORK, meter).run(output, key)


@dataclass(frozen=True)
class _Pull:
    """place: the source's, as messages have it; work: the folder of what has come."""

    source: Source
    place: str
    work: Path
    meter: Callable[[int, int], None]

    def run(self, output: Path | None, key: Key | None) -> Pulled:
        try:
            manifest = self.source.manifest()
        except TransferError as error:
            raise BundleError(_not_had(self.place, error)) from error
        layers = read_layers(manifest, self.place)
        new = self.work / "new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            described = self._describe(layers, new)
            trusted = self._whom(new, key)
            folder = output if output is not None else resolve_link(self.work.parent / described.recipe)
            _check_folder(folder, described.recipe)
            arrived = self._bring(described, layers)
            identity = new.stat()
            _swap(new, folder)
            _check_final(folder, identity)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        size = sum({file.sha256: file.size for file in described.files()}.values())
        bundle = read_bundle(folder, described.sha256)
        return Pulled(bundle, sha256_of(manifest), arrived, size - arrived, trusted)

    def _describe(self, layers: dict[str, OciLayer], new: Path) -> Bundle:
        """The bundle as its manifest and its provenance have it, once they and the layers say the same."""
        for name in (_MANIFEST, PROVENANCE, SBOM, SIGNED):
            if name in layers:
                if (size := layers[name].size) > LARGEST_MANIFEST:
                    raise BundleError(
                        f"{name} of {self.place} has {size} bytes, which is too much. Name another place."
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

    def _whom(self, new: Path, key: Key | None) -> str:
        """Whom it takes to believe in the bundle: whoever has the key, or the place it is from."""
        if key is not None:
            require_signature(new, key, self.place)
            return f"signed by the key {key.keyid[:16]}, which you named"
        signers = ", ".join(each[:16] for each in key_ids(new))
        signed = f"signed by {signers}, not by a key that you named" if signers else "not signed"
        return f"{signed}: trusts {self.source.whom}"

    def _bring(self, bundle: Bundle, layers: dict[str, OciLayer]) -> int:
        """Puts all files of a bundle into its folder; how many bytes travelled for that."""
        names: dict[str, list[Path]] = {}
        for file in bundle.files():
            names.setdefault(file.sha256, []).append(file.path)
        wanted = {layer.sha256: layer for layer in layers.values() if layer.sha256 in names}
        beside = _files_beside(self.work.parent)
        for sha256 in [sha256 for sha256 in wanted if sha256 in beside]:
            if _verified_link(beside[sha256], self.work / sha256, sha256):
                del wanted[sha256]
        total = sum(layer.size - _size(self.work / layer.sha256) for layer in wanted.values())
        _check_room(self.work.parent, total)
        come = 0

        def arrived(count: int) -> None:
            nonlocal come
            come += count
            self.meter(come, total)

        for layer in wanted.values():
            download(self.source, layer, self.work / layer.sha256, self.place, arrived)
        for sha256, paths in names.items():
            for path in paths[1:]:
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.work / sha256, path)
            paths[0].parent.mkdir(parents=True, exist_ok=True)
            (self.work / sha256).replace(paths[0])
        return come


def _files_beside(parent: Path) -> dict[str, Path]:
    """SHA-256 -> a file that has it, as the manifests of the bundles in a folder say."""
    found: dict[str, Path] = {}
    for manifest in sorted(parent.glob("*/bundle.json")):
        with suppress(BundleError):  # of another version, or no bundle: it has nothing to share
            found |= {file.sha256: file.path for file in read_bundle(manifest.parent).files()}
    return found


def _verified_link(source: Path, path: Path, sha256: str) -> bool:
    """Makes `path` another name of a file, or a copy, if it has this digest."""
    path.unlink(missing_ok=True)
    try:
        status = source.lstat()
        if not stat.S_ISREG(status.st_mode):
            return False
        if not _is_own(status):  # whose owner could change it afterwards
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
    """Whether a file is this user's, where files have owners."""
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _make_private(work: Path) -> None:
    """Create the folder that nobody else can write to, or check the one that is there.

    Raises BundleError where others could have put something into it: what is written there may be a link
    to a file of this user, and what was verified there may be swapped.
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
    """Raise BundleError unless a name leads to the folder that was verified."""
    status = folder.lstat()
    if not os.path.samestat(status, identity) or not _is_own(status):
        raise BundleError(
            f"{folder} is not the folder that was verified: somebody who can write to {folder.parent} put "
            "another in its place. Do not use it. Name a folder in a place of your own with --output."
        )


def _swap(new: Path, folder: Path) -> None:
    """Gives a folder its name; what has it is removed afterwards."""
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


def _not_had(place: str, error: TransferError) -> str:
    if error.status == 404:
        return f"There is no {place}: {error}. Compare its name with what was pushed."
    return f"{place} cannot be had: {error}. Compare the address with what was pushed, or try again later."


@contextmanager
def _hold_folder(work: Path) -> Iterator[None]:
    """Keep other pulls from a folder while the block runs, and remove the folder if it is empty then."""
    try:
        with hold_lock(work / "lock", work.parent, BundleError):
            yield
    finally:
        if not any(work.iterdir()):
            work.rmdir()
