"""The events of a build as JSON lines, for programs that follow it."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TextIO

from kokoro_tvm.errors import BuildError

__all__ = ["Event", "EventLog", "Kind"]

Kind = Literal["begin", "start", "phase", "done", "restored", "current", "failed", "blocked", "end"]


@dataclass(frozen=True)
class Event:
    """One thing that happened; of what does not belong to its kind, there is none.

    seconds: how long the stage ran, or the build; bytes: of all its outputs; error: the kind of a failure, by
    the name of its class; message: the stage in a line, its phase, or what went wrong.
    """

    event: Kind
    stage: str | None = None
    seconds: float | None = None
    bytes: int | None = None
    message: str | None = None
    error: str | None = None
    log: str | None = None
    stages: int | None = None
    built: int | None = None
    restored: int | None = None
    current: int | None = None
    failed: int | None = None
    blocked: int | None = None


class EventLog:
    """Appends events to a file, each whole, with the time in UTC and the process that builds.

    Threads and builds may share the file. Raises BuildError if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise self._cannot(error) from error

    def write(self, event: Event) -> None:
        """Appends an event. Raises BuildError, naming the file, if it cannot be written."""
        fields = {k: v for k, v in asdict(event).items() if v is not None}
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, "pid": os.getpid(), **fields}, ensure_ascii=False)
        with self._lock:
            try:
                self._file.write(f"{line}\n")
            except OSError as error:
                raise self._cannot(error) from error

    def _cannot(self, error: OSError) -> BuildError:
        return BuildError(
            f"the events of the build cannot be written to {self._path}: {error.strerror or error}; "
            "name a file that can be written (--events, or KOKORO_TVM_EVENTS), or none"
        )
