"""What those who run a server ask it: whether it lives, whether it takes requests, how it does."""

from __future__ import annotations

import asyncio
from functools import cache

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kokoro_tvm.serving.openapi import ApiRoute, document, page
from kokoro_tvm.serving.service import Service

__all__ = ["routes"]


def routes(service: Service) -> list[Route]:
    """The routes of a server."""

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "healthy"})

    async def ready(request: Request) -> JSONResponse:
        return JSONResponse({"status": service.status}, 200 if service.status == "ready" else 503)

    async def metrics(request: Request) -> PlainTextResponse:
        changed = await asyncio.to_thread(service.bundles.changed)  # a disk may be slow
        text = service.metrics.text(service.scheduler, len(changed))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    @cache
    def pages(app: Starlette) -> tuple[JSONResponse, HTMLResponse]:
        policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return (
            JSONResponse(document(app.routes, service.settings)),
            HTMLResponse(page(app.routes, service.settings), headers=policy),
        )

    async def openapi(request: Request) -> Response:
        return pages(request.app)[0]

    async def docs(request: Request) -> Response:
        return pages(request.app)[1]

    return [
        ApiRoute("GET", "/health", health, "Answers while the process lives."),
        ApiRoute(
            "GET",
            "/ready",
            ready,
            "200 while texts are spoken; 503 at the start, and while as many requests wait as may.",
        ),
        ApiRoute("GET", "/metrics", metrics, "Metrics for Prometheus.", None, "text/plain"),
        Route("/openapi.json", openapi),
        Route("/docs", docs),
    ]
