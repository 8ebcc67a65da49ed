"""Events of a build as JSON lines, for programs that follow it."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TextIO

from kokoro_tvm.common.errors import BuildError

Kind = Literal["begin", "start", "phase", "done", "restored", "current", "failed", "blocked", "end"]


class EventLog:
    """Appends events to a file, with the time in UTC and the process id.

    Threads and builds may share the file. Raises BuildError if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise self._write_error(error) from error

    def write(self, event: Kind, **fields: Any) -> None:
        """Append an event with its fields (docs/build.md), except those that are None.

        Raises:
            BuildError: The file cannot be written.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields = {name: value for name, value in fields.items() if value is not None}
        line = {"time": now, "pid": os.getpid(), "event": event, **fields}
        text = json.dumps(line, ensure_ascii=False, default=str)
        with self._lock:
            try:
                self._file.write(f"{text}\n")
            except OSError as error:
                raise self._write_error(error) from error

    def _write_error(self, error: OSError) -> BuildError:
        """Return the error of a file that cannot be written."""
        return BuildError(
            f"the events of the build cannot be written to {self._path}: {error.strerror or error}; "
            "name a file that can be written (--events, or KOKORO_TVM_EVENTS), or none"
        )
