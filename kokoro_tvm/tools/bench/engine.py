"""Interface of a measured system: open it, then speak utterances. Every worker process imports this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, Protocol

from numpy.typing import NDArray


@dataclass(frozen=True)
class EngineSpec:
    """How to open a system.

    Attributes:
        engine: `module:function` that opens it.
        path: Its model or bundle.
        threads: Number of threads.
        precision: See `System`. Engines force "float32"; with any other, the model or the system decides.
    """

    engine: str
    path: str
    threads: int
    precision: str


@dataclass(frozen=True)
class BenchUtterance:
    """Token ids with the boundary symbol 0 at both ends, and the voice's style vector (256,)."""

    tokens: tuple[int, ...]
    style: tuple[float, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> BenchUtterance:
        """Build an utterance from its fields."""
        return cls(tuple(data["tokens"]), tuple(data["style"]))


@dataclass(frozen=True)
class EngineOutput:
    """Audio of every utterance, float32 (samples,) at 24 kHz, and seconds by component if known."""

    audio: list[NDArray[Any]]
    components: dict[str, float] = field(default_factory=dict)


class BenchEngine(Protocol):
    """An open system; `details` says how it runs, for example its precision."""

    details: str

    def speak(self, utterances: Sequence[BenchUtterance], noise: bool = True) -> EngineOutput:
        """Synthesize utterances one after the other, without the source's noise if `noise` is False."""
        ...


def open_engine(spec: EngineSpec) -> BenchEngine:
    """Open a system. Raises whatever the system raises."""
    opener: Callable[[EngineSpec], BenchEngine] = resolve_name(spec.engine)
    return opener(spec)
