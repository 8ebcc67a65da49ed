"""What was measured in Node, as a file and as a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import ClassVar

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.tools.bench.record import BenchRecord

__all__ = ["WebResult", "WebTiming", "rows"]


class WebTiming(BenchRecord):
    """A text spoken by a system with so many threads: seconds of the first call and of each later one."""

    system: str
    threads: int
    text: str
    samples: int
    first_s: float
    seconds_s: tuple[float, ...]
    peak_rss_bytes: int

    @property
    def audio_s(self) -> float:
        return self.samples / SAMPLE_RATE

    @property
    def rtf(self) -> float:
        """The median seconds of computing for a second of speech."""
        return statistics.median(self.seconds_s) / self.audio_s


class WebResult(BenchRecord):
    """Everything of one measurement. others_cores: cores that other processes kept busy, None if unknown."""

    command: ClassVar[str] = "python -m kokoro_tvm.tools.bench.web"
    machine: str
    node: str
    date: str
    rounds: int
    others_cores: float | None
    versions: dict[str, str]
    spoken: tuple[WebTiming, ...]


def rows(result: WebResult) -> Iterator[list[str]]:
    """A row for each system and number of threads: the real-time factor of every text, load and memory."""
    texts = list(dict.fromkeys(each.text for each in result.spoken))
    lengths = {each.text: each.audio_s for each in result.spoken}
    peaks = f"peak memory, {texts[-1]}"
    yield ["system", "threads", *(f"{text}, {lengths[text]:.1f} s" for text in texts), peaks]
    for system, threads in dict.fromkeys((each.system, each.threads) for each in result.spoken):
        found = {e.text: e for e in result.spoken if (e.system, e.threads) == (system, threads)}
        factors = [f"{found[text].rtf:.2f}" if text in found else "–" for text in texts]
        most = max(each.peak_rss_bytes for each in found.values())
        yield [system, str(threads), *factors, f"{most / 1e6:.0f} MB"]
