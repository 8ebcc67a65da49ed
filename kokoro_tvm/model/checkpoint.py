"""Fetches the checkpoint: the first source that answers, verified and stored once, whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kokoro_tvm.disk import advice
from kokoro_tvm.errors import BuildError
from kokoro_tvm.model._digest import check_sha256
from kokoro_tvm.model._safetensors import write_safetensors
from kokoro_tvm.model.sources import Log, Material, SourceUnavailableError, describe, load_source
from kokoro_tvm.model.voices import voices_sha256
from kokoro_tvm.recipe.checkpoint import Checkpoint

__all__ = ["FILES", "fetch", "is_checkpoint"]

# What a checkpoint folder holds, once it exists.
FILES = ("weights.safetensors", "voices.safetensors", "config.json")
HOW_TO_SUPPLY = (
    "To supply a file yourself, download kokoro-v1_0.pth and the folder voices/ (hexgrad/Kokoro-82M on the "
    "Hugging Face hub) on any machine, put them side by side, and add to `checkpoint: sources:` of the model "
    "recipe an entry with `kind: file`, `path: <file>` and `sha256: <its sha256>` (.pth, .safetensors and "
    ".onnx files are understood)"
)


def fetch(checkpoint: Checkpoint, folder: Path, *, root: Path | None = None, log: Log | None = None) -> Path:
    """Tries the sources in order and stores the first one's weights, voices and configuration in `folder`.

    Afterwards the folder holds `FILES`: the stock state dict (float32; metadata `sha256`, of the file it is
    from, and `synthetic`, "true" or "false"), the voices (name to float32 (510, 256); metadata `sha256`) and
    config.json. Everything is prepared beside it and renamed, so the folder is either the old one or the
    whole new one. The same content always gives the same bytes, whichever source it is from.

    root: what relative paths of a `file` source start from (the working directory). log: receives lines of
    progress. Raises BuildError: no source answers (each is listed with its reason), or what a source gave is
    not what was pinned (which is not passed over: a source that lies is worth knowing).
    """
    folder = Path(folder)
    say = log or (lambda line: None)
    shipped = Path(__file__).with_name(checkpoint.config.file)
    if not shipped.is_file():
        raise BuildError(
            f"this package ships no configuration {checkpoint.config.file!r} (checkpoint: config: file)"
        )
    check_sha256(shipped, checkpoint.config.sha256, f"the shipped configuration {checkpoint.config.file}")
    start = time.monotonic()
    try:
        with _beside(folder) as work:
            label, material = _first_answer(checkpoint, shipped.read_bytes(), work, root or Path(), say)
            _store(material, work / "checkpoint")
            _replace(work / "checkpoint", folder, work / "old")
    except OSError as error:
        raise BuildError(f"the checkpoint cannot be stored in {folder}: {advice(error)}.") from error
    seconds = time.monotonic() - start
    say(f"checkpoint ready in {folder}: {len(material.voices)} voices, {seconds:.0f} s, from {label}")
    return folder


def is_checkpoint(folder: Path) -> bool:
    """Whether `fetch` has put a checkpoint there (which is only ever whole)."""
    return all((Path(folder) / name).is_file() for name in FILES)


def _first_answer(
    checkpoint: Checkpoint, config: bytes, work: Path, root: Path, say: Log
) -> tuple[str, Material]:
    failures: list[str] = []
    for number, source in enumerate(checkpoint.sources):
        label = describe(source)
        downloads = work / f"source{number}"
        downloads.mkdir()
        say(f"trying {label}")
        try:
            return label, load_source(source, config, downloads, root, say)
        except SourceUnavailableError as error:
            failures.append(f"{label}: {error}")
            say(f"{label} does not answer: {error}")
        except BuildError as error:
            raise BuildError(
                f"the checkpoint from {label} is refused: {error}".replace(f"{work}{os.sep}", "")
            ) from error
        finally:
            shutil.rmtree(downloads, ignore_errors=True)
    reasons = "; ".join(f"({number}) {failure}" for number, failure in enumerate(failures, start=1))
    raise BuildError(f"no source of the checkpoint answers. Tried: {reasons}. {HOW_TO_SUPPLY}.")


def _store(material: Material, target: Path) -> None:
    target.mkdir()
    weights, voices, config = (target / name for name in FILES)
    synthetic = "true" if material.synthetic else "false"
    metadata = {"sha256": material.sha256, "synthetic": synthetic}
    write_safetensors(weights, material.state, metadata)
    ordered = {name: material.voices[name] for name in sorted(material.voices)}
    write_safetensors(voices, ordered, {"sha256": voices_sha256(ordered)})
    config.write_bytes(material.config)


def _replace(new: Path, folder: Path, old: Path) -> None:
    """Puts the new folder in the place of the old one; the old one returns when that fails."""
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A temporary folder beside the destination (renaming needs the same file system), gone afterwards.

    It stays locked while its process lives, so that the next run can tell, and clear away, what a killed one
    left.
    """
    parent = folder.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{folder.name}.partial-"
    for stale in parent.glob(f"{prefix}*"):
        with _locked(stale) as free:
            if free:
                shutil.rmtree(stale)
    work = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with _locked(work):
            yield work
    finally:
        shutil.rmtree(work)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Holds the folder's lock within the block; False when another process has it or the folder is gone."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(handle)
