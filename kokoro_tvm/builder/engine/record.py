"""Record of a stage that ran: its derivation and its outputs. It is written last, so it is the commit."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.common.errors import BuildError

USED = ("code", "files")
"""Parts of a derivation that are known only after the run: what it used of this package."""

_MAX_LISTED_KEYS = 32


class NotBuiltError(BuildError):
    """Output of another stage that is missing or damaged: that stage has to run first."""


def request_of(derivation: Mapping[str, Any]) -> str:
    """Return the digest of the part of a derivation that is known before the run."""
    return digest({name: value for name, value in derivation.items() if name not in USED})


def parse_keys(content: bytes) -> list[str]:
    """Parse a list of keys, one a line. Damaged lines are skipped, so what they list is built again."""
    lines = content.decode("ascii", "replace").splitlines()
    return [line for line in lines if len(line) == 64 and line.isalnum()]


def add_key(content: bytes, key: str) -> bytes:
    """Return a list of keys with `key` as the last one; the oldest beyond 32 are dropped."""
    keys = [*(listed for listed in parse_keys(content) if listed != key), key]
    return "".join(f"{listed}\n" for listed in keys[-_MAX_LISTED_KEYS:]).encode()


@dataclass(frozen=True)
class Output:
    """File that a stage wrote: path relative to the stage's folder, and size in bytes."""

    file: str
    size: Annotated[int, Field(ge=0)]
    sha256: str


@dataclass(frozen=True)
class StageRecord:
    """Record of a stage that ran.

    Attributes:
        stage: Name of the stage that was built first.
        derivation: Everything that the outputs depend on.
        outputs: Every file that it wrote.
        seconds: Wall time.
        cpu_seconds: CPU time of the worker.
        finished: Seconds since 1970.
    """

    stage: str
    derivation: Mapping[str, Any]
    outputs: tuple[Output, ...]
    seconds: float
    cpu_seconds: float
    finished: float

    @cached_property
    def key(self) -> str:
        """Digest of the derivation: its name in the store."""
        return digest(self.derivation)

    @property
    def request(self) -> str:
        """Digest of the part of the derivation that is known before the run."""
        return request_of(self.derivation)

    @property
    def size(self) -> int:
        """Bytes of all outputs."""
        return sum(o.size for o in self.outputs)

    def output(self, file: str) -> Output:
        """Return an output by name. Raises NotBuiltError if there is none."""
        for output in self.outputs:
            if output.file == file:
                return output
        raise NotBuiltError(f"{self.stage}: {file} is not among what it wrote; run doit")

    def sha256(self, file: str) -> str:
        """Return the digest of an output. Raises NotBuiltError if there is none."""
        return self.output(file).sha256

    def to_bytes(self, secret: bytes | None = None) -> bytes:
        """Serialize to JSON.

        The field `digest` is the digest of the other fields. With a secret, the field `hmac` is the HMAC-
        SHA256 of that digest.
        """
        content = self._to_fields()
        seal = {"digest": digest(content)}
        if secret is not None:
            seal["hmac"] = hmac.digest(secret, seal["digest"].encode(), "sha256").hex()
        return _to_json(content | seal)

    def _to_fields(self) -> dict[str, Any]:
        """Return the fields for JSON, without the copies that `asdict` makes of the derivation."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"outputs": [asdict(output) for output in self.outputs]}

    @classmethod
    def from_bytes(cls, stored: bytes, secret: bytes | None = None) -> StageRecord:
        """Parse what `to_bytes` returned.

        Args:
            stored: The JSON.
            secret: The record must have an HMAC with this secret. Without one, an HMAC is ignored.

        Raises:
            ValueError: A byte differs, a field has another type, or the HMAC is missing or wrong.
        """
        try:
            content = json.loads(stored)
            seal = {name: content.pop(name) for name in ("digest", "hmac") if name in content}
            record = _adapter().validate_python(content)
        except ValidationError as error:
            raise ValueError("not a record: a field of it is of another type") from error
        except (TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a record: {error}") from error
        # Equal bytes also mean that nothing was converted above.
        converted = record._to_fields()
        if seal.get("digest") != digest(converted) or _to_json(converted | seal) != stored:
            raise ValueError("not what was stored: its digest differs")
        if secret is not None and "hmac" not in seal:
            raise ValueError("it has no HMAC")
        if secret is not None and not hmac.compare_digest(record.to_bytes(secret), stored):
            raise ValueError("its HMAC was made with another key")
        return record


@cache
def _adapter() -> TypeAdapter[StageRecord]:
    """Return pydantic's validator of records, built once."""
    return TypeAdapter(StageRecord)


def _to_json(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"
