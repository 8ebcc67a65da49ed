"""Results as JSON files that are written and read back."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.output import write_text

__all__ = ["BenchRecord"]

R = TypeVar("R", bound="BenchRecord")


class BenchRecord(BaseModel):
    """A part of a result, or the whole, which `command` writes; never changed, and of no other fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    command: ClassVar[str]

    def write(self, path: Path) -> None:
        """Writes the JSON file whole or not at all; raises InputError when it cannot be written."""
        write_text(path, self.model_dump_json(indent=1) + "\n")

    @classmethod
    def read(cls: type[R], path: Path) -> R:
        """A result read back; raises InputError when there is none, or one of another version."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise InputError(
                f"{path} cannot be read: {error.strerror or error}. `{cls.command}` writes it."
            ) from error
        except ValidationError as error:
            raise InputError(f"{path} is no result of this version of `{cls.command}`: {error}.") from error
