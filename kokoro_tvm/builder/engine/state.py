"""State of a stage: current, stale, missing, damaged or failed, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from kokoro_tvm.builder.engine import durable
from kokoro_tvm.builder.engine.store import Damage


@dataclass(frozen=True)
class Change:
    """One part of a derivation that differs.

    Attributes:
        name: Name of the part, with dots.
        old: Value as JSON; None if there was none.
        new: Value as JSON; None if there is none.
    """

    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True)
class Failure:
    """Failure of a stage.

    Attributes:
        key: Digest of the stage's request and of all sources when it ran.
        error: Name of the exception.
        message: Text of the exception.
    """

    key: str
    error: str
    message: str

    def write(self, path: Path) -> None:
        """Write the failure as JSON. Raises BuildError if that fails."""
        durable.write(path, json.dumps(asdict(self), indent=1, ensure_ascii=False).encode())


def read_failure(path: Path) -> Failure | None:
    """Return the failure at `path`; None if there is none or it is damaged."""
    try:
        fields = json.loads(path.read_bytes())
        return Failure(str(fields["key"]), str(fields["error"]), str(fields["message"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class State:
    """State of a stage.

    Attributes:
        kind: "current"; "stale": its inputs changed; "missing": never built, or an output is gone;
            "damaged": an output has another content; "failed": one of these, and building it failed.
        changes: Parts of the derivation that make it stale.
        damage: Outputs that are missing or damaged.
        waiting: Stages that have to be built before the state is known.
        problem: Why building it would fail, for example a tool that is not installed.
        failure: The last failure.
    """

    kind: Literal["current", "stale", "missing", "damaged", "failed"]
    changes: tuple[Change, ...] = ()
    damage: tuple[Damage, ...] = ()
    waiting: tuple[str, ...] = ()
    problem: str = ""
    failure: Failure | None = None


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the parts of two derivations that differ, by name; only the schema if that differs."""
    if old.get("schema") != new.get("schema"):
        old, new = ({"schema": derivation.get("schema")} for derivation in (old, new))
    before, after = dict(_flatten(old)), dict(_flatten(new))
    names = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
    return tuple(Change(n, before.get(n), after.get(n)) for n in names)


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested data as (dotted name, JSON)."""
    if isinstance(value, Mapping) and value:
        entries = value.items()
    elif isinstance(value, list | tuple) and value:
        entries = enumerate(value)  # type: ignore[assignment]
    else:
        yield name, json.dumps(value, sort_keys=True, ensure_ascii=False)
        return
    for key, inner in entries:
        yield from _flatten(inner, f"{name}.{key}" if name else str(key))
