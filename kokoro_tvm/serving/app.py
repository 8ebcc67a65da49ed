"""The FastAPI application: routes, middleware, errors, and tasks that run beside the requests."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

import kokoro_tvm
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.bundles import Bundles
from kokoro_tvm.serving.connections import Connections, ConnectionTimer, limit_connections, log_loop_errors
from kokoro_tvm.serving.downloads import Downloads
from kokoro_tvm.serving.errors import ApiError, describe_error, describe_invalid_field
from kokoro_tvm.serving.guard import Guard
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.pieces.cache import open_cache
from kokoro_tvm.serving.routes import health, kokoro, markup, openai, page, websocket
from kokoro_tvm.serving.scheduler import BusyError, Scheduler
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.settings import Settings
from kokoro_tvm.serving.wyoming import WyomingServer

_log = logging.getLogger("kokoro_tvm.serving")
_CHECK_INTERVAL_S = 5.0  # between two looks at the bundles' files
_EXPOSED_HEADERS = (
    "X-Unknown-Fields",
    "X-Ignored-Fields",
    "X-Notices",
    "X-Download-Path",
    "X-Request-Id",
    "Retry-After",
)
_ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_ERROR_RESPONSE = {"description": "An error.", "content": {"application/json": {"schema": _ERROR_SCHEMA}}}


def create_app(settings: Settings, bundles: Bundles) -> FastAPI:
    """Create the application.

    Raises:
        InputError: The cache of the settings cannot be used.
    """
    metrics = Metrics()
    scheduler = Scheduler(settings, on_end=metrics.count_speech)
    cache = open_cache(settings, metrics)
    downloads = Downloads(settings.download_folder, settings.download_size_mib << 20, settings.download_age_s)
    service = Service(settings, bundles, scheduler, metrics, downloads, cache)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        """Start what the server does besides requests, reload at SIGHUP, and close everything at the end."""
        loop = asyncio.get_running_loop()
        log_loop_errors(loop)
        tasks = [asyncio.create_task(_watch_bundles(service)), asyncio.create_task(service.open_front_ends())]
        if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():

            def reload() -> None:
                tasks.append(loop.create_task(service.reload()))

            signal.signal(signal.SIGHUP, lambda *_: loop.call_soon_threadsafe(reload))
        wyoming = app.state.wyoming = WyomingServer(service)
        if settings.wyoming_port is not None:
            await wyoming.start(settings.host, settings.wyoming_port)
        limit = limit_connections(settings.max_connections)
        yield {"connections": Connections(settings.request_timeout_s, limit)}
        for task in tasks:
            task.cancel()
        await wyoming.close()
        await scheduler.close()
        if cache is not None:
            await asyncio.to_thread(cache.close)
        await asyncio.to_thread(downloads.close)

    app = FastAPI(
        title="kokoro-tvm",
        version=kokoro_tvm.__version__,
        docs_url=None,  # FastAPI's page loads its scripts from another server; routes/health.py has one
        redoc_url=None,
        # For the OpenAPI document alone: the guard checks keys.
        dependencies=[Depends(HTTPBearer(auto_error=False))] if settings.api_key else (),
        responses={"default": _ERROR_RESPONSE},
        middleware=[Middleware(ConnectionTimer), *_cors(settings), Middleware(Guard, settings, metrics)],
        lifespan=lifespan,
        exception_handlers={
            RequestValidationError: _respond_to_invalid_body,
            HTTPException: _respond_to_http_exception,
            BusyError: _respond_to_error,
            InputError: _respond_to_error,
            Exception: _respond_to_error,
        },
    )
    app.state.service = service
    for module in (openai, kokoro, markup, health, websocket):
        app.include_router(module.router)
    app.router.routes.extend(page.routes())
    return app


def _cors(settings: Settings) -> Sequence[Middleware]:
    """Return the middleware for requests of other sites' pages; none if no site is allowed."""
    if not settings.cors:
        return ()
    return (
        Middleware(
            CORSMiddleware,
            allow_origins=settings.cors,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=_EXPOSED_HEADERS,
        ),
    )


async def _watch_bundles(service: Service) -> None:
    """Log once every bundle whose files change while it is served."""
    logged: set[str] = set()
    while True:
        changed = set(await asyncio.to_thread(service.bundles.changed))
        for name in changed - logged:
            _log.warning("bundle changed on disk; send SIGHUP to serve it", extra={"bundle": name})
        logged = changed
        await asyncio.sleep(_CHECK_INTERVAL_S)


async def _respond_to_error(request: Request, error: Exception) -> Response:
    """Convert an exception to a response."""
    return describe_error(error).response()


async def _respond_to_invalid_body(request: Request, error: Exception) -> Response:
    """Convert a validation error to a response that names the first invalid field."""
    assert isinstance(error, RequestValidationError)
    # A location begins with `body`, `query` or `path`.
    errors = [details | {"loc": details["loc"][1:]} for details in error.errors()]
    return describe_invalid_field(errors).response()


async def _respond_to_http_exception(request: Request, error: Exception) -> Response:
    """Convert an HTTP exception to a response; unknown paths and methods get a message."""
    assert isinstance(error, HTTPException)
    if isinstance(error, ApiError):
        return error.response()
    path = request.url.path[:200]
    messages = {404: f"There is no {path} here.", 405: f"{path} does not take {request.method}."}
    message = messages.get(error.status_code, error.detail)
    return ApiError(error.status_code, message, headers=error.headers).response()
