"""Numbers about a server, as Prometheus reads them."""

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

from kokoro_tvm.serving.scheduler import Scheduler, SpeechJob

__all__ = ["Metrics"]

_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
_FACTORS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)

disable_created_metrics()


class Metrics:
    """Counts of one process. Threads may share it."""

    def __init__(self) -> None:
        # Apart from each other: `speeches` of now beside `speeches_total` is one name twice to a registry.
        self.counted, self._now = CollectorRegistry(), CollectorRegistry()

        def counter(name: str, about: str, labels: Sequence[str] = ()) -> Counter:
            return Counter(f"kokoro_tvm_{name}", about, labels, registry=self.counted)

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(f"kokoro_tvm_{name}", about, registry=self._now)

        def histogram(name: str, about: str, bounds: Sequence[float]) -> Histogram:
            return Histogram(f"kokoro_tvm_{name}", about, buckets=bounds, registry=self.counted)

        self._requests = counter(
            "http_requests_total", "Answered HTTP requests by route and status.", ("path", "status")
        )
        self._speeches = counter("speeches_total", "Speeches by how they ended.", ("outcome",))
        self._jobs = gauge("speeches", "Speeches that are computed or wait.")
        self._waiting = gauge("speeches_waiting", "Speeches that wait for their turn.")
        self._changed = gauge("bundles_changed", "Bundles whose files are others than those served.")
        self._pieces = counter("pieces_total", "Pieces of speech.")
        self._notices = counter("notices_total", "Notices about texts.")
        self._cache_bytes = gauge("cache_bytes", "Bytes of the cache when a piece was last written.")
        self._audio = counter("audio_seconds_total", "Seconds of audio.")
        self._computing = counter("computing_seconds_total", "Seconds of turns.")
        self._cache = {
            "read": counter("cache_reads_total", "Pieces looked for in the cache.", ("result",)),
            "write": counter("cache_writes_total", "Pieces for the cache.", ("result",)),
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
        """Count an answered request; path: of its route; status: 0 where nothing was answered."""
        self._requests.labels(path, status).inc()

    def count_speech(self, job: SpeechJob) -> None:
        """Count a job that has ended."""
        self._speeches.labels(job.outcome).inc()
        self._audio.inc(job.seconds)
        self._computing.inc(job.computing)
        self._pieces.inc(job.pieces)
        if job.first_sound is not None:
            self._first_sound.observe(job.first_sound)
        if job.seconds:
            self._factor.observe(job.computing / job.seconds)

    def count_notice(self) -> None:
        """Count a SpeechWarning."""
        self._notices.inc()

    def count_cache(self, action: str, result: str, size: int | None = None) -> None:
        """Count what became of a piece in the cache; action: read or write; size: bytes of the cache now."""
        self._cache[action].labels(result).inc()
        if size is not None:
            self._cache_bytes.set(size)

    def text(self, scheduler: Scheduler, changed: int) -> str:
        """All of them in Prometheus' text format; changed: bundles whose files are others by now."""
        self._jobs.set(len(scheduler.jobs))
        self._waiting.set(scheduler.waiting)
        self._changed.set(changed)
        return (generate_latest(self.counted) + generate_latest(self._now)).decode()
