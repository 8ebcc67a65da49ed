"""Routes that say what they are, for the OpenAPI document and the page about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

__all__ = ["ApiRoute"]


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
