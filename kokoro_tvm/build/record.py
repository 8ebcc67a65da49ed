"""The record of a finished stage: what went in, what came out. It is written last, so it is the commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kokoro_tvm.build.digest import digest
from kokoro_tvm.errors import BuildError

__all__ = ["Output", "Record"]


@dataclass(frozen=True)
class Output:
    """One file a stage wrote, relative to the stage's folder; size in bytes."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Record:
    """stage: who built it first; ingredients: everything it depends on; outputs: every file it wrote;
    seconds: how long it took; cpu_seconds: how long its process computed, which does not depend on what else
    the machine did; finished: when, in seconds since 1970."""

    stage: str
    ingredients: Mapping[str, Any]
    outputs: tuple[Output, ...]
    seconds: float
    cpu_seconds: float
    finished: float

    @property
    def key(self) -> str:
        """Digest of the ingredients: the name under which the store has it."""
        return digest(self.ingredients)

    @property
    def size(self) -> int:
        """Bytes of all outputs."""
        return sum(o.size for o in self.outputs)

    def sha256(self, file: str) -> str:
        """Digest of one output. Raises BuildError where it has none of that name."""
        for output in self.outputs:
            if output.file == file:
                return output.sha256
        raise BuildError(f"{self.stage}: {file} is not among what it wrote; run doit")

    def to_bytes(self) -> bytes:
        """As it is stored: JSON, with a digest of itself."""
        told = asdict(self)
        text = json.dumps(told | {"digest": digest(told)}, indent=1, sort_keys=True, ensure_ascii=False)
        return text.encode() + b"\n"

    @classmethod
    def from_bytes(cls, stored: bytes) -> Record:
        """Raises ValueError where a byte of it is not as it was stored."""
        try:
            told = json.loads(stored)
            claimed = told.pop("digest")
            found = cls(**told | {"outputs": tuple(Output(**o) for o in told["outputs"])})
        except (TypeError, AttributeError, LookupError, RecursionError) as error:
            raise ValueError(f"not a record: {error}") from error
        if claimed != digest(told) or found.to_bytes() != stored:
            raise ValueError("not what was stored: its digest differs")
        return found
