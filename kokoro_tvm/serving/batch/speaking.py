"""Synthesis of a batch by processes of this machine or by the workers of a Dask cluster.

Each utterance gets a file and, beside it, a record of its request and content. A file with the record of the
same request and the bytes of that record is not computed again. Both get their names when they are complete,
the record last.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import os
import platform
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import kokoro_tvm
from kokoro_tvm.common.errors import BuildError, InputError, KokoroTvmError
from kokoro_tvm.common.remote import open_folder, whole_file
from kokoro_tvm.common.words import shorten
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.documents.writers import write_audio
from kokoro_tvm.runtime.locking import hold_lock
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.serving.batch.manifest import BatchUtterance

_LOCK = ".batch.lock"


@dataclass(frozen=True)
class BatchSettings:
    """Settings of all utterances of a batch.

    Attributes:
        folder: Folder of the files, as fsspec names it.
        format: Of the files, which is their suffix.
        bundle: Folder of the bundle, the same on every machine.
        sha256: Of its bundle.json.
        threads: Of a process; None for its default.
    """

    folder: str
    format: str
    bundle: str
    sha256: str
    threads: int | None


@dataclass(frozen=True)
class UtteranceResult:
    """Result of one line.

    Attributes:
        line: Its number.
        status: Whether it was spoken, was present already, or failed.
        seconds: Of speech.
        message: Of the error.
        notes: Such as words that were left out.
        worker_s: Seconds that the worker took.
    """

    line: int
    status: Literal["spoken", "present", "failed"]
    seconds: float = 0.0
    message: str = ""
    notes: tuple[str, ...] = ()
    worker_s: float = 0.0


# A process speaks one utterance at a time: warnings are caught for the whole process.
_process_lock = threading.Lock()


@contextmanager
def lock_folder(folder: str) -> Iterator[None]:
    """Keep other batches from a folder, as fsspec names it, which is created if need be.

    Raises:
        InputError: Another batch writes to it, or it cannot be written.
    """
    with _lock_remote(folder) if "://" in folder else _lock_local(Path(folder)):
        yield


@contextmanager
def _lock_remote(folder: str) -> Iterator[None]:
    """Hold a lock file in a folder that fsspec reaches. Raises InputError if another batch holds it."""
    system, root = open_folder(folder)
    lock = f"{root}/{_LOCK}"
    owner = f"process {os.getpid()} of {platform.node()}"
    try:
        system.makedirs(root, exist_ok=True)
        system.pipe_file(lock, owner.encode(), mode="create")  # which s3fs and gcsfs do atomically
    except FileExistsError as error:
        owner = "unknown process"
        with suppress(FileNotFoundError):  # it has just ended
            owner = system.cat_file(lock).decode("utf-8", "replace")
        raise InputError(
            f"Another batch is writing to {folder} ({shorten(owner)}). Wait until it has ended, name another "
            f"folder, or delete {_LOCK} in it if that process was killed."
        ) from error
    try:
        yield
    finally:
        system.rm_file(lock)


@contextmanager
def _lock_local(folder: Path) -> Iterator[None]:
    """Hold a lock in a folder, which is created if need be.

    Raises InputError if another process holds it, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from error
    with hold_lock(folder / _LOCK, folder):
        yield


def speak(job: BatchSettings, utterance: BatchUtterance) -> UtteranceResult:
    """Write the file of an utterance unless it is present. An error of this line alone is a result."""
    with _process_lock:
        began = time.monotonic()
        system, root = open_folder(job.folder)
        audio = f"{root}/{utterance.name}.{job.format}"
        record, request = f"{audio}.json", _hash_request(job, utterance)
        seconds = _read_duration(system, audio, record, request)
        if seconds is not None:
            return UtteranceResult(utterance.line, "present", seconds)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SpeechWarning)
            try:
                seconds, content = _encode_speech(job, utterance)
            except InputError as error:
                return UtteranceResult(utterance.line, "failed", message=str(error))
        node = {"request": request, "sha256": hashlib.sha256(content).hexdigest(), "seconds": seconds}
        for path, data in ((audio, content), (record, json.dumps(node).encode())):
            with whole_file(system, path) as partial:
                system.pipe_file(partial, data)
        notes = tuple(str(w.message) for w in caught if issubclass(w.category, SpeechWarning))
        return UtteranceResult(
            utterance.line, "spoken", seconds, notes=notes, worker_s=time.monotonic() - began
        )


def _encode_speech(job: BatchSettings, utterance: BatchUtterance) -> tuple[float, bytes]:
    """Return the seconds of speech and the bytes of the file."""
    tts = _open_synthesizer(job.bundle, job.sha256, job.threads)
    synthesize: Callable[..., Any] = tts.from_phonemes if utterance.phonemes else tts
    options = {} if utterance.phonemes else {"language": utterance.language, "omit": utterance.omit}
    speech = synthesize(
        utterance.text, voice=utterance.voice, speed=utterance.speed, seed=utterance.seed, **options
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"speech.{job.format}"
        write_audio(path, [speech.audio], speech.sample_rate, title=utterance.name)
        return speech.audio.size / speech.sample_rate, path.read_bytes()


@cache
def _open_synthesizer(bundle: str, sha256: str, threads: int | None) -> Synthesizer:
    """Open a bundle once in this process. Raises KokoroTvmError if that fails."""
    try:
        return Synthesizer(bundle, threads=threads, sha256=sha256)
    except InputError as error:  # an error of this machine, not of a line
        raise KokoroTvmError(str(error)) from error


def _hash_request(job: BatchSettings, utterance: BatchUtterance) -> str:
    """Return the digest of everything that decides about the bytes of a file."""
    values = dataclasses.astuple(utterance)[2:]
    parts = [kokoro_tvm.__version__, job.sha256, *values]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _read_duration(system: Any, audio: str, record: str, request: str) -> float | None:
    """Return the seconds of speech in the file, or None if it must be spoken."""
    try:
        node = json.loads(system.cat_file(record))
        digest = hashlib.sha256(system.cat_file(audio)).hexdigest()
        return float(node["seconds"]) if (node["request"], node["sha256"]) == (request, digest) else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # no record, or a damaged one
        return None


def speak_here(
    job: BatchSettings, utterances: Sequence[BatchUtterance], workers: int
) -> Iterator[UtteranceResult]:
    """Yield results as processes of this machine finish them. Raises BuildError if one of them is killed."""
    spawn = multiprocessing.get_context("spawn")  # a fork would copy locks of other threads
    pool = ProcessPoolExecutor(workers, mp_context=spawn)
    try:
        for future in as_completed([pool.submit(speak, job, utterance) for utterance in utterances]):
            yield future.result()
    except BrokenProcessPool as error:
        raise BuildError(
            "a process that speaks was killed, as the system does for want of memory; the same command goes "
            "on where this one stopped, with fewer --workers if memory is short"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def speak_on_cluster(
    address: str, job: BatchSettings, utterances: Sequence[BatchUtterance], notify: Callable[[str], None]
) -> Iterator[UtteranceResult]:
    """Yield results as the workers of a Dask scheduler finish them.

    Another worker speaks an utterance that a lost worker had begun. An utterance that several workers died of
    has failed.

    Args:
        address: Of the scheduler.
        job: Settings.
        utterances: In the order in which they begin.
        notify: Called with messages about missing and lost workers.

    Raises:
        KokoroTvmError: As `connect` does, or an error of a worker that concerns more than a line.
    """
    from kokoro_tvm.common.scheduler import completed, connect  # it imports distributed

    with connect(address) as client, client.as_current():
        from distributed import KilledWorker

        lines = {
            client.submit(speak, job, utterance, pure=False, priority=-index): utterance.line
            for index, utterance in enumerate(utterances)
        }
        for future in completed(client, address, lines, notify):
            try:
                yield future.result()
            except KilledWorker as error:
                yield UtteranceResult(
                    lines[future], "failed", message=f"every worker that spoke it died: {error}"
                )
