"""Results of measurements in Node, as a JSON file and as a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import ClassVar

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.tools.bench.results import BenchRecord


class WebTiming(BenchRecord):
    """One text by one system with a number of threads: seconds of the first call and of later ones."""

    system: str
    threads: int
    text: str
    samples: int
    first_s: float
    seconds_s: tuple[float, ...]
    peak_rss_bytes: int

    @property
    def audio_s(self) -> float:
        """Seconds of audio."""
        return self.samples / SAMPLE_RATE

    @property
    def rtf(self) -> float:
        """Median seconds of computing for a second of speech."""
        return statistics.median(self.seconds_s) / self.audio_s


class WebResult(BenchRecord):
    """One measurement."""

    command: ClassVar[str] = "python -m kokoro_tvm.tools.bench.web"
    machine: str
    node: str
    date: str
    rounds: int
    others_cores: float | None
    """Mean number of cores that other processes kept busy."""
    versions: dict[str, str]
    spoken: tuple[WebTiming, ...]


def rows(result: WebResult) -> Iterator[list[str]]:
    """Yield the head of a table, then a row for each system and number of threads."""
    lengths = {timing.text: timing.audio_s for timing in result.spoken}
    heads = [f"{text}, {seconds:.1f} s" for text, seconds in lengths.items()]
    yield ["system", "threads", *heads, f"peak memory, {list(lengths)[-1]}"]
    for system, threads in dict.fromkeys((timing.system, timing.threads) for timing in result.spoken):
        timings = {t.text: t for t in result.spoken if (t.system, t.threads) == (system, threads)}
        factors = [f"{timings[text].rtf:.2f}" if text in timings else "–" for text in lengths]
        peak = max(timing.peak_rss_bytes for timing in timings.values())
        yield [system, str(threads), *factors, f"{peak / 1e6:.0f} MB"]
