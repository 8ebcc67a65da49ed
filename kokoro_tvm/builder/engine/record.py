"""The record of a finished stage: what went in, what came out. It is written last, so it is the commit."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.common.errors import BuildError

__all__ = ["USED", "NotBuiltError", "Output", "StageRecord", "list_with", "listed_keys", "request_of"]

USED = ("code", "files")
"""The parts of a derivation that are known once it has run: what it used of this package."""


_LISTED = 32  # keys that a list has at most


class NotBuiltError(BuildError):
    """What a stage reads of another one is not there, or no longer as it was written: that one has to run."""


def request_of(derivation: Mapping[str, Any]) -> str:
    """Digest of what of a derivation is known before it runs."""
    return digest({name: value for name, value in derivation.items() if name not in USED})


def listed_keys(content: bytes) -> list[str]:
    """The keys in a list, one a line; what is damaged is left out: what that listed is built again."""
    lines = content.decode("ascii", "replace").splitlines()
    return [line for line in lines if len(line) == 64 and line.isalnum()]


def list_with(content: bytes, key: str) -> bytes:
    """A list with a key as its last."""
    keys = [*(each for each in listed_keys(content) if each != key), key]
    return "".join(f"{each}\n" for each in keys[-_LISTED:]).encode()


@dataclass(frozen=True)
class Output:
    """One file a stage wrote, relative to the stage's folder; size in bytes."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class StageRecord:
    """stage: who built it first; derivation: everything it depends on; outputs: every file it wrote;
    seconds: how long it took; cpu_seconds: how long its process computed, which does not depend on what else
    the machine did; finished: when, in seconds since 1970."""

    stage: str
    derivation: Mapping[str, Any]
    outputs: tuple[Output, ...]
    seconds: float
    cpu_seconds: float
    finished: float

    @property
    def key(self) -> str:
        """Digest of the derivation: the name under which the store has it."""
        return digest(self.derivation)

    @property
    def request(self) -> str:
        """Digest of what was known of the derivation before it ran."""
        return request_of(self.derivation)

    @property
    def size(self) -> int:
        """Bytes of all outputs."""
        return sum(o.size for o in self.outputs)

    def output(self, file: str) -> Output:
        """One of its outputs. Raises NotBuiltError where it has none of that name."""
        for output in self.outputs:
            if output.file == file:
                return output
        raise NotBuiltError(f"{self.stage}: {file} is not among what it wrote; run doit")

    def sha256(self, file: str) -> str:
        """Digest of one output. Raises as `output` does."""
        return self.output(file).sha256

    def to_bytes(self, secret: bytes | None = None) -> bytes:
        """As it is stored: JSON with a digest of itself, and with an HMAC under `secret` if one is given."""
        return self._stored(None if secret is None else self._hmac(secret))

    @classmethod
    def from_bytes(cls, stored: bytes, secret: bytes | None = None) -> StageRecord:
        """Reads what `to_bytes` wrote. Raises ValueError if a byte of it differs.

        secret: the record must carry an HMAC under it; without a secret, an HMAC is not checked.
        """
        try:
            fields = json.loads(stored)
            del fields["digest"]
            signature = fields.pop("hmac", None)
            found = cls(**fields | {"outputs": tuple(Output(**o) for o in fields["outputs"])})
        except (TypeError, AttributeError, LookupError, RecursionError) as error:
            raise ValueError(f"not a record: {error}") from error
        if found._stored(signature) != stored:
            raise ValueError("not what was stored: its digest differs")
        if secret is not None:
            if signature is None:
                raise ValueError("it has no HMAC")
            if not hmac.compare_digest(str(signature).encode(), found._hmac(secret).encode()):
                raise ValueError("its HMAC was made with another key")
        return found

    def _stored(self, signature: str | None) -> bytes:
        fields = asdict(self)
        stored = fields | {"digest": digest(fields)} | ({"hmac": signature} if signature is not None else {})
        return json.dumps(stored, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    def _hmac(self, secret: bytes) -> str:
        """HMAC-SHA256 of its digest, which covers all of it."""
        return hmac.digest(secret, digest(asdict(self)).encode(), "sha256").hex()
