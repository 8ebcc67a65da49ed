"""JSON from clients: read with bounds, in another thread if it is large."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute

from kokoro_tvm.common.words import shorten
from kokoro_tvm.serving.errors import ApiError

_MAX_DEPTH = 16
_MAX_VALUES = 10_000  # each takes up to thirty times the memory that it has in JSON
_LARGE = 1 << 14  # bytes; less is read in less than a millisecond


class _JsonRequest(Request):
    """Request whose body FastAPI reads as JSON within the bounds of `parse_json`."""

    async def json(self) -> Any:
        """Parse the body."""
        return await read_json(await self.body(), "The body")


class JsonRoute(APIRoute):
    """Route whose body is JSON, whatever its Content-Type says, and a request for speech."""

    is_computation = False

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Create the handler that reads the body as JSON."""
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            """Refuse a request that has no place in the queue; else handle its body as JSON."""
            if self.body_field is None:
                return await handle(request)
            # A refused request's body is not read: uvicorn throws away what still comes.
            request.app.state.service.scheduler.check_place(self.is_computation)
            headers = [pair for pair in request.scope["headers"] if pair[0] != b"content-type"]
            scope = dict(request.scope, headers=[*headers, (b"content-type", b"application/json")])
            return await handle(_JsonRequest(scope, request.receive))

        return handle_json


class ComputationRoute(JsonRoute):
    """Route whose body is a request for `Scheduler.compute`."""

    is_computation = True


async def read_json(data: bytes | bytearray, source: str) -> Any:
    """Parse JSON as `parse_json` does; large input is parsed by another thread than the event loop's."""
    if len(data) <= _LARGE:
        return parse_json(data, source)
    return await asyncio.to_thread(parse_json, data, source)


def parse_json(data: bytes | bytearray, source: str) -> Any:
    """Parse JSON.

    Args:
        data: The input.
        source: Subject of error messages.

    Raises:
        ApiError: The input is not JSON, is nested too deep or has too many values.
    """
    try:
        node = json.loads(data.decode("utf-8"), parse_float=_parse_float, parse_constant=_refuse_number)
    except (ValueError, RecursionError) as error:
        reason = "it is not UTF-8, or nested too deep"
        if isinstance(error, json.JSONDecodeError):
            reason = error.msg
        raise ApiError(400, f"{source} is not JSON: {reason}.", code="invalid_json") from None
    depth, values = _measure_json(node)
    if depth > _MAX_DEPTH:
        raise ApiError(400, f"{source} is nested more than {_MAX_DEPTH} deep.", code="invalid_json")
    if values > _MAX_VALUES:
        raise ApiError(400, f"{source} has more than {_MAX_VALUES} values.", code="invalid_json")
    return node


def _parse_float(digits: str) -> float:
    """Parse a float. Raises JSONDecodeError for one that is infinite."""
    number = float(digits)
    return number if math.isfinite(number) else _refuse_number(digits)


def _refuse_number(word: str) -> NoReturn:
    """Raise JSONDecodeError for NaN and Infinity."""
    raise json.JSONDecodeError(f"{shorten(word)} is no number", word, 0)


def _measure_json(node: Any) -> tuple[int, int]:
    """Return the depth of lists and objects, and the number of values."""
    depth, values, level = 0, 0, [node]
    while level:
        depth, values = depth + 1, values + len(level)
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
    return depth, values
