"""Scheduler: jobs take turns, and short ones are not delayed by long ones."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from serving import LONG, GatedRunner, toy_synthesizer, wait_for

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.speech.stream import Stream
from kokoro_tvm.serving.bundles import make_yielding
from kokoro_tvm.serving.feed import Feed, read_in_turns
from kokoro_tvm.serving.jobs import SpeechJob
from kokoro_tvm.serving.scheduler import BusyError, Scheduler
from kokoro_tvm.serving.settings import Settings

T = TypeVar("T")
SHORT = "A bad dog."


@pytest.fixture
def runner() -> Iterator[GatedRunner]:
    gated = GatedRunner()
    yield gated
    gated.gate.set()


@pytest.fixture
def tts(tmp_path: Path, runner: GatedRunner) -> Synthesizer:
    return make_yielding(toy_synthesizer(tmp_path / "toy", runner))


def of(tts: Synthesizer, text: str) -> Callable[[], Stream]:
    return lambda: tts.stream(text)


def run(work: Callable[[Scheduler], Awaitable[T]], **settings: Any) -> T:
    """`work` in an event loop, with a scheduler that is closed after it."""

    async def whole() -> T:
        made = Scheduler(Settings(**settings))
        try:
            return await work(made)
        finally:
            await made.close()
            assert not made.jobs

    return asyncio.run(whole())


async def heard(job: SpeechJob) -> bytes:
    return b"".join([chunk.audio.tobytes() async for chunk in job])


def test_jobs_get_their_own_audio(tts: Synthesizer) -> None:
    texts = [f"{word} {LONG}" for word in ("Bad", "Dog", "Cab", "Hand", "Home", "Back", "Dim", "Big")]
    alone = [tts(text).audio.tobytes() for text in texts]

    async def work(scheduler: Scheduler) -> list[bytes]:
        return await asyncio.gather(*(heard(scheduler.submit(of(tts, text))) for text in texts))

    assert run(work) == alone


def test_measured_job_plans_before_it_renders(tts: Synthesizer, runner: GatedRunner) -> None:
    async def work(scheduler: Scheduler) -> tuple[int | None, int]:
        job = scheduler.submit(of(tts, LONG), is_measured=True)
        samples = await job.begin()
        return samples, len(await heard(job)) // 4

    samples, heard_ones = run(work)
    assert samples == heard_ones == tts.plan(LONG).samples
    first = [name for name, _ in runner.calls].index("decoder_seeded")
    assert [name for name, _ in runner.calls[:first]].count("duration") > 1


def frames(tts: Synthesizer, text: str) -> list[int]:
    """What the decoder computes of a text, piece by piece."""
    return [piece.frames for piece in tts.plan(text).pieces if piece.words]


def decoded(tts: Synthesizer, runner: GatedRunner, texts: list[str], priorities: list[int]) -> list[int]:
    """Frames in the order they are decoded, where all texts come while the first piece of the first is."""

    async def work(scheduler: Scheduler) -> None:
        runner.gate.clear()
        runner.calls.clear()
        jobs = [scheduler.submit(of(tts, texts[0]), priorities[0])]
        await asyncio.to_thread(runner.waiting.acquire)
        for text, priority in zip(texts[1:], priorities[1:], strict=True):
            jobs.append(scheduler.submit(of(tts, text), priority))
            await asyncio.to_thread(wait_for, lambda: scheduler.waiting == len(jobs) - 1)
        runner.gate.set()
        await asyncio.gather(*map(heard, jobs))

    run(work)
    return [length for name, length in runner.calls if name == "decoder_seeded"]


def test_first_pieces_precede_later_pieces(tts: Synthesizer, runner: GatedRunner) -> None:
    long, short, shorter = frames(tts, LONG), frames(tts, SHORT), frames(tts, "Ha.")
    assert len(long) > 2
    order = decoded(tts, runner, [LONG, SHORT, "Ha."], [0, 0, 0])
    assert order == [long[0], *short, *shorter, *long[1:]]


def test_priority_precedes_arrival(tts: Synthesizer, runner: GatedRunner) -> None:
    long, short, shorter = frames(tts, LONG), frames(tts, SHORT), frames(tts, "Ha.")
    order = decoded(tts, runner, [LONG, SHORT, "Ha."], [1, 0, 2])
    assert order == [long[0], *shorter, *long[1:], *short]


def test_sentence_precedes_the_plan_of_a_book(
    tts: Synthesizer, runner: GatedRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = "A bad dog ran home. [pause:99s] " * 5
    planning, go_on = threading.Event(), threading.Event()
    duration = runner.duration

    def held(*inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        planning.set()
        assert go_on.wait(30)
        return duration(*inputs)

    monkeypatch.setattr(runner, "duration", held)

    async def work(scheduler: Scheduler) -> None:
        whole = scheduler.submit(of(tts, book), is_measured=True)
        await asyncio.to_thread(planning.wait)
        sentence = scheduler.submit(of(tts, SHORT))
        await asyncio.to_thread(wait_for, lambda: scheduler.waiting)
        go_on.set()
        await asyncio.gather(heard(sentence), heard(whole))

    run(work)
    calls = [name for name, _ in runner.calls]
    assert calls[: calls.index("decoder_seeded")].count("duration") == 2, "one of either"


def test_sentence_precedes_the_reading_of_a_long_text(tts: Synthesizer, runner: GatedRunner) -> None:
    """There is nothing to compute in it, and so nothing else that would let others go first."""
    reading, go_on = threading.Event(), threading.Event()
    read: list[str] = []

    def long() -> Iterator[str]:
        for portion in read_in_turns("[" * 5_000):
            reading.set()
            assert go_on.wait(30)
            read.append(portion)
            yield portion

    async def work(scheduler: Scheduler) -> int:
        whole = scheduler.submit(lambda: tts.stream(long()))
        await asyncio.to_thread(reading.wait)
        sentence = scheduler.submit(of(tts, SHORT))
        await asyncio.to_thread(wait_for, lambda: scheduler.waiting)
        go_on.set()
        await sentence.begin()
        before = len(read)
        await heard(sentence)
        with pytest.raises(InputError, match="nothing to speak"):
            await heard(whole)
        return before

    before = run(work)
    assert before < 4
    assert len(read) == 10


def test_cancelled_job_computes_no_further_component(tts: Synthesizer, runner: GatedRunner) -> None:
    async def work(scheduler: Scheduler) -> int:
        runner.gate.clear()
        job = scheduler.submit(of(tts, LONG))
        await asyncio.to_thread(runner.waiting.acquire)
        job.cancel()
        count = len(runner.calls)
        assert [chunk async for chunk in job] == []
        runner.gate.set()
        await asyncio.to_thread(job.join)
        return len(runner.calls) - count

    assert run(work) == 0


def test_waiting_job_can_be_cancelled(tts: Synthesizer, runner: GatedRunner) -> None:
    async def work(scheduler: Scheduler) -> None:
        runner.gate.clear()
        first = scheduler.submit(of(tts, SHORT))
        await asyncio.to_thread(runner.waiting.acquire)
        second = scheduler.submit(of(tts, SHORT))
        async with second:
            await asyncio.to_thread(wait_for, lambda: scheduler.waiting)
        await asyncio.to_thread(second.join)  # while the first still computes
        assert first in scheduler.jobs
        runner.gate.set()
        assert await heard(first)

    run(work)


def test_slow_reader_delays_no_other_job(tts: Synthesizer, runner: GatedRunner) -> None:
    async def work(scheduler: Scheduler) -> tuple[bytes, bytes, int]:
        slow = scheduler.submit(of(tts, LONG))
        await slow.begin()
        quick = await heard(scheduler.submit(of(tts, LONG)))
        pieces = slow.pieces
        return await heard(slow), quick, pieces

    slow, quick, pieces = run(work, audio_buffer_s=0.001)
    assert slow == quick == tts(LONG).audio.tobytes()
    assert pieces == 1, "what its reader does not take is not computed"


def test_submit_refuses_jobs_above_the_limit(tts: Synthesizer, runner: GatedRunner) -> None:
    async def work(scheduler: Scheduler) -> None:
        runner.gate.clear()
        jobs = [scheduler.submit(of(tts, SHORT)) for _ in range(2)]
        with pytest.raises(BusyError, match="2 requests are being spoken") as caught:
            scheduler.submit(of(tts, SHORT))
        assert caught.value.retry_after >= 1
        runner.gate.set()
        for job in jobs:
            await heard(job)
            await asyncio.to_thread(job.join)
        assert await heard(scheduler.submit(of(tts, SHORT)))

    run(work, max_requests=2)


def test_job_raises_errors_to_its_reader(tts: Synthesizer) -> None:
    async def work(scheduler: Scheduler) -> None:
        with pytest.raises(InputError, match="nothing to speak"):
            await scheduler.submit(of(tts, "...")).begin()
        with pytest.raises(InputError, match="no voice"):
            await heard(scheduler.submit(lambda: tts.stream("Ha.", "nobody")))
        assert await heard(scheduler.submit(of(tts, SHORT)))

    run(work)


def test_feed_waits_without_the_turn(tts: Synthesizer) -> None:
    async def work(scheduler: Scheduler) -> tuple[bytes, bytes]:
        feed = Feed()
        job = scheduler.submit(lambda: tts.stream(feed))
        feed.put("A bad dog. And th")
        other = await heard(scheduler.submit(of(tts, LONG)))  # while the text is not there
        feed.put("en he ran.")
        feed.end()
        return await heard(job), other

    portions, other = run(work)
    assert portions == tts("A bad dog. And then he ran.").audio.tobytes()
    assert other == tts(LONG).audio.tobytes()


def test_feed_wait_ends_with_the_job(tts: Synthesizer) -> None:
    async def work(scheduler: Scheduler) -> None:
        job = scheduler.submit(lambda: tts.stream(Feed()))
        while scheduler.waiting or job.has_turn:
            await asyncio.sleep(0.001)
        job.cancel()
        await asyncio.to_thread(job.join)

    run(work)


def test_scheduler_leaves_no_thread(tts: Synthesizer) -> None:
    async def work(scheduler: Scheduler) -> None:
        for _ in range(3):
            job = scheduler.submit(of(tts, SHORT))
            assert np.frombuffer(await heard(job), np.float32).size

    run(work)
    wait_for(lambda: not [t for t in threading.enumerate() if t.name == "kokoro-tvm-request"])


def test_failed_job_releases_its_text() -> None:
    """Without the collector of cycles, which comes late: an error holds the frames that it went through."""

    class Text(str):
        pass

    async def work(scheduler: Scheduler) -> None:
        texts: list[weakref.ref[Text]] = []

        def fail() -> None:
            text = Text("he " * 100)
            texts.append(weakref.ref(text))
            try:
                raise ValueError(text.upper())
            except ValueError as error:
                raise InputError("a text that cannot be read") from error

        job = scheduler.compute(fail)
        with pytest.raises(InputError):
            await job.result()
        assert texts[0]() is None

    gc.disable()
    try:
        run(work)
    finally:
        gc.enable()
