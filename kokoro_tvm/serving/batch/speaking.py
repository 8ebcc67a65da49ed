"""Utterances of a batch, spoken by processes of this machine or by the workers of a Dask cluster: of each
its file and, beside it, the record of what was requested and what it holds.

A file that has its record, of the same request, and the bytes of that record is not computed again. Both get
their names when they are complete, the record last.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import kokoro_tvm
from kokoro_tvm.common.errors import BuildError, InputError, KokoroTvmError
from kokoro_tvm.common.remote import open_folder, whole_file
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.documents.writers import write_audio
from kokoro_tvm.runtime.locking import hold_lock
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.serving.batch.manifest import BatchUtterance

__all__ = ["BatchSettings", "UtteranceResult", "lock_folder", "speak", "speak_here", "speak_on_cluster"]

_LOCK = ".batch.lock"


@dataclass(frozen=True)
class BatchSettings:
    """What all utterances of a batch have in common.

    folder: where the files go, as fsspec names it; format: of the files, which is their suffix; bundle: its
    folder, the same on every machine; sha256: of its bundle.json; threads: of a process, None for its own.
    """

    folder: str
    format: str
    bundle: str
    sha256: str
    threads: int | None


@dataclass(frozen=True)
class UtteranceResult:
    """How a line went. seconds: of speech; message: of what failed; notes: what was left out and the like;
    worker_s: seconds that it took."""

    line: int
    manner: Literal["spoken", "present", "failed"]
    seconds: float = 0.0
    message: str = ""
    notes: tuple[str, ...] = ()
    worker_s: float = 0.0


# A process speaks one utterance at a time: its compiled code runs on one thread anyway, and warnings are
# caught for the whole process.
_turn = threading.Lock()


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other batches from a folder of this machine, which is created if need be.

    Raises InputError if another process writes to it, or nobody can.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from error
    with hold_lock(folder / _LOCK, folder):
        yield


def speak(job: BatchSettings, utterance: BatchUtterance) -> UtteranceResult:
    """Writes the file of an utterance unless it is there. Errors of this line alone are returned."""
    with _turn:
        began = time.monotonic()
        system, root = open_folder(job.folder)
        audio = f"{root}/{utterance.name}.{job.format}"
        record, request = f"{audio}.json", _request(job, utterance)
        seconds = _present(system, audio, record, request)
        if seconds is not None:
            return UtteranceResult(utterance.line, "present", seconds)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SpeechWarning)
            try:
                seconds, content = _spoken(job, utterance)
            except InputError as error:
                return UtteranceResult(utterance.line, "failed", message=str(error))
        found = {"request": request, "sha256": hashlib.sha256(content).hexdigest(), "seconds": seconds}
        for path, data in ((audio, content), (record, json.dumps(found).encode())):
            with whole_file(system, path) as partial:
                system.pipe_file(partial, data)
        notes = tuple(str(w.message) for w in caught if issubclass(w.category, SpeechWarning))
        return UtteranceResult(
            utterance.line, "spoken", seconds, notes=notes, worker_s=time.monotonic() - began
        )


def _spoken(job: BatchSettings, utterance: BatchUtterance) -> tuple[float, bytes]:
    """Seconds of speech, and the file's bytes."""
    tts = _synthesizer(job.bundle, job.sha256, job.threads)
    say: Callable[..., Any] = tts.from_phonemes if utterance.phonemes else tts
    speech = say(utterance.text, voice=utterance.voice, speed=utterance.speed, seed=utterance.seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"speech.{job.format}"
        write_audio(path, [speech.audio], speech.sample_rate, title=utterance.name)
        return speech.audio.size / speech.sample_rate, path.read_bytes()


@cache
def _synthesizer(bundle: str, sha256: str, threads: int | None) -> Synthesizer:
    try:
        return Synthesizer(bundle, threads=threads, sha256=sha256)
    except InputError as error:  # of this machine, not of a line
        raise KokoroTvmError(str(error)) from error


def _request(job: BatchSettings, utterance: BatchUtterance) -> str:
    """What decides about the bytes, as a digest."""
    u = utterance
    parts = [kokoro_tvm.__version__, job.sha256, u.text, u.phonemes, u.voice, u.speed, u.seed]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _present(system: Any, audio: str, record: str, request: str) -> float | None:
    """Seconds of the speech that the file holds, None where it has to be spoken."""
    try:
        found = json.loads(system.cat_file(record))
        if (
            found["request"] != request
            or hashlib.sha256(system.cat_file(audio)).hexdigest() != found["sha256"]
        ):
            return None
        return float(found["seconds"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # none, or not one of ours
        return None


def speak_here(
    job: BatchSettings, utterances: Sequence[BatchUtterance], workers: int
) -> Iterator[UtteranceResult]:
    """Outcomes as they come, of so many processes. Raises BuildError where one of them is killed."""
    spawn = multiprocessing.get_context("spawn")  # what a fork copies in the middle of a call is of no use
    pool = ProcessPoolExecutor(workers, mp_context=spawn)
    try:
        for future in as_completed([pool.submit(speak, job, each) for each in utterances]):
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
    """Outcomes as they come, of the workers of the scheduler at `address`. What a worker that dies had begun,
    another one speaks; an utterance that several workers died of is a failure. notify: hears of missing and
    lost workers.

    Raises as `connect` does, and what a worker raises that concerns more than a line.
    """
    from kokoro_tvm.common.scheduler import completed, connect  # whoever speaks does not need it

    with connect(address) as client, client.as_current():
        from distributed import KilledWorker

        lines = {
            client.submit(speak, job, each, pure=False, priority=-place): each.line
            for place, each in enumerate(utterances)
        }
        for future in completed(client, address, lines, notify):
            try:
                yield future.result()
            except KilledWorker as error:
                yield UtteranceResult(
                    lines[future], "failed", message=f"every worker that spoke it died: {error}"
                )
