"""Cache of references, which computes those that it does not have.

The folder is named by a digest of the checkpoint, the code that runs the stock model and the versions of its
packages. A file is named by a digest of its utterance. Folders with another digest are deleted, because
nothing reads them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kokoro_tvm.builder.engine.code import hash_all_code
from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.durable import write
from kokoro_tvm.builder.engine.memory import process_memory
from kokoro_tvm.builder.engine.processes import run_forked
from kokoro_tvm.builder.engine.resources import usable_memory_gb
from kokoro_tvm.builder.engine.trace import count
from kokoro_tvm.builder.engine.versions import TORCH, versions
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError, ValidationError
from kokoro_tvm.recipe import UtteranceSpec
from kokoro_tvm.runtime.threads import usable_cores
from kokoro_tvm.validation.reference.reference import (
    DYNAMIC,
    TRUTH,
    Reference,
    SpeechReference,
    load_reference,
    load_speech,
    save_reference,
)
from kokoro_tvm.validation.reference.steps import Steps, load_steps, save_steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH_UTTERANCES = 6
_PROCESS_GB = 4.0  # memory for 20 s of speech, and a reserve


_R = TypeVar("_R", Reference, SpeechReference)


@dataclass(frozen=True)
class _Kind(Generic[_R]):
    """Kind of cached file, and the function that computes its content."""

    suffix: str
    load: Callable[[Path], _R]
    compute: str  # function of reference.compute, which imports torch


_WHOLE = _Kind(".safetensors", load_reference, "compute_references")
_COMPUTED = ("compute_references", "compute_speech", "compute_steps")
_SPEECH = _Kind(".speech.safetensors", load_speech, "compute_speech")


class ReferenceStore:
    """Cache of the references of one checkpoint in a folder (artifacts/reference/MODEL)."""

    def __init__(
        self,
        checkpoint: Path,
        folder: Path,
        progress: Callable[[str], None] = lambda _: None,
        again: bool = False,
    ):
        """Open the cache.

        Args:
            checkpoint: Output folder of the stage `checkpoint`.
            folder: Folder of the cache.
            progress: Called with a line of text before every run of the stock model.
            again: Compute cached references again.

        Raises:
            BuildError: There is no checkpoint.
        """
        from kokoro_tvm.model.checkpoint_files import is_checkpoint

        if not is_checkpoint(checkpoint):
            raise BuildError(
                f"There is no checkpoint in {checkpoint}, so the stock model cannot be run. `doit` in the "
                "repository fetches it; name another repository's folder with --root."
            )
        self._checkpoint, self._root, self._progress = checkpoint, folder, progress
        self._again = again

    @cached_property
    def folder(self) -> Path:
        """Folder of the files that were computed with the current checkpoint, code and packages."""
        derivation = {
            "checkpoint": {
                file: process_memory().sha256(self._checkpoint / file)
                for file in ("weights.safetensors", "voices.safetensors", "config.json")
            },
            "code": self._code,
            "versions": versions(*TORCH),
        }
        return self._root / "by-digest" / digest(derivation)[:16]

    @cached_property
    def _code(self) -> dict[str, str]:
        """Digests of the code that computes references."""
        return hash_all_code(f"kokoro_tvm.validation.reference.compute:{name}" for name in _COMPUTED)

    def references(self, utterances: Sequence[UtteranceSpec]) -> list[Reference]:
        """Return the reference of every utterance: both regimes, end to end and fed.

        Those that are not cached are computed and saved; the folders of other checkpoints, code and packages
        are then deleted.

        Raises:
            RecipeError: The model does not have a voice or phoneme.
        """
        return self._load_all(utterances, _WHOLE)

    def speech(self, utterances: Sequence[UtteranceSpec]) -> list[SpeechReference]:
        """Return the speech reference of every utterance, as `references` does."""
        return self._load_all(utterances, _SPEECH)

    def steps(self, utterance: UtteranceSpec) -> dict[str, Steps]:
        """Return all steps of both regimes (pt.float64, pt.dynamic), as `references` does."""
        regimes = (TRUTH, DYNAMIC)
        cached = {regime: self._load(utterance, f".{regime}.safetensors", load_steps) for regime in regimes}
        if None in cached.values():
            from kokoro_tvm.validation.reference.compute import compute_steps

            self._remove_stale()
            computed = compute_steps(*self.model(), self.voices(), utterance, progress=self._progress)
            for steps in computed.values():
                self._save(save_steps, steps, self._path(utterance, f".{steps.regime}.safetensors"))
            return computed
        return {regime: steps for regime, steps in cached.items() if steps is not None}

    def voices(self) -> dict[str, NDArray[np.float32]]:
        """Read the checkpoint's style tables, (510, 256) each, by name."""
        from safetensors.numpy import load_file

        return load_file(str(self._checkpoint / "voices.safetensors"))

    def model(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read the checkpoint's configuration and float32 state dict."""
        from kokoro_tvm.model.kokoro import load_config, load_state

        return load_config(self._checkpoint), load_state(self._checkpoint)

    def _path(self, utterance: UtteranceSpec, suffix: str) -> Path:
        """Return the file of an utterance, named by the digest of all that affects its speech."""
        content = utterance.model_dump(mode="json", exclude={"name", "text"})
        return self.folder / f"{digest(content)[:32]}{suffix}"

    def _load(self, utterance: UtteranceSpec, suffix: str, load: Callable[[Path], Any]) -> Any:
        """Load a cached file; return None if it is missing or, reported, damaged, and if `again` is set."""
        path = self._path(utterance, suffix)
        if self._again or not path.is_file():
            return None
        try:
            if not _is_complete(path):
                raise ValidationError(f"{path} is not as it was written.")
            content = load(path)
        except ValidationError as error:
            self._progress(f"{error} It is made again.")
            return None
        count(self._code)
        return content

    def _save(self, save: Callable[[Any, Path], None], content: Any, path: Path) -> None:
        """Save a file, then its digest beside it: a file without a digest is incomplete."""
        save(content, path)
        write(_digest_path(path), file_sha256(path).encode())

    def _load_all(self, utterances: Sequence[UtteranceSpec], kind: _Kind[_R]) -> list[_R]:
        """Load the references of utterances, after computing those that are not cached."""
        cached = [self._load(u, kind.suffix, kind.load) for u in utterances]
        misses = [u for u, reference in zip(utterances, cached, strict=True) if reference is None]
        if misses:
            self._compute(misses, kind)
            cached = [kind.load(self._path(u, kind.suffix)) for u in utterances]
        # The digest does not cover the name of an utterance.
        return [replace(r, name=u.name) for u, r in zip(utterances, cached, strict=True)]

    def _compute(self, misses: Sequence[UtteranceSpec], kind: _Kind[_R]) -> None:
        """Compute the references of utterances in parallel processes with one thread each."""
        # One thread each: the bits do not depend on the number of cores, and OpenMP threads, which
        # synchronize after every operation, take three times as long on a busy machine.
        self._remove_stale()
        compute = import_module("kokoro_tvm.validation.reference.compute")
        (config, state), voices = self.model(), self.voices()
        distinct = list({self._path(u, kind.suffix): u for u in misses}.values())
        for utterance in distinct:
            compute.request_of(utterance, config, voices)  # or RecipeError, before anything is computed
        processes = max(1, int(min(usable_cores(), usable_memory_gb() / _PROCESS_GB)))
        shares = divide(distinct, processes)

        def work(share: str) -> None:
            """Compute and save a share of the misses."""
            own = shares[int(share)]
            # Batches: each model is built once for all of them, and little is lost by an interruption.
            for start in range(0, len(own), _BATCH_UTTERANCES):
                batch = own[start : start + _BATCH_UTTERANCES]
                computed = getattr(compute, kind.compute)(config, state, voices, batch, self._progress)
                for utterance, reference in zip(batch, computed, strict=True):
                    self._save(save_reference, reference, self._path(utterance, kind.suffix))

        with compute.one_thread():
            if len(shares) == 1:
                work("0")
            else:
                run_forked(work, [str(index) for index in range(len(shares))], len(shares))

    def _remove_stale(self) -> None:
        """Remove the folders of other checkpoints, code and packages."""
        for old in self.folder.parent.glob("*"):
            if old != self.folder:
                shutil.rmtree(old, ignore_errors=True)  # another process may delete it, too


def divide(utterances: Sequence[UtteranceSpec], parts: int) -> list[list[UtteranceSpec]]:
    """Divide utterances into at most `parts` non-empty lists of about equal length of speech."""
    lists: list[list[UtteranceSpec]] = [[] for _ in range(min(parts, len(utterances)))]
    length = {id(u): (len(u.phonemes) + 2) / u.speed for u in utterances}
    for utterance in sorted(utterances, key=lambda u: -length[id(u)]):
        min(lists, key=lambda share: sum(length[id(u)] for u in share)).append(utterance)
    return lists


def _is_complete(path: Path) -> bool:
    """Return whether a file has the digest that was saved after it."""
    try:
        return _digest_path(path).read_bytes() == file_sha256(path).encode()
    except FileNotFoundError:
        return False


def _digest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
