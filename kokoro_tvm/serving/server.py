"""Runs the application in uvicorn, in one process or in several."""

from __future__ import annotations

import ctypes
import ipaddress
import math
import os
import platform
import sys
from socket import socket
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from fastapi import FastAPI

from kokoro_tvm.runtime.threads import choose_threads
from kokoro_tvm.serving.app import create_app
from kokoro_tvm.serving.bundles import Bundles, name_folders
from kokoro_tvm.serving.connections import TimedProtocol
from kokoro_tvm.serving.logs import log_notices, start_logs
from kokoro_tvm.serving.pieces.cache import check_cache
from kokoro_tvm.serving.settings import Settings
from kokoro_tvm.serving.wyoming import check_port

_M_ARENA_MAX = -8  # as malloc.h of glibc numbers it
_WORKER_SETTINGS = "_KOKORO_TVM_SERVE"  # environment variable that hands the settings to the workers


def serve(settings: Settings) -> None:
    """Serve until a signal ends the process.

    Raises:
        BundleError: A bundle cannot be opened.
        InputError: A voice or the cache cannot be used, or Wyoming's port is not free.
    """
    if settings.wyoming_port:
        check_port(settings.host, settings.wyoming_port)
    if settings.workers == 1:
        _Server(uvicorn.Config(_create_app(settings), **uvicorn_options(settings))).run()
        return
    name_folders(settings.bundle)
    if settings.cache:
        check_cache(settings.cache)
    start_logs(settings.log_level)
    with TemporaryDirectory(prefix="kokoro-tvm-downloads-") as folder:  # shared by all workers
        shared = settings.model_copy(update={"download_folder": settings.download_folder or folder})
        os.environ[_WORKER_SETTINGS] = shared.model_dump_json()
        uvicorn.run(
            "kokoro_tvm.serving.server:create_worker_app",
            factory=True,
            workers=settings.workers,
            **uvicorn_options(settings),
        )


class _Server(uvicorn.Server):
    """Server that prints the address to open once it listens, if standard error is a terminal."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started and sys.stderr.isatty():
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            host = "localhost" if ipaddress.ip_address(host).is_unspecified else host
            name = f"[{host}]" if ":" in host else host
            print(f"Open http://{name}:{port} in a browser, or /docs there. Ctrl-C ends.", file=sys.stderr)


def create_worker_app() -> FastAPI:
    """Create the application of one of several processes."""
    return _create_app(Settings.model_validate_json(os.environ[_WORKER_SETTINGS]))


def _create_app(settings: Settings) -> FastAPI:
    """Create the application of a process: open its bundles and start its logs."""
    _use_one_arena()
    threads = choose_threads(settings.threads, settings.workers)
    bundles = Bundles.open(name_folders(settings.bundle), threads, settings.voices, settings.lexicon)
    app = create_app(settings, bundles)
    start_logs(settings.log_level)
    log_notices(app.state.service.metrics, settings.log_texts)
    return app


def _use_one_arena() -> None:
    """Let all threads allocate from one arena, if the C library is glibc."""
    # Each request has a thread, and only one of them computes at a time. glibc gives each thread an arena, up
    # to eight a core, and an arena keeps freed memory for its own threads.
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    """Return the options of `uvicorn.Config`."""
    return {
        "host": settings.host,
        "port": settings.port,
        "loop": "asyncio",
        "http": TimedProtocol,
        "ws": "wsproto",
        "ws_max_size": settings.max_message_bytes,
        "ws_per_message_deflate": False,  # audio gains nothing by it, and a small message may unfold
        "h11_max_incomplete_event_size": settings.max_head_bytes,
        "lifespan": "on",
        "server_header": False,
        "access_log": False,
        "log_config": None,
        "timeout_keep_alive": math.ceil(settings.request_timeout_s),
        "timeout_graceful_shutdown": math.ceil(settings.shutdown_timeout_s),
    }
