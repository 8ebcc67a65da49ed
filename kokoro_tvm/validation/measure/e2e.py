"""Whole utterances, waveform against waveform: how near bundles come to the truth, and what near means.

Beside every bundle stand two ceilings, held against the same truth: PyTorch float32 (`pt.dynamic`), the way
people run the model, and the truth itself with another draw (`other noise`), which sounds alike to any ear.
Everything here is numpy; what the stock model renders is read from files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE, SAMPLES_PER_FRAME
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime.session.device import Output
from kokoro_tvm.runtime.session.routing import TooLongError
from kokoro_tvm.runtime.session.session import ComponentRunner
from kokoro_tvm.runtime.speech.synthesizer import Synthesizer
from kokoro_tvm.validation.measure.acoustics import (
    f0_rmse_hz,
    lag_samples,
    log_mel_correlation,
    loudness_ratio_db,
)
from kokoro_tvm.validation.measure.artifact import LONGER, judge_speech
from kokoro_tvm.validation.measure.gates import (
    Verdict,
    judge_medians,
    limits_of,
    missed_lines,
    number,
    summarize_missed,
)
from kokoro_tvm.validation.measure.metrics import count_off, finite_fraction, measure_audio
from kokoro_tvm.validation.reference.reference import DYNAMIC, Rendering, SpeechReference

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

__all__ = [
    "CEILINGS",
    "EndToEnd",
    "UtteranceLikeness",
    "compare_bundles",
    "likeness",
    "render",
    "render_all",
]

OTHER_NOISE = "other noise"
"""pt.float64 with another draw."""

CEILINGS = (DYNAMIC, OTHER_NOISE)
"""Sides that every comparison has, beside the bundles'."""

_WAVEFORM = (
    "snr_db",
    "gain_db",
    "frame_snr_median_db",
    "frame_snr_p5_db",
    "first_frame_snr_db",
    "last_frame_snr_db",
    "exact_snr_db",
    "exact_frame_snr_median_db",
    "exact_frame_snr_p5_db",
    "magnitude_correlation",
)
"""What `measure_audio` gives of a side."""

SCHEMA = 1


@dataclass(frozen=True)
class UtteranceLikeness:
    """One utterance: every side's likeness, ceilings first, and the verdicts on the bundles."""

    name: str
    phonemes: int
    voice: str
    frames: int
    sides: Mapping[str, Mapping[str, float]]
    """`likeness` by bundle and ceiling; a bundle that could not hold the utterance is missing."""
    verdicts: Mapping[str, tuple[Verdict, ...]]
    """By bundle."""

    def status(self, bundle: str) -> str:
        """`passed`, `failed`, or `not run: <reason>`."""
        if bundle not in self.sides:
            return f"not run: {LONGER}"
        judged = {v.status for v in self.verdicts[bundle]} - {"not run"}
        return "passed" if judged == {"passed"} else "failed"

    @property
    def seconds(self) -> float:
        """Length of the truth, s."""
        return self.frames * SAMPLES_PER_FRAME / SAMPLE_RATE


@dataclass(frozen=True)
class EndToEnd:
    """What `compare_bundles` found."""

    bundles: tuple[str, ...]
    utterances: tuple[UtteranceLikeness, ...]
    overall: Mapping[str, tuple[Verdict, ...]]
    """Verdicts on a bundle over all utterances, by bundle."""

    @property
    def sides(self) -> tuple[str, ...]:
        """Bundles, then ceilings."""
        return (*self.bundles, *CEILINGS)

    @property
    def passed(self) -> bool:
        """True when every bundle rendered at least one utterance and no gate was missed."""
        rendered = all(any(u.status(bundle) == "passed" for u in self.utterances) for bundle in self.bundles)
        return rendered and not self.missed()

    def values(self, side: str, metric: str) -> list[float]:
        """A metric of a side, by its name in `likeness`, of every utterance it rendered, in their order."""
        return [u.sides[side][metric] for u in self.utterances if side in u.sides]

    def missed(self) -> list[str]:
        """List every missed gate, the worst first."""
        judged = [
            (f"{bundle}, {u.name}: ", v)
            for bundle in self.bundles
            for u in self.utterances
            for v in u.verdicts.get(bundle, ())
        ]
        return missed_lines(
            [*judged, *((f"{bundle}: ", v) for bundle in self.bundles for v in self.overall[bundle])]
        )

    def require(self) -> None:
        """Raise ValidationError with the worst missed gate, unless all were met."""
        if not self.passed:
            missed = self.missed() or ["a bundle could hold none of the utterances"]
            raise ValidationError(
                f"Gates were missed: {summarize_missed(missed)}. `kokoro-tvm validate steps` shows at which "
                "step an utterance goes astray."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file; what JSON cannot write as a number stands as "inf", "-inf" or "nan"."""
        return {
            "schema": SCHEMA,
            "bundles": list(self.bundles),
            "passed": self.passed,
            "missed": self.missed(),
            "overall": {bundle: [v.to_json() for v in verdicts] for bundle, verdicts in self.overall.items()},
            "utterances": [
                {
                    "name": u.name,
                    "phonemes": u.phonemes,
                    "voice": u.voice,
                    "frames": u.frames,
                    "sides": {
                        side: {metric: number(value) for metric, value in found.items()}
                        for side, found in u.sides.items()
                    },
                    "status": {bundle: u.status(bundle) for bundle in self.bundles},
                    "verdicts": {
                        bundle: [v.to_json() for v in found] for bundle, found in u.verdicts.items()
                    },
                }
                for u in self.utterances
            ],
        }


def likeness(rendering: Rendering, reference: SpeechReference) -> dict[str, float]:
    """One side of one utterance against pt.float64, by metric; NaN is what signals of different lengths
    cannot tell.

    Of the waveform what `measure_audio` gives, exact_… being against pt.exact, the truth with exact phases;
    what `validation.measure.acoustics` has, the pitch being that which the models themselves predict;
    durations_off, tokens that are given another number of frames; samples_off, samples more or fewer than
    600 for each of the truth's frames.
    """
    truth, theirs = reference.truth, reference.dynamic.audio
    comparable = rendering.audio.shape == truth.audio.shape
    exact = reference.exact_audio
    measured = measure_audio(rendering.audio, truth.audio, theirs, exact) if comparable else {}
    same_pitches = rendering.f0.shape == truth.f0.shape
    return {name: measured.get(name, np.nan) for name in _WAVEFORM} | {
        "lag_samples": lag_samples(rendering.audio, truth.audio),
        "log_mel_correlation": log_mel_correlation(rendering.audio, truth.audio) if comparable else np.nan,
        "f0_rmse_hz": f0_rmse_hz(rendering.f0, truth.f0) if same_pitches else np.nan,
        "loudness_ratio_db": loudness_ratio_db(rendering.audio, truth.audio),
        "finite_fraction": finite_fraction(rendering.audio),
        "durations_off": count_off(rendering.durations, truth.durations),
        "samples_off": float(abs(rendering.audio.size - SAMPLES_PER_FRAME * int(truth.durations.sum()))),
    }


def compare_bundles(
    references: Sequence[SpeechReference],
    renderings: Mapping[str, Mapping[str, Rendering]],
    gates: Mapping[str, Gates],
    own: Iterable[str] = (),
) -> EndToEnd:
    """Compare what bundles render with the truth, and judge it.

    `renderings`: by bundle, by utterance's name; an utterance that a bundle cannot hold is missing.
    `gates`: those of a bundle's recipe. `own`: names of the utterances that are its model recipe's own,
    judged by the gate `speech`; all others are by the gate `corpus`, with its median over all of them.
    """
    of_recipe = set(own)
    rows: list[UtteranceLikeness] = []
    for reference in references:
        ceilings = dict(zip(CEILINGS, (reference.dynamic, reference.reseeded), strict=True))
        voiced = {b: spoken[reference.name] for b, spoken in renderings.items() if reference.name in spoken}
        sides = {side: likeness(one, reference) for side, one in (voiced | ceilings).items()}
        gate = "speech" if reference.name in of_recipe else "corpus"
        verdicts = {b: _judge(sides[b], limits_of(gates[b], gate)) for b in voiced}
        rows.append(
            UtteranceLikeness(
                reference.name, len(reference.phonemes), reference.voice, reference.frames, sides, verdicts
            )
        )
    others = [row for row in rows if row.name not in of_recipe]
    overall = {
        bundle: tuple(
            judge_medians(
                [row.sides[bundle] for row in others if bundle in row.sides],
                limits_of(gates[bundle], "corpus"),
                "median",
            )
        )
        for bundle in renderings
    }
    return EndToEnd(tuple(renderings), tuple(rows), overall)


def _judge(found: Mapping[str, float], limits: Mapping[str, float | None]) -> tuple[Verdict, ...]:
    measured = None if found["samples_off"] else found
    return tuple(judge_speech(found["durations_off"], found["samples_off"], measured, limits))


def render(synthesizer: Synthesizer, reference: SpeechReference) -> Rendering:
    """One utterance as a bundle renders it, from the reference's tokens, style and seed."""
    pitch = _Pitch(synthesizer.runner)
    listened = Synthesizer.from_parts(synthesizer.bundle, pitch, synthesizer.voices, synthesizer.front_end)
    speech = listened.run(reference.tokens[0], reference.ref_s, speed=reference.speed, **reference.source())
    return Rendering(speech.audio, speech.durations, pitch.f0)


def render_all(
    synthesizer: Synthesizer,
    references: Sequence[SpeechReference],
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Rendering]:
    """Every utterance that fits a bundle's buckets as the bundle renders it, by name.

    Raises ValidationError when the bundle makes one so much longer than the truth that it does not fit.
    """
    limits = {axis: synthesizer.bundle.largest(axis) for axis in ("tokens", "frames")}
    renderings = {}
    for reference in references:
        if all(reference.length(axis) <= limit for axis, limit in limits.items()):
            progress(f"{synthesizer.bundle.recipe}, {reference.name}")
            try:
                renderings[reference.name] = render(synthesizer, reference)
            except TooLongError as error:
                raise ValidationError(
                    f"{reference.name} is spoken longer than by the stock model: {error}"
                ) from error
    return renderings


class _Pitch:
    """Runs components for a synthesizer and keeps the pitch that passes."""

    def __init__(self, runner: ComponentRunner) -> None:
        self._runner = runner
        self.f0: NDArray[np.float32] = np.zeros((1, 0), np.float32)

    def run(self, component: str, length: int, *inputs: Output) -> tuple[Output, ...]:
        outputs = self._runner.run(component, length, *inputs)
        if component == "f0n":
            self.f0 = np.array(outputs[0])  # a copy: it lies in the runtime's memory
        return outputs
