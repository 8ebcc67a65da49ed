"""Cache of spoken pieces: a piece in the store is not computed, and a store that fails does no harm."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from concurrent.futures import Future, wait

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.remote import READ_ONLY, has_protocol, missing_library
from kokoro_tvm.runtime.session.model import Floats, Model
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.rendering import Renderer, digest_of
from kokoro_tvm.serving.jobs import without_turn
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.pieces.store import DamagedError, PieceStore
from kokoro_tvm.serving.settings import Settings

_QUICK_READ_S = 0.005  # for which a job keeps its turn: a disk answers sooner than the turn comes back
_CLOSE_TIMEOUT_S = 5.0  # for pending writes when the server ends

_log = logging.getLogger("kokoro_tvm.serving")


def check_cache(url: str) -> None:
    """Raise InputError if a folder is read-only, or no installed library reaches it."""
    if has_protocol(url, READ_ONLY):
        raise InputError(f"The cache, {url}, is a web server. Name a folder or a bucket.")
    try:
        reason = missing_library(url)
    except ModuleNotFoundError as error:
        raise InputError(
            f"A cache needs {error.name}, which is not installed. Run `pip install 'kokoro-tvm[cache]'`."
        ) from error
    if reason:
        raise InputError(f"The cache, {url}, cannot be reached: {reason}.")


def open_cache(settings: Settings, metrics: Metrics) -> PieceCache | None:
    """Open the cache of the settings, or return None without one. Raises InputError as `check_cache` does."""
    if not settings.cache:
        return None
    check_cache(settings.cache)
    return PieceCache(PieceStore(settings.cache, settings.cache_size_mib << 20), metrics)


class PieceCache:
    """Audio of pieces from a store, else from a renderer. Threads may share it; `close` ends its own thread.

    A store that fails or hangs is logged once, not used for a while, and tried again.
    """

    def __init__(
        self,
        store: PieceStore,
        metrics: Metrics,
        read_timeout_s: float = 2.0,
        retry_delay_s: float = 30.0,
        max_pending_bytes: int = 64 << 20,
    ) -> None:
        """Start the thread that writes.

        Args:
            store: Of the audio.
            metrics: Count reads and writes.
            read_timeout_s: Seconds after which a read has failed.
            retry_delay_s: Seconds for which a store that failed is not used.
            max_pending_bytes: Bytes of audio that wait to be written; more is not written.
        """
        self._store = store
        self._metrics = metrics
        self._read_timeout_s = read_timeout_s
        self._retry_delay_s = retry_delay_s
        self._max_pending_bytes = max_pending_bytes
        self._retry_at = {"read": 0.0, "write": 0.0}  # times until which the store is not used
        self._hanging_reads = 0
        self._lock = threading.Condition()
        self._pending: deque[tuple[str, Floats]] = deque()
        self._pending_bytes = 0
        self._is_closing = False
        self._writer = threading.Thread(target=self._run_writer, name="kokoro-tvm-cache", daemon=True)
        self._writer.start()

    def around(self, render: Renderer) -> Renderer:
        """Wrap a renderer: it reads a piece from the store, else renders and writes it."""

        def cached(
            model: Model, table: Floats, plan: Plan, piece: Piece, features: Floats | None = None
        ) -> Floats:
            """Return the audio of a piece from the store, else render and write it."""
            if not piece.words or not model.bundle.sha256:
                return render(model, table, plan, piece, features)
            digest = digest_of(model.bundle, table, plan, piece)
            audio = self._read(digest, piece.samples(plan.samples_per_frame))
            if audio is None:
                audio = render(model, table, plan, piece, features)
                self._write(digest, audio)
            return audio

        return cached

    def close(self) -> None:
        """Take no more audio, and wait a few seconds until what is pending is written; the rest is lost."""
        with self._lock:
            self._is_closing = True
            self._lock.notify_all()
        self._writer.join(_CLOSE_TIMEOUT_S)

    def _read(self, digest: str, samples: int) -> Floats | None:
        """Return audio from the store; None if it has none or does not answer in time.

        A slow read gives the job's turn away.
        """
        if not self._is_usable("read"):
            self._metrics.count_cache("read", "skipped")
            return None
        future: Future[Floats | None] = Future()

        def read() -> None:
            """Read on a thread of its own, because a read may hang."""
            try:
                future.set_result(self._store.get(digest, samples))
            except BaseException as error:  # the reader raises it
                future.set_exception(error)

        threading.Thread(target=read, name="kokoro-tvm-cache-read", daemon=True).start()
        if not wait([future], _QUICK_READ_S).done:
            without_turn(lambda: wait([future], self._read_timeout_s))
        if not future.done():
            with self._lock:
                self._hanging_reads += 1
            future.add_done_callback(self._end_hanging_read)
            self._record_failure("read", TimeoutError(f"it did not answer within {self._read_timeout_s:g} s"))
            return None
        try:
            audio = future.result()
        except DamagedError as error:
            self._metrics.count_cache("read", "damaged")
            _log.warning("cache entry damaged", extra={"error": str(error)})
            return None
        except Exception as error:  # libraries of protocols raise errors of their own
            self._record_failure("read", error)
            return None
        self._metrics.count_cache("read", "miss" if audio is None else "hit")
        return audio

    def _end_hanging_read(self, future: Future[Floats | None]) -> None:
        """Count a read that has ended after its time."""
        with self._lock:
            self._hanging_reads -= 1

    def _write(self, digest: str, audio: Floats) -> None:
        """Queue audio for the writer, unless too much is pending."""
        with self._lock:
            is_queued = self._pending_bytes + audio.nbytes <= self._max_pending_bytes and not self._is_closing
            if is_queued:
                self._pending.append((digest, audio))
                self._pending_bytes += audio.nbytes
                self._lock.notify_all()
        if not is_queued:
            self._metrics.count_cache("write", "skipped")

    def _run_writer(self) -> None:
        """Write queued audio until the cache is closed. A failure pauses the writer, and is counted."""
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._pending or self._is_closing)
                if not self._pending:
                    return
                digest, audio = self._pending.popleft()
                self._pending_bytes -= audio.nbytes
            if not self._is_usable("write"):
                self._metrics.count_cache("write", "skipped")
                continue
            try:
                is_written = self._store.put(digest, audio)
            except Exception as error:  # libraries of protocols raise errors of their own
                self._record_failure("write", error)
            else:
                self._metrics.count_cache("write", "written" if is_written else "skipped", self._store.bytes)

    def _is_usable(self, action: str) -> bool:
        """Whether the store is used now. While a read hangs it is not, so that reads do not pile up."""
        with self._lock:
            return time.monotonic() >= self._retry_at[action] and not self._hanging_reads

    def _record_failure(self, action: str, error: Exception) -> None:
        """Count a failure, pause the use of the store, and log the first failure after a pause."""
        self._metrics.count_cache(action, "failed")
        with self._lock:
            is_first = time.monotonic() >= self._retry_at[action]
            self._retry_at[action] = time.monotonic() + self._retry_delay_s
        if is_first:
            fields = {"cache": self._store.url, "error": f"{type(error).__name__}: {error}"}
            _log.warning(f"cache cannot be {'read' if action == 'read' else 'written'}", extra=fields)
