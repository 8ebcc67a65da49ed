"""Pieces that were spoken before are not computed again; a store that fails costs that, and nothing else."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from concurrent.futures import Future, wait

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.remote import READ_ONLY, has_protocol, unreachable
from kokoro_tvm.runtime.session.model import Floats, Model
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.rendering import Renderer, digest_of
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.pieces.store import DamagedError, PieceStore
from kokoro_tvm.serving.scheduler import without_turn
from kokoro_tvm.serving.settings import Settings

__all__ = ["PieceCache", "check_cache", "open_cache"]

_AT_ONCE = 0.005  # seconds for which a read is waited for with the turn, which is longer to get than a disk
_LAST = 5.0  # seconds for what is to be written when the server ends

_log = logging.getLogger("kokoro_tvm.serving")


def check_cache(url: str) -> None:
    """Raise InputError for a folder that cannot be written to, or that no installed library reaches."""
    if has_protocol(url, READ_ONLY):
        raise InputError(f"The cache, {url}, is a web server. Name a folder or a bucket.")
    try:
        reason = unreachable(url)
    except ModuleNotFoundError as error:
        raise InputError(
            f"A cache needs {error.name}, which is not installed. Run `pip install 'kokoro-tvm[cache]'`."
        ) from error
    if reason:
        raise InputError(f"The cache, {url}, cannot be reached: {reason}.")


def open_cache(settings: Settings, metrics: Metrics) -> PieceCache | None:
    """The cache that the settings name, if they name one. Raises InputError as `check_cache` does."""
    if not settings.cache:
        return None
    check_cache(settings.cache)
    return PieceCache(PieceStore(settings.cache, settings.cache_size << 20), metrics)


class PieceCache:
    """Audio of pieces from a store, else from a renderer. Threads may share it; `close` ends its own.

    A store that fails or hangs is logged once, left alone for a while, and tried again.
    """

    def __init__(
        self,
        store: PieceStore,
        metrics: Metrics,
        patience: float = 2.0,
        rest: float = 30.0,
        waiting: int = 64 << 20,
    ) -> None:
        """patience: seconds until a read has to be there; rest: seconds for which a store that failed is left
        alone; waiting: bytes of audio that may wait to be written."""
        self._store = store
        self._metrics = metrics
        self._patience = patience
        self._rest = rest
        self._most = waiting
        self._waits = {"read": 0.0, "write": 0.0}  # times until which the store is left alone
        self._hanging = 0  # reads that did not come back
        self._lock = threading.Condition()
        self._pending: deque[tuple[str, Floats]] = deque()
        self._pending_bytes = 0
        self._closing = False
        self._writer = threading.Thread(target=self._write_all, name="kokoro-tvm-cache", daemon=True)
        self._writer.start()

    def around(self, render: Renderer) -> Renderer:
        """A renderer that asks the store first, and gives it what it lacks."""

        def cached(
            model: Model, table: Floats, plan: Plan, piece: Piece, features: Floats | None = None
        ) -> Floats:
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
        """Write what waits, within a few seconds."""
        with self._lock:
            self._closing = True
            self._lock.notify_all()
        self._writer.join(_LAST)

    def _read(self, digest: str, samples: int) -> Floats | None:
        if not self._usable("read"):
            self._metrics.count_cache("read", "skipped")
            return None
        answer: Future[Floats | None] = Future()

        def read() -> None:
            try:
                answer.set_result(self._store.get(digest, samples))
            except BaseException as error:  # whoever waits raises it
                answer.set_exception(error)

        threading.Thread(target=read, name="kokoro-tvm-cache-read", daemon=True).start()
        if not wait([answer], _AT_ONCE).done:
            without_turn(lambda: wait([answer], self._patience))
        if not answer.done():
            with self._lock:
                self._hanging += 1
            answer.add_done_callback(self._came_back)
            self._fail("read", TimeoutError(f"it did not answer within {self._patience:g} s"))
            return None
        try:
            found = answer.result()
        except DamagedError as error:
            self._metrics.count_cache("read", "damaged")
            _log.warning("cache entry damaged", extra={"error": str(error)})
            return None
        except Exception as error:  # whatever a library for some protocol raises
            self._fail("read", error)
            return None
        self._metrics.count_cache("read", "miss" if found is None else "hit")
        return found

    def _came_back(self, answer: Future[Floats | None]) -> None:
        with self._lock:
            self._hanging -= 1

    def _write(self, digest: str, audio: Floats) -> None:
        """Let the writer keep audio, unless too much waits for it."""
        with self._lock:
            room = self._pending_bytes + audio.nbytes <= self._most and not self._closing
            if room:
                self._pending.append((digest, audio))
                self._pending_bytes += audio.nbytes
                self._lock.notify_all()
        if not room:
            self._metrics.count_cache("write", "skipped")

    def _write_all(self) -> None:
        """The writer's thread."""
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._pending or self._closing)
                if not self._pending:
                    return
                digest, audio = self._pending.popleft()
                self._pending_bytes -= audio.nbytes
            if not self._usable("write"):
                self._metrics.count_cache("write", "skipped")
                continue
            try:
                kept = self._store.put(digest, audio)
            except Exception as error:  # whatever a library for some protocol raises
                self._fail("write", error)
            else:
                self._metrics.count_cache("write", "written" if kept else "skipped", self._store.bytes)

    def _usable(self, action: str) -> bool:
        """Whether the store is to be used; reads that hang are waited for, so that they do not pile up."""
        with self._lock:
            return time.monotonic() >= self._waits[action] and not self._hanging

    def _fail(self, action: str, error: Exception) -> None:
        self._metrics.count_cache(action, "failed")
        with self._lock:
            first = time.monotonic() >= self._waits[action]
            self._waits[action] = time.monotonic() + self._rest
        if first:
            fields = {"cache": self._store.url, "error": f"{type(error).__name__}: {error}"}
            _log.warning(f"cache cannot be {'read' if action == 'read' else 'written'}", extra=fields)
