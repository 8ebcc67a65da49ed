"""What those who run a server ask it: whether it lives, whether it takes requests, how it does."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.routing import Route

from kokoro_tvm.serve.openapi import document, page
from kokoro_tvm.serve.routes.described import ApiRoute
from kokoro_tvm.serve.service import Service

__all__ = ["routes"]


def routes(service: Service) -> list[Route]:
    """The routes of a server."""

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "healthy"})

    async def ready(request: Request) -> JSONResponse:
        if service.ready:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "busy"}, 503)

    async def metrics(request: Request) -> PlainTextResponse:
        text = service.metrics.text(service.scheduler, len(service.bundles.changed()))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def openapi(request: Request) -> JSONResponse:
        return JSONResponse(document(request.app.routes, service.settings))

    async def docs(request: Request) -> HTMLResponse:
        policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return HTMLResponse(page(request.app.routes, service.settings), headers=policy)

    return [
        ApiRoute("GET", "/health", health, "Answers while the process lives."),
        ApiRoute("GET", "/ready", ready, "200 while requests are taken, 503 while as many wait as may."),
        ApiRoute("GET", "/metrics", metrics, "Metrics for Prometheus.", None, "text/plain"),
        Route("/openapi.json", openapi),
        Route("/docs", docs),
    ]
