"""The state of a stage: current, or not and why; its failure, kept until it is built or made of something
else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from kokoro_tvm.builder.engine import durable
from kokoro_tvm.builder.engine.store import Damage

__all__ = ["EDITED", "Change", "Failure", "State", "changes", "read_failure"]


EDITED = "edited while it ran"
"""In the place of a digest of what nobody can tell any more."""


@dataclass(frozen=True)
class Change:
    """One part of a derivation that differs: its name, with dots, and both values as JSON (None: not
    there)."""

    name: str
    old: str | None
    new: str | None


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


@dataclass(frozen=True)
class State:
    """kind: "current"; "stale" (made of something else than there is now); "missing" (never built, or an
    output is not there); "damaged" (an output holds something else than was written); "failed" (one of
    these, and building it from what there is now went wrong).

    changes: the parts of its derivation that make it stale; damage: the outputs that are missing or damaged;
    waiting: the stages it comes after that have to be built before anyone can tell; problem: why nobody can
    tell, and building it fails, for another reason, such as a tool that is not installed; failure: how it
    failed.
    """

    kind: Literal["current", "stale", "missing", "damaged", "failed"]
    changes: tuple[Change, ...] = ()
    damage: tuple[Damage, ...] = ()
    waiting: tuple[str, ...] = ()
    problem: str = ""
    failure: Failure | None = None


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """The parts of two derivations that differ, by name; of another schema, that alone."""
    if old.get("schema") != new.get("schema"):
        old, new = ({"schema": each.get("schema")} for each in (old, new))
    before, after = dict(_flat(old)), dict(_flat(new))
    names = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
    return tuple(Change(n, before.get(n), after.get(n)) for n in names)


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        entries = value.items()
    elif isinstance(value, list | tuple) and value:
        entries = enumerate(value)  # type: ignore[assignment]
    else:
        yield name, json.dumps(value, sort_keys=True, ensure_ascii=False)
        return
    for key, inner in entries:
        yield from _flat(inner, f"{name}.{key}" if name else str(key))
