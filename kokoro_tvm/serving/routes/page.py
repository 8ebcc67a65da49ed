"""The page at `/`, and its files at addresses that change with their content, under a strict policy."""

from __future__ import annotations

import hashlib
from pathlib import PurePath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kokoro_tvm.web import WEB, page_files

__all__ = ["POLICY", "routes"]

POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content-Security-Policy: the page has no inline code and sends requests to this server alone."""
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FOREVER = "max-age=31536000, immutable"
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def routes() -> list[Route]:
    """Create a route for the page and for each of its files, as they are now.

    The files are below a folder that is named by their content: browsers keep them until an upgrade.
    """
    files = {path.relative_to(WEB).as_posix(): path.read_bytes() for path in page_files()}
    index = files.pop("index.html").decode()
    folder = hashlib.sha256(b"".join(files.values())).hexdigest()[:16]
    page = index.replace('"./', f'"./{folder}/').encode()
    return [
        _create_route("/", page, "text/html", "no-cache"),
        *(
            _create_route(f"/{folder}/{path}", content, _MEDIA_TYPES[PurePath(path).suffix], _FOREVER)
            for path, content in files.items()
        ),
    ]


def _create_route(path: str, content: bytes, media_type: str, caching: str) -> Route:
    headers = _HEADERS | {"Cache-Control": caching}

    async def send(request: Request) -> Response:
        return Response(content, headers=headers, media_type=media_type)

    return Route(path, send)
