"""Metrics of a server, in Prometheus' format."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from kokoro_tvm.serving.jobs import SpeechJob
from kokoro_tvm.serving.scheduler import Scheduler

_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
_FACTORS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)

disable_created_metrics()


class Metrics:
    """Metrics of one process. Threads may share it."""

    def __init__(self) -> None:
        # Two registries, because one refuses a gauge `speeches` beside the counter `speeches_total`.
        self.counted, self._gauges = CollectorRegistry(), CollectorRegistry()

        def counter(name: str, about: str, labels: Sequence[str] = ()) -> Counter:
            return Counter(f"kokoro_tvm_{name}", about, labels, registry=self.counted)

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(f"kokoro_tvm_{name}", about, registry=self._gauges)

        def histogram(name: str, about: str, bounds: Sequence[float]) -> Histogram:
            return Histogram(f"kokoro_tvm_{name}", about, buckets=bounds, registry=self.counted)

        self._requests = counter(
            "http_requests_total", "Answered HTTP requests by route and status.", ("path", "status")
        )
        self._speeches = counter("speeches_total", "Speeches by outcome.", ("outcome",))
        self._jobs = gauge("speeches", "Speeches that are computed or wait.")
        self._waiting = gauge("speeches_waiting", "Speeches that wait for their turn.")
        self._changed = gauge("bundles_changed", "Bundles whose files have changed since they were opened.")
        self._pieces = counter("pieces_total", "Pieces of speech.")
        self._notices = counter("notices_total", "Notices about texts.")
        self._cache_bytes = gauge("cache_bytes", "Bytes of the cache when a piece was last written.")
        self._audio = counter("audio_seconds_total", "Seconds of audio.")
        self._computing = counter("computing_seconds_total", "Seconds of turns.")
        self._cache = {
            "read": counter("cache_reads_total", "Reads of pieces from the cache.", ("result",)),
            "write": counter("cache_writes_total", "Writes of pieces to the cache.", ("result",)),
        }
        for result in ("hit", "miss", "damaged", "failed", "skipped"):
            self._cache["read"].labels(result)
        for result in ("written", "failed", "skipped"):
            self._cache["write"].labels(result)
        self._first_sound = histogram(
            "first_sound_seconds", "Seconds from a request to its first audio.", _SECONDS
        )
        self._factor = histogram("real_time_factor", "Seconds of turns for a second of audio.", _FACTORS)

    def count_request(self, path: str, status: int) -> None:
        """Count a request by the path of its route and its status, 0 if it had no response."""
        self._requests.labels(path, status).inc()

    def count_speech(self, job: SpeechJob) -> None:
        """Count a speech that has ended."""
        self._speeches.labels(job.outcome).inc()
        self._audio.inc(job.audio_s)
        self._computing.inc(job.computing_s)
        self._pieces.inc(job.pieces)
        if job.first_audio_s is not None:
            self._first_sound.observe(job.first_audio_s)
        if job.audio_s:
            self._factor.observe(job.computing_s / job.audio_s)

    def count_notice(self) -> None:
        """Count a SpeechWarning."""
        self._notices.inc()

    def count_cache(self, action: str, result: str, size: int | None = None) -> None:
        """Count an access to the cache.

        Args:
            action: read or write.
            result: One of the results above.
            size: Bytes of the cache now.
        """
        self._cache[action].labels(result).inc()
        if size is not None:
            self._cache_bytes.set(size)

    def text(self, scheduler: Scheduler, changed: int) -> str:
        """Return all metrics in Prometheus' text format; `changed` is the number of changed bundles."""
        self._jobs.set(len(scheduler.jobs))
        self._waiting.set(scheduler.waiting)
        self._changed.set(changed)
        return (generate_latest(self.counted) + generate_latest(self._gauges)).decode()
