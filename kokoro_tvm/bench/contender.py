"""A system in its worker process, with its answers or its failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kokoro_tvm.bench.child import Child, ChildError, python_module
from kokoro_tvm.bench.engine import Utterance
from kokoro_tvm.bench.systems import System
from kokoro_tvm.constants import SAMPLES_PER_FRAME

__all__ = ["Answer", "Contender"]


@dataclass(frozen=True)
class Answer:
    """One text spoken once: seconds of computing, samples per utterance, seconds by component, peak RSS."""

    seconds: float
    samples: list[int]
    components: dict[str, float]
    peak_rss_bytes: int | None

    @property
    def frames(self) -> list[int]:
        """Frames per utterance."""
        return [count // SAMPLES_PER_FRAME for count in self.samples]


@dataclass
class Contender:
    """A system's worker. `answers` by text, the first call first; `problem` once it has failed."""

    system: System
    child: Child
    details: str = ""
    problem: str | None = None
    answers: dict[str, list[Answer]] = field(default_factory=dict)

    @classmethod
    def start(cls, system: System, folder: Path) -> Contender:
        """Starts the worker, its log in the folder; nothing is opened yet."""
        log = folder / f"{system.name.replace('/', '-')}.log"
        command = python_module("kokoro_tvm.bench.worker")
        return cls(system, Child(command, system.engine.threads, log, system.variables))

    def open(self) -> None:
        """Has the worker load the system; a failure is kept in `problem`."""
        try:
            self.details = self.child.ask(vars(self.system.engine))["details"]
        except ChildError as error:
            self.problem = f"failed to open: {error}"

    def speak(self, text: str, utterances: Sequence[Utterance]) -> None:
        """Has the worker speak, unless it failed before; keeps its answer, or the failure in `problem`."""
        if self.problem:
            return
        try:
            answer = self.child.ask({"utterances": [vars(utterance) for utterance in utterances]})
        except ChildError as error:
            self.problem = f"failed on the text {text}: {error}"
        else:
            self.answers.setdefault(text, []).append(Answer(**answer))
