"""Numbers about a server, as Prometheus reads them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence

from kokoro_tvm.serve.scheduler import Job, Scheduler

__all__ = ["Histogram", "Metrics"]

_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
_CACHE = {
    "read": ("Pieces looked for in the cache.", ("hit", "miss", "damaged", "failed", "skipped")),
    "write": ("Pieces for the cache.", ("written", "failed", "skipped")),
}
_FACTORS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)


class Histogram:
    """Values counted by upper bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        place = next((i for i, bound in enumerate(self._bounds) if value <= bound), len(self._bounds))
        self._counts[place] += 1
        self._sum += value

    def lines(self, name: str) -> Iterator[str]:
        """The lines of its samples."""
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """Counts of one process. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._speeches: Counter[str] = Counter()
        self._first_sound = Histogram(_SECONDS)
        self._factor = Histogram(_FACTORS)
        self._audio = self._computing = 0.0
        self._pieces = self._notices = self._cache_bytes = 0
        self._cache: Counter[tuple[str, str]] = Counter()

    def count_request(self, path: str, status: int) -> None:
        """Count an answered request; path: of its route; status: 0 where nothing was answered."""
        with self._lock:
            self._requests[path, status] += 1

    def count_speech(self, job: Job) -> None:
        """Count a job that has ended."""
        with self._lock:
            self._speeches[job.outcome] += 1
            self._audio += job.seconds
            self._computing += job.computing
            self._pieces += job.pieces
            if job.first_sound is not None:
                self._first_sound.add(job.first_sound)
            if job.seconds:
                self._factor.add(job.computing / job.seconds)

    def count_notice(self) -> None:
        """Count a SpeechWarning."""
        with self._lock:
            self._notices += 1

    def count_cache(self, action: str, result: str, size: int | None = None) -> None:
        """Count what became of a piece in the cache; action: read or write; size: bytes of the cache now."""
        with self._lock:
            self._cache[action, result] += 1
            self._cache_bytes = self._cache_bytes if size is None else size

    def text(self, scheduler: Scheduler, changed: int) -> str:
        """All of them in Prometheus' text format; changed: bundles whose files are others by now."""
        with self._lock:
            return "\n".join(self._lines(scheduler, changed)) + "\n"

    def _lines(self, scheduler: Scheduler, changed: int) -> Iterator[str]:
        name = "kokoro_tvm_http_requests_total"
        yield from _head(name, "counter", "Answered HTTP requests by route and status.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'{name}{{path="{path}",status="{status}"}} {count}'
        name = "kokoro_tvm_speeches_total"
        yield from _head(name, "counter", "Speeches by how they ended.")
        for outcome, count in sorted(self._speeches.items()):
            yield f'{name}{{outcome="{outcome}"}} {count}'
        plain = (
            ("speeches", "gauge", "Speeches that are computed or wait.", len(scheduler.jobs)),
            ("speeches_waiting", "gauge", "Speeches that wait for their turn.", scheduler.waiting),
            ("bundles_changed", "gauge", "Bundles whose files are others than those served.", changed),
            ("pieces_total", "counter", "Pieces of speech.", self._pieces),
            ("notices_total", "counter", "Notices about texts.", self._notices),
            ("cache_bytes", "gauge", "Bytes of the cache when a piece was last written.", self._cache_bytes),
            ("audio_seconds_total", "counter", "Seconds of audio.", round(self._audio, 6)),
            ("computing_seconds_total", "counter", "Seconds of turns.", round(self._computing, 6)),
        )
        for short, kind, about, value in plain:
            yield from _head(f"kokoro_tvm_{short}", kind, about)
            yield f"kokoro_tvm_{short} {value}"
        for action, (about, results) in _CACHE.items():
            name = f"kokoro_tvm_cache_{action}s_total"
            yield from _head(name, "counter", about)
            for result in results:
                yield f'{name}{{result="{result}"}} {self._cache[action, result]}'
        name = "kokoro_tvm_first_sound_seconds"
        yield from _head(name, "histogram", "Seconds from a request to its first audio.")
        yield from self._first_sound.lines(name)
        name = "kokoro_tvm_real_time_factor"
        yield from _head(name, "histogram", "Seconds of turns for a second of audio.")
        yield from self._factor.lines(name)


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
