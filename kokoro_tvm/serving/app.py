"""The application: routes, errors in the interface's shape, and what happens at start and end."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.budget import ByteBudget
from kokoro_tvm.serving.bundles import Bundles
from kokoro_tvm.serving.connections import Connections, InRequest, log_loop_errors, possible_connections
from kokoro_tvm.serving.downloads import Downloads
from kokoro_tvm.serving.errors import ApiError, error_of
from kokoro_tvm.serving.guard import Guard
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.pieces.cache import open_cache
from kokoro_tvm.serving.routes import health, kokoro, markup, openai, page, websocket
from kokoro_tvm.serving.scheduler import BusyError, Scheduler
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.settings import Settings
from kokoro_tvm.serving.wyoming import WyomingServer

__all__ = ["create_app"]

_log = logging.getLogger("kokoro_tvm.serving")
_LOOK = 5.0  # seconds between two looks at the bundles' files
_EXPOSED = (
    *("X-Unknown-Fields", "X-Ignored-Fields", "X-Notices", "X-Download-Path"),
    *("X-Request-Id", "Retry-After"),
)


def create_app(settings: Settings, bundles: Bundles) -> Starlette:
    """An application that speaks with bundles. Raises InputError for a cache that cannot be one."""
    metrics = Metrics()
    scheduler = Scheduler(settings, ended=metrics.count_speech)
    pieces = open_cache(settings, metrics)
    downloads = Downloads(settings.downloads, settings.download_size << 20, settings.download_age)
    service = Service(settings, bundles, scheduler, metrics, downloads, pieces)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        log_loop_errors(asyncio.get_running_loop())
        tasks = [asyncio.create_task(_watch(service)), asyncio.create_task(service.open_front_ends())]
        if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()

            def reload() -> None:
                tasks.append(loop.create_task(service.reload()))

            signal.signal(signal.SIGHUP, lambda *_: loop.call_soon_threadsafe(reload))
        wyoming = app.state.wyoming = WyomingServer(service)
        if settings.wyoming is not None:
            await wyoming.start(settings.host, settings.wyoming)
        connections = Connections(
            settings.idle,
            possible_connections(settings.most_connections),
            ByteBudget(settings.most_requests * settings.most_bytes),
        )
        yield {"connections": connections}
        for task in tasks:
            task.cancel()
        await wyoming.close()
        await scheduler.close()
        if pieces is not None:
            await asyncio.to_thread(pieces.close)
        await asyncio.to_thread(downloads.close)

    guard = Middleware(Guard, settings=settings, metrics=metrics)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.cors,
        allow_methods=["GET", "POST"],
        allow_headers=["*"],
        expose_headers=_EXPOSED,
    )
    app = Starlette(
        routes=[
            *openai.routes(service),
            *kokoro.routes(service),
            *markup.routes(service),
            *health.routes(service),
            *websocket.routes(service),
            *page.routes(),
        ],
        middleware=[Middleware(InRequest), *([cors] if settings.cors else []), guard],
        lifespan=lifespan,
        exception_handlers={
            ApiError: _refused,
            BusyError: _refused,
            InputError: _refused,
            HTTPException: _refused_by_route,
            Exception: _refused,
        },
    )
    app.state.service = service
    return app


async def _watch(service: Service) -> None:
    """Log every bundle whose files change while it is served, once."""
    known: set[str] = set()
    while True:
        changed = set(await asyncio.to_thread(service.bundles.changed))
        for name in changed - known:
            _log.warning("bundle changed on disk; send SIGHUP to serve it", extra={"bundle": name})
        known = changed
        await asyncio.sleep(_LOOK)


async def _refused(request: Request, error: Exception) -> Response:
    return error_of(error).response()


async def _refused_by_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path[:200]
    words = {404: f"There is no {path} here.", 405: f"{path} does not take {request.method}."}
    message = words.get(error.status_code, error.detail)
    return ApiError(error.status_code, message, headers=error.headers).response()
