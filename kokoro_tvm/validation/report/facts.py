"""Data of the page: validation reports, utterances, and how the bundle was built (numpy only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.validation.reference.reference import Reference

Array = NDArray[Any]


@dataclass(frozen=True)
class BuiltStage:
    """A stage of the build.

    Attributes:
        name: Its name.
        seconds: Wall time.
        cpu_seconds: CPU time.
        log: Path of its log, relative to the page, or "".
        outputs: File, size in bytes and SHA-256.
    """

    name: str
    seconds: float
    cpu_seconds: float
    log: str
    outputs: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, eq=False)
class SpokenUtterance:
    """An utterance of the stock model and of the bundle.

    Attributes:
        reference: The stock model's.
        audio: The bundle's, (samples,) at 24 kHz.
        f0: The bundle's, (2F,) in Hz.
        durations: The bundle's, (T,) frames of every token.
        text: The sentence in letters, or "".
        seconds: Wall time of the bundle's synthesis; None if it ran emulated.
    """

    reference: Reference
    audio: NDArray[np.float32]
    f0: Array
    durations: NDArray[np.int64]
    text: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Cell:
    """A gate of an artifact, with the worst value of all utterances."""

    gate: str
    output: str
    value: float | str
    limit: float | str | None
    status: str


@dataclass(frozen=True, eq=False)
class BundleFacts:
    """Everything that the page shows.

    Attributes:
        manifest: Content of bundle.json.
        reports: Content of every validation.json.
        speech: Content of speech.json.
        utterances: The utterances that fit the bundle's buckets.
        longer: Names of the others.
        stages: Stages of the build.
        machine: Facts about the target.
    """

    manifest: Mapping[str, Any]
    reports: Sequence[Mapping[str, Any]]
    speech: Mapping[str, Any]
    utterances: Sequence[SpokenUtterance]
    longer: Sequence[str]
    stages: Sequence[BuiltStage]
    machine: Mapping[str, Any]


def worst(report: Mapping[str, Any]) -> list[Cell]:
    """Return every gate of a report with its worst value. Gates that judged no utterance are left out."""
    verdicts_of: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for utterance in report["utterances"]:
        for verdict in utterance["verdicts"]:
            verdicts_of.setdefault((verdict["gate"], verdict["output"]), []).append(verdict)
    for verdict in report["overall"]:
        verdicts_of[verdict["gate"], verdict["output"]] = [verdict]
    return [_find_worst(verdicts) for verdicts in verdicts_of.values()]


def _find_worst(verdicts: Sequence[Mapping[str, Any]]) -> Cell:
    """Return the worst verdict of a gate: a missed one, then the farthest from its limit."""

    def badness(verdict: Mapping[str, Any]) -> tuple[bool, float]:
        """Return a sort key that grows with how bad a verdict is."""
        value = float(verdict["value"])
        value = value if verdict["gate"].startswith("max_") else -value
        return verdict["status"] == "failed", np.inf if np.isnan(value) else value

    v = max(verdicts, key=badness)
    return Cell(v["gate"], v["output"], v["value"], v["limit"], v["status"])
