"""Errors in the shape of OpenAI's interface: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from kokoro_tvm.common.errors import BundleError, InputError, OutOfMemoryError
from kokoro_tvm.serving.scheduler import BusyError

__all__ = ["ApiError", "error_of"]

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class ApiError(Exception):
    """An answer that is an error; what it says may be read by anyone."""

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """param: the field that is wrong; code: a word for programs."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.headers = headers or {}

    @property
    def body(self) -> dict[str, Any]:
        """What stands under `error`."""
        kind = "server_error" if self.status >= 500 else _TYPES.get(self.status, "invalid_request_error")
        return {"message": self.message, "type": kind, "param": self.param, "code": self.code}

    def response(self) -> JSONResponse:
        """The whole answer."""
        return JSONResponse({"error": self.body}, self.status, dict(self.headers))


def error_of(error: BaseException) -> ApiError:
    """What a client may know of an error: everything about its own request, nothing about the machine."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, InputError):
        return ApiError(400, str(error), code="invalid_input")
    if isinstance(error, BusyError):
        after = {"Retry-After": str(error.retry_after)}
        return ApiError(429, str(error), code="rate_limit_exceeded", headers=after)
    if isinstance(error, MemoryError | OutOfMemoryError):
        words = "The server is short of memory. Send the text in shorter parts, or try again later."
        return ApiError(503, words, code="out_of_memory", headers={"Retry-After": "10"})
    if isinstance(error, BundleError):
        return ApiError(500, "The bundle failed. The server's log says how.", code="bundle_error")
    return ApiError(500, "The server failed. Its log says how.", code="internal_error")
