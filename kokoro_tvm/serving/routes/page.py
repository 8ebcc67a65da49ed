"""The page at `/`: the files of `kokoro_tvm/web/`, each at an address of its own, under a strict policy."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

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
    "Cache-Control": "no-cache",  # a browser asks whether an upgrade has changed a file
}


def routes() -> list[Route]:
    """Create a route for each file that exists now: no other path is looked for on disk."""
    files = StaticFiles(directory=WEB)

    def create_route(path: str) -> Route:
        """Create the route of a file."""

        async def send_file(request: Request) -> Response:
            """Send the file."""
            response = await files.get_response(path, request.scope)
            response.headers.update(_HEADERS)
            return response

        return Route("/" if path == "index.html" else f"/{path}", send_file)

    return [create_route(path.relative_to(WEB).as_posix()) for path in page_files()]
