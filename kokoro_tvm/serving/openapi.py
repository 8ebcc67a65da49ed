"""Routes that say what they are, the OpenAPI document of them, and a page that reads it out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

import kokoro_tvm
from kokoro_tvm.serving.fields import Field, fields, schema
from kokoro_tvm.serving.settings import Settings

__all__ = ["ApiRoute", "document", "page"]

_ERROR = {
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
_STYLE = "body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}td,th{text-align:left;\
vertical-align:top;padding:.2rem .8rem .2rem 0}code{font-size:.9em}"


class ApiRoute(Route):
    """A route with a line about it, the request it takes and the media types it answers with."""

    def __init__(
        self,
        method: str,
        path: str,
        endpoint: Callable[[Request], Awaitable[Any]],
        about: str,
        record: type[Any] | None = None,
        *answers: str,
        query: Mapping[str, str] | None = None,
    ) -> None:
        """answers: JSON where none is given; query: lines about the parameters of its query."""
        super().__init__(path, endpoint, methods=[method])
        self.method = method
        self.about = about
        self.record = record
        self.answers = answers or ("application/json",)
        self.query = query or {}


def document(routes: Iterable[BaseRoute], settings: Settings) -> dict[str, Any]:
    """The document, of version 3.1, of a server with these settings."""
    paths: dict[str, Any] = {}
    for route in _described(routes):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, settings)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kokoro-tvm", "version": kokoro_tvm.__version__},
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def page(routes: Iterable[BaseRoute], settings: Settings) -> str:
    """HTML that lists every route with its fields."""
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>kokoro-tvm</title><style>{_STYLE}</style>"
    ]
    parts.append("<h1>kokoro-tvm</h1><p>The same as <a href=openapi.json>OpenAPI</a>.</p>")
    for route in _described(routes):
        parts.append(
            f"<h2><code>{route.method} {escape(route.path)}</code></h2><p>{_marked(route.about)}</p>"
        )
        parts += [
            f"<p><code>?{escape(name)}=</code> {_marked(about)}</p>" for name, about in route.query.items()
        ]
        if route.record is not None:
            parts.append("<table><tr><th>field<th>value<th>default<th>meaning</tr>")
            parts += map(_row, fields(route.record, settings))
            parts.append("</table>")
    return "".join(parts) + "</html>"


def _row(field: Field) -> str:
    default = "required" if field.required else "" if field.default is None else field.default
    cells = (
        f"<code>{field.name}</code>",
        _kind(field.kind.schema),
        escape(str(default)),
        _marked(field.about),
    )
    return f"<tr>{''.join(f'<td>{cell}' for cell in cells)}</tr>"


def _described(routes: Iterable[BaseRoute]) -> Iterator[ApiRoute]:
    return (route for route in routes if isinstance(route, ApiRoute))


def _operation(route: ApiRoute, settings: Settings) -> dict[str, Any]:
    error = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    made: dict[str, Any] = {
        "summary": route.about,
        "responses": {
            "200": {"description": "The answer.", "content": {answer: {} for answer in route.answers}},
            "default": {"description": "An error."} | error,
        },
    }
    if route.record is not None:
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema(route.record, settings)}},
        }
    parameters = [
        {"name": name, "in": "path", "required": True} for name in re.findall(r"{(\w+)}", route.path)
    ]
    parameters += [{"name": name, "in": "query", "description": about} for name, about in route.query.items()]
    if parameters:
        made["parameters"] = [each | {"schema": {"type": "string"}} for each in parameters]
    return made


def _kind(field: Any) -> str:
    if "oneOf" in field:
        return " or ".join(map(_kind, field["oneOf"]))
    if "enum" in field:
        return escape(", ".join(field["enum"]))
    bounds = f", {field['minimum']:g} to {field['maximum']:g}" if "minimum" in field else ""
    bounds = f" of up to {field['maxLength']} characters" if "maxLength" in field else bounds
    return escape(field["type"] + bounds)


def _marked(text: str) -> str:
    """Text whose code stands between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
