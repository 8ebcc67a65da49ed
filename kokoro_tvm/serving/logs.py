"""Logs on standard error, without the texts of requests by default: JSON, or plain lines on a terminal."""

from __future__ import annotations

import json
import logging
import re
import sys
import warnings
from datetime import datetime, timezone
from typing import Any

from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.serving.metrics import Metrics

_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "color_message"}
# The query of an address: some clients send their key in it.
_QUERY = re.compile(r"\?[\w.%-]+=[^\s\"']*")


class JsonLines(logging.Formatter):
    """Formatter: time, level, message and extra fields as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line of JSON."""
        time = datetime.fromtimestamp(record.created, timezone.utc)  # noqa: UP017 - Python 3.10 has no UTC
        node = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        node |= _fields_of(record)
        if record.exc_info:
            node["exception"] = self.formatException(record.exc_info)
        return json.dumps(_without_queries(node), default=str, ensure_ascii=False)


class PlainLines(logging.Formatter):
    """Formatter: local time, message and extra fields as words; the level if it is worse than `info`."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line, and its traceback below."""
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        level = f"{record.levelname}  " if record.levelno > logging.INFO else ""
        node = _without_queries({"message": record.getMessage(), **_fields_of(record)})
        message = node.pop("message")
        line = "  ".join([f"{time}  {level}{message}", *(f"{name}={value}" for name, value in node.items())])
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _fields_of(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}


def _without_queries(node: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _QUERY.sub("?…", value) if isinstance(value, str) else value for name, value in node.items()
    }


def start_logs(level: str) -> None:
    """Log this package, uvicorn and asyncio on standard error from a level on; replace other handlers."""
    is_terminal = sys.stderr.isatty()
    handler = logging.StreamHandler()
    handler.setFormatter(PlainLines() if is_terminal else JsonLines())
    for name in ("kokoro_tvm.serving", "uvicorn", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    if is_terminal and level == "info":
        logging.getLogger("uvicorn").setLevel(logging.WARNING)  # the server itself prints its address


def log_notices(metrics: Metrics, texts: bool) -> None:
    """Replace `warnings.showwarning`: count every SpeechWarning, and log it if `texts` may be logged."""
    shown = warnings.showwarning
    log = logging.getLogger("kokoro_tvm.serving")

    def show(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
        """Count and log a SpeechWarning; show other warnings as before."""
        if not issubclass(category, SpeechWarning):
            shown(message, category, *place, **options)
            return
        metrics.count_notice()
        if texts:
            log.info("notice", extra={"notice": str(message)})

    warnings.simplefilter("always", SpeechWarning)
    warnings.showwarning = show
