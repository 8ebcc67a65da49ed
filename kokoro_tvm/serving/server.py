"""Runs the application in uvicorn, in one process or in several."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import math
import os
import platform
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from starlette.applications import Starlette

from kokoro_tvm.runtime.threads import choose_threads
from kokoro_tvm.serving.app import create_app
from kokoro_tvm.serving.bundles import Bundles, named_folders
from kokoro_tvm.serving.connections import BoundedProtocol, BoundedWebSocket
from kokoro_tvm.serving.ending import end_within
from kokoro_tvm.serving.logs import log_notices, start_logs
from kokoro_tvm.serving.pieces.cache import check_cache
from kokoro_tvm.serving.settings import Settings
from kokoro_tvm.serving.wyoming import check_port

__all__ = ["app_of_worker", "serve", "uvicorn_options"]

_M_ARENA_MAX = -8  # as malloc.h of glibc numbers it
_HANDED = "_KOKORO_TVM_SERVE"  # where a worker finds its settings


def serve(settings: Settings) -> None:
    """Serve until a signal ends the process.

    Raises BundleError where a bundle cannot be opened, InputError for a voice or a cache that cannot be one
    and for a port of Wyoming's that is not free.
    """
    if settings.wyoming:
        check_port(settings.host, settings.wyoming)
    if settings.workers > 1:
        named_folders(settings.bundle)
        if settings.cache:
            check_cache(settings.cache)
        start_logs()
        with TemporaryDirectory(prefix="kokoro-tvm-downloads-") as folder:  # which all of them share
            shared = dataclasses.replace(settings, downloads=settings.downloads or folder)
            os.environ[_HANDED] = json.dumps(dataclasses.asdict(shared))
            uvicorn.run(
                "kokoro_tvm.serving.server:app_of_worker",
                factory=True,
                workers=settings.workers,
                **uvicorn_options(settings),
            )
        return
    app = _app(settings)
    end_within(settings.grace)
    uvicorn.Server(uvicorn.Config(app, **uvicorn_options(settings))).run()


def app_of_worker() -> Starlette:
    """The application of one of several processes."""
    node = json.loads(os.environ[_HANDED])
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in node.items()
    }
    settings = Settings(**values)
    end_within(settings.grace)
    return _app(settings)


def _app(settings: Settings) -> Starlette:
    _keep_one_arena()
    threads = choose_threads(settings.threads, settings.workers)
    bundles = Bundles.open(named_folders(settings.bundle), threads, settings.voices)
    app = create_app(settings, bundles)
    start_logs()
    log_notices(app.state.service.metrics, settings.log_texts)
    return app


def _keep_one_arena() -> None:
    """Let all threads allocate from one arena, if the C library is glibc.

    Each request has a thread, and only one of them computes at a time. glibc gives each thread an arena, up
    to eight a core, and an arena keeps freed memory for its own threads.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    """How uvicorn runs the application: what `uvicorn.Config` takes."""
    return {
        "host": settings.host,
        "port": settings.port,
        "loop": "asyncio",  # another would listen to signals in the place of what ends the process
        "http": BoundedProtocol,
        "ws": BoundedWebSocket,
        "ws_max_size": settings.most_bytes,
        "ws_per_message_deflate": False,  # audio gains nothing by it, and what is small may unfold
        "h11_max_incomplete_event_size": settings.most_head_bytes,
        "lifespan": "on",
        "server_header": False,
        "access_log": False,
        "log_config": None,
        "timeout_graceful_shutdown": math.ceil(settings.grace),
    }
