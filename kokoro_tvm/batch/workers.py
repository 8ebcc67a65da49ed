"""Who speaks the utterances of a batch: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from kokoro_tvm.batch.manifest import Utterance
from kokoro_tvm.batch.speaking import Job, Outcome, speak
from kokoro_tvm.engine.scheduler import connect
from kokoro_tvm.errors import BuildError

__all__ = ["speak_here", "speak_on_cluster"]


def speak_here(job: Job, utterances: Sequence[Utterance], workers: int) -> Iterator[Outcome]:
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


def speak_on_cluster(address: str, job: Job, utterances: Sequence[Utterance]) -> Iterator[Outcome]:
    """Outcomes as they come, of the workers of the scheduler at `address`. What a worker that dies had begun,
    another one speaks; an utterance that several workers died of is a failure.

    Raises as `connect` does, and what a worker raises that concerns more than a line.
    """
    with connect(address) as client, client.as_current():
        from distributed import KilledWorker
        from distributed import as_completed as completed

        lines = {
            client.submit(speak, job, each, pure=False, priority=-place): each.line
            for place, each in enumerate(utterances)
        }
        for future in completed(lines):
            try:
                yield future.result()
            except KilledWorker as error:
                yield Outcome(lines[future], "failed", message=f"every worker that spoke it died: {error}")
