"""The interface of a measured system: open, and speak utterances. Every worker process imports it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, Protocol

from numpy.typing import NDArray

__all__ = ["BenchEngine", "BenchUtterance", "EngineOutput", "EngineSpec", "open_engine"]


@dataclass(frozen=True)
class EngineSpec:
    """How to open a system: `engine` names what does (`module:function`), `path` is its model or bundle.

    `precision` is what a System says; "float32" is insisted on, for anything else the model file decides, or
    the system.
    """

    engine: str
    path: str
    threads: int
    precision: str


@dataclass(frozen=True)
class BenchUtterance:
    """Token ids with the 0 at both ends, and the voice's row for it, 256 numbers."""

    tokens: tuple[int, ...]
    style: tuple[float, ...]

    @classmethod
    def of(cls, entry: dict[str, Any]) -> BenchUtterance:
        return cls(tuple(entry["tokens"]), tuple(entry["style"]))


@dataclass(frozen=True)
class EngineOutput:
    """`audio` float32 (samples,) per utterance at 24 kHz; `components`: seconds by component, where known."""

    audio: list[NDArray[Any]]
    components: dict[str, float] = field(default_factory=dict)


class BenchEngine(Protocol):
    """A system that is open; `details` says what it runs as (precision, say)."""

    details: str

    def speak(self, utterances: Sequence[BenchUtterance]) -> EngineOutput:
        """Speaks them one after another."""
        ...


def open_engine(spec: EngineSpec) -> BenchEngine:
    """The engine of a specification, loaded and ready to speak; raises whatever the system raises."""
    opened: Callable[[EngineSpec], BenchEngine] = resolve_name(spec.engine)
    return opened(spec)
