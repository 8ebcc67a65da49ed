"""Compare one utterance step by step: the stock model in float64 and in float32, and a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.recipe import UtteranceSpec
from kokoro_tvm.runtime import write_wav
from kokoro_tvm.tools.lab.setting import Lab
from kokoro_tvm.validation.measure.compare import Pair, compare
from kokoro_tvm.validation.measure.engine import run_chain
from kokoro_tvm.validation.measure.gates import missed_lines, summarize_missed, to_json
from kokoro_tvm.validation.reference.reference import DYNAMIC, TRUTH
from kokoro_tvm.validation.reference.steps import Steps, save_steps

TVM = "tvm"
PAIRS = ((TRUTH, TVM), (TRUTH, DYNAMIC), (DYNAMIC, TVM))
"""(reference, value)."""


@dataclass(frozen=True)
class StepsReport:
    """Comparison of one utterance in pairs of regimes."""

    bundle: str
    enforce: bool
    """False if the gates of the bundle's recipe only report (length: padded)."""
    utterance: UtteranceSpec
    frames: int
    pairs: tuple[Pair, ...]

    @property
    def missed(self) -> list[str]:
        """One line for each judged pair: its first step that misses a gate."""
        lines = []
        for pair in self.pairs:
            row = pair.first_missed
            if pair.judged and row is not None:
                summary = summarize_missed(missed_lines(("", v) for v in row.verdicts))
                lines.append(f"{pair}: the first step that misses its gate is {row.step} ({summary})")
        return lines

    def require(self) -> None:
        """Raise ValidationError if a gate was missed and the recipe enforces its gates."""
        if self.enforce and self.missed:
            raise ValidationError(f"{self.bundle} missed gates. {'. '.join(self.missed)}.")

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        head = {"schema": 1, "bundle": self.bundle, "enforce": self.enforce}
        head |= {"utterance": self.utterance.model_dump(mode="json"), "frames": self.frames}
        return head | {"passed": not self.missed} | to_json(self, "missed", "pairs")


def compute_regimes(lab: Lab, utterance: UtteranceSpec, given_durations: bool = False) -> dict[str, Steps]:
    """Compute every step of an utterance in every regime, with the same noise.

    Args:
        lab: The bundle.
        utterance: What to speak.
        given_durations: Align the bundle's steps by the durations of the truth.

    Raises:
        TooLongError: The utterance does not fit the bundle.
        RecipeError: Its voice or a phoneme is unknown.
        BundleError: The bundle is damaged.
        BuildError: There is no checkpoint.
    """
    steps = dict(lab.store.steps(utterance))
    durations = steps[TRUTH].values["pred_dur"] if given_durations else None
    lab.progress(f"{TVM}, {utterance.name}, every step")
    return steps | {TVM: run_chain(lab.tvm, lab.request_of(utterance), durations)}


def compare_regimes(lab: Lab, utterance: UtteranceSpec, steps: Mapping[str, Steps]) -> StepsReport:
    """Compare the steps that `compute_regimes` returned, pair by pair."""
    gates = lab.recipe.gates
    pairs = tuple(compare(steps[value], steps[ref], gates, steps[DYNAMIC]) for ref, value in PAIRS)
    return StepsReport(str(lab.bundle.root), gates.enforce, utterance, steps[TRUTH].frames, pairs)


def save_regimes(steps: Mapping[str, Steps], folder: Path, sample_rate: int) -> list[Path]:
    """Write REGIME.safetensors (every step) and REGIME.wav (32-bit float); return the paths."""
    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    for regime, values in steps.items():
        tensors, audio = folder / f"{regime}.safetensors", folder / f"{regime}.wav"
        save_steps(values, tensors)
        write_wav(audio, np.asarray(values.values["audio"], np.float32), sample_rate)
        paths += [tensors, audio]
    return paths
