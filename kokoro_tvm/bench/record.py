"""Results as JSON files that are written and read back."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kokoro_tvm.errors import InputError
from kokoro_tvm.output import write_text

__all__ = ["Record", "read_record", "write_result"]


class Record(BaseModel):
    """A part of a result, or the whole; never changed, and of no other fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


R = TypeVar("R", bound=Record)


def write_result(path: Path, result: Record) -> None:
    """Writes the JSON file whole or not at all; raises InputError when it cannot be written."""
    write_text(path, result.model_dump_json(indent=1) + "\n")


def read_record(path: Path, kind: type[R], command: str) -> R:
    """A result read back; raises InputError when there is none, or one of another version of `command`."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}. `{command}` writes it."
        ) from error
    except ValidationError as error:
        raise InputError(f"{path} is no result of this version of `{command}`: {error}.") from error
