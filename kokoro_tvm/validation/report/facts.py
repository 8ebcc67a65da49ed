"""What a page shows: validation reports, utterances, how the bundle was built (numpy only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.validation.reference.reference import Reference

__all__ = ["BuiltStage", "BundleFacts", "Cell", "SpokenUtterance", "worst"]

Array = NDArray[Any]


@dataclass(frozen=True)
class BuiltStage:
    """A stage as its record tells it. log: path from the page, or empty; outputs: file, bytes, sha256."""

    name: str
    seconds: float
    cpu_seconds: float
    log: str
    outputs: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, eq=False)
class SpokenUtterance:
    """One utterance by the stock model and by the bundle, and what was measured of the latter."""

    reference: Reference
    audio: NDArray[np.float32]
    """(samples,) at 24 kHz, of the bundle."""
    f0: Array
    """(2F,) in Hz, of the bundle."""
    durations: NDArray[np.int64]
    """(T,) frames of every token, of the bundle."""


@dataclass(frozen=True)
class Cell:
    """One gate at one artifact: the worst value of all utterances."""

    gate: str
    output: str
    value: float | str
    limit: float | str | None
    status: str


@dataclass(frozen=True, eq=False)
class BundleFacts:
    """manifest: bundle.json; reports: the content of every validation.json; speech: that of speech.json;
    utterances: those that fit the bundle; longer: names of those that do not."""

    manifest: Mapping[str, Any]
    reports: Sequence[Mapping[str, Any]]
    speech: Mapping[str, Any]
    utterances: Sequence[SpokenUtterance]
    longer: Sequence[str]
    stages: Sequence[BuiltStage]
    machine: Mapping[str, Any]


def worst(report: Mapping[str, Any]) -> list[Cell]:
    """Every gate of a report with the utterance nearest to missing it, or farthest beyond.

    A gate that no utterance was held against is not among them.
    """
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for utterance in report["utterances"]:
        for verdict in utterance["verdicts"]:
            found.setdefault((verdict["gate"], verdict["output"]), []).append(verdict)
    for verdict in report["overall"]:
        found[verdict["gate"], verdict["output"]] = [verdict]
    return [_worst(verdicts) for verdicts in found.values()]


def _worst(verdicts: Sequence[Mapping[str, Any]]) -> Cell:
    def badness(verdict: Mapping[str, Any]) -> tuple[bool, float]:
        value = float(verdict["value"])
        value = value if verdict["gate"].startswith("max_") else -value
        return verdict["status"] == "failed", np.inf if np.isnan(value) else value

    v = max(verdicts, key=badness)
    return Cell(v["gate"], v["output"], v["value"], v["limit"], v["status"])
