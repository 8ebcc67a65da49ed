"""Errors in the shape of OpenAI's interface: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from kokoro_tvm.common.errors import BundleError, InputError, OutOfMemoryError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.serving.scheduler import BusyError

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {  # by pydantic's types of errors
    "missing": "missing_required_parameter",
    "string_too_short": "empty_string",
    "string_too_long": "string_above_max_length",
    "literal_error": "invalid_value",
}


class ApiError(HTTPException):
    """Error response whose text anyone may read.

    Attributes:
        param: Path of the invalid field.
        code: Reason, for programs.
    """

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.param = param
        self.code = code

    @property
    def body(self) -> dict[str, Any]:
        """The object `error` of the response."""
        kind = (
            "server_error"
            if self.status_code >= 500
            else _TYPES.get(self.status_code, "invalid_request_error")
        )
        return {"message": self.detail, "type": kind, "param": self.param, "code": self.code}

    def response(self) -> JSONResponse:
        """Create the response."""
        return JSONResponse({"error": self.body}, self.status_code, self.headers)


def describe_error(error: BaseException) -> ApiError:
    """Convert an exception into an error response that says nothing about the machine."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, InputError):
        return ApiError(400, str(error), code="invalid_input")
    if isinstance(error, BusyError):
        headers = {"Retry-After": str(error.retry_after)}
        return ApiError(429, str(error), code="rate_limit_exceeded", headers=headers)
    if isinstance(error, MemoryError | OutOfMemoryError):
        message = "The server is short of memory. Send the text in shorter parts, or try again later."
        return ApiError(503, message, code="out_of_memory", headers={"Retry-After": "10"})
    if isinstance(error, BundleError):
        return ApiError(500, "The bundle failed. The server's log says how.", code="bundle_error")
    return ApiError(500, "The server failed. Its log says how.", code="internal_error")


def describe_invalid_field(errors: Sequence[Mapping[str, Any]], parent: str = "") -> ApiError:
    """Convert the first of pydantic's errors into an error response.

    Args:
        errors: As `ValidationError.errors` returns them.
        parent: Path of the object that was validated.
    """
    error = errors[0]
    path = parent
    for part in error["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    message = f"`{path}`: {error['msg']}" if path else f"The body: {error['msg']}"
    if error["type"] == "string_too_long":
        message += f", but has {len(error['input'])}"
    elif error["type"] != "missing":
        message += f", but is {_quote_value(error['input'])}"
    return ApiError(400, f"{message}.", path or None, _CODES.get(error["type"], "invalid_type"))


def _quote_value(value: Any) -> str:
    """Format an invalid value for a message."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return repr(truncate(value))
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a very large number"
    return "null" if value is None else str(value).lower()
