"""Routes for operators: health, readiness, metrics, and the documentation of the interface."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse

from kokoro_tvm.serving.service import CurrentService

__all__ = ["router"]

router = APIRouter()

_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_STYLE = "body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}td,th{text-align:left;\
vertical-align:top;padding:.2rem .8rem .2rem 0}code{font-size:.9em}"


@router.get("/health", summary="Answers while the process lives.")
async def health() -> dict[str, str]:
    return {"status": "healthy"}


@router.get(
    "/ready",
    summary="200 while texts are spoken; 503 at the start, and while the queue is full.",
    response_class=JSONResponse,
)
async def ready(service: CurrentService) -> JSONResponse:
    return JSONResponse({"status": service.status}, 200 if service.status == "ready" else 503)


@router.get("/metrics", summary="Metrics for Prometheus.", response_class=PlainTextResponse)
async def metrics(service: CurrentService) -> PlainTextResponse:
    changed = await asyncio.to_thread(service.bundles.changed)  # a disk may be slow
    text = service.metrics.text(service.scheduler, len(changed))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse("".join(_render(request.app.openapi())), headers=_POLICY)


def _render(document: dict[str, Any]) -> Iterator[str]:
    """Yield the HTML of an OpenAPI document, which needs no script and no other server."""
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>kokoro-tvm</title><style>{_STYLE}</style>"
    yield "<h1>kokoro-tvm</h1><p>The same as <a href=openapi.json>OpenAPI</a>.</p>"
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{_mark(operation['summary'])}</p>"
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query":
                    yield f"<p><code>?{parameter['name']}=</code> {_mark(parameter['description'])}</p>"
            if "requestBody" in operation:
                reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                schema = schemas[reference.rpartition("/")[2]]
                yield "<table><tr><th>field<th>value<th>default<th>meaning</tr>"
                yield from _render_fields(schema.get("anyOf", [schema])[0])
                yield "</table>"


def _render_fields(schema: dict[str, Any]) -> Iterator[str]:
    """Yield a table row for each field of a request."""
    for name, field in schema["properties"].items():
        default = "required" if name in schema.get("required", ()) else field.get("default")
        cells = (
            f"<code>{name}</code>",
            escape(_describe_type(field)),
            escape("" if default is None else str(default)),
            _mark(field["description"]),
        )
        yield f"<tr>{''.join(f'<td>{cell}' for cell in cells)}</tr>"


def _describe_type(schema: dict[str, Any]) -> str:
    """Describe a JSON schema in words."""
    choices = schema.get("oneOf") or schema.get("anyOf")
    if choices:
        return " or ".join(_describe_type(choice) for choice in choices if choice != {"type": "null"})
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "maxLength" in schema:
        return f"string of up to {schema['maxLength']} characters"
    bounds = f", {schema['minimum']:g} to {schema['maximum']:g}" if "minimum" in schema else ""
    return schema.get("type", "object") + bounds


def _mark(text: str) -> str:
    """Escape a text, and mark the code between its backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
