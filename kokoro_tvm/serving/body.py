"""Bodies of requests: JSON of bounded depth. (Their size and time are bounded by the guard.)"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from starlette.requests import ClientDisconnect, Request

from kokoro_tvm.common.words import shorten
from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.fields import read
from kokoro_tvm.serving.service import Service

__all__ = ["aside_if_large", "parse_json", "read_request"]

T = TypeVar("T")
_DEEPEST = 16
_MOST_VALUES = 10_000  # each takes up to thirty times the memory that it has in JSON
_LARGE = 1 << 14  # bytes, which are read in less than a millisecond


async def read_request(
    request: Request, record: type[T], service: Service, computation: bool = False
) -> tuple[T, dict[str, str]]:
    """(the request of a body, headers of the answer that name its unknown fields).

    computation: whether it is one for `Scheduler.compute`. Raises ApiError, which names what is wrong, and
    BusyError before it reads the body if there is no place: uvicorn throws away what still comes of it.
    """
    service.scheduler.check_place(computation)
    data = await _read_all(request)
    wanted, unknown = await aside_if_large(
        data, lambda: read(record, parse_json(data, "The body"), service.settings)
    )
    if not unknown:
        return wanted, {}
    names = ", ".join(name if name.isidentifier() and name.isascii() else "?" for name in unknown[:16])
    return wanted, {"X-Unknown-Fields": names[:512]}


async def aside_if_large(data: bytes | bytearray, read: Callable[[], T]) -> T:
    """The result of reading some data: by another thread, where it would keep the event loop for long."""
    return read() if len(data) <= _LARGE else await asyncio.to_thread(read)


async def _read_all(request: Request) -> bytearray:
    data = bytearray()
    try:
        async for part in request.stream():
            data += part
    except ClientDisconnect:
        raise ApiError(400, "The body ended early.", code="incomplete_body") from None
    return data


def parse_json(data: bytes | bytearray, what: str) -> Any:
    """The value of some JSON. Raises ApiError for what is nested too deep or no JSON."""
    try:
        node = json.loads(data.decode("utf-8"), parse_float=_finite, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        reason = (
            error.msg if isinstance(error, json.JSONDecodeError) else "it is not UTF-8, or nested too deep"
        )
        raise ApiError(400, f"{what} is not JSON: {reason}.", code="invalid_json") from None
    depth, values = _extent(node)
    if depth > _DEEPEST:
        raise ApiError(400, f"{what} is nested more than {_DEEPEST} deep.", code="invalid_json")
    if values > _MOST_VALUES:
        raise ApiError(400, f"{what} has more than {_MOST_VALUES} values.", code="invalid_json")
    return node


def _finite(digits: str) -> float:
    found = float(digits)
    return found if math.isfinite(found) else _not_json(digits)


def _not_json(word: str) -> NoReturn:
    raise json.JSONDecodeError(f"{shorten(word)} is no number", word, 0)


def _extent(node: Any) -> tuple[int, int]:
    """How deep lists and objects are nested, and how many values there are."""
    depth, values, level = 0, 0, [node]
    while level:
        depth, values = depth + 1, values + len(level)
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
        ]
    return depth, values
