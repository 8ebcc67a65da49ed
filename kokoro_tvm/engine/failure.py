"""The failure of a stage, kept until it is built or made of something else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.engine import durable

__all__ = ["Failure", "read_failure"]


@dataclass(frozen=True)
class Failure:
    """derivation: what it was made of, as far as it came; error: the name of the exception."""

    derivation: Mapping[str, Any]
    error: str
    message: str

    def write(self, path: Path) -> None:
        """Raises BuildError where it cannot be written."""
        durable.write(path, json.dumps(asdict(self), indent=1, ensure_ascii=False).encode())


def read_failure(path: Path) -> Failure | None:
    """The failure at `path`; None if there is none, or it is damaged: the stage then counts as not built."""
    try:
        fields = json.loads(path.read_bytes())
        return Failure(dict(fields["derivation"]), str(fields["error"]), str(fields["message"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
