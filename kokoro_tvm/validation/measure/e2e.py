"""Compare whole utterances of bundles with the truth.

Two ceilings give the numbers a scale: PyTorch float32 (`pt.dynamic`), as people run the model, and the truth
with other noise, which sounds the same. Needs only numpy; the stock model's renderings are read from files.
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
    summarize_missed,
    to_json,
)
from kokoro_tvm.validation.measure.metrics import count_off, finite_fraction, measure_audio
from kokoro_tvm.validation.reference.reference import DYNAMIC, Rendering, SpeechReference

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

OTHER_NOISE = "other noise"
"""pt.float64 with another seed."""

CEILINGS = (DYNAMIC, OTHER_NOISE)
"""Sides of every comparison besides the bundles."""

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
"""Metrics of a side by `measure_audio`."""

SCHEMA = 1


@dataclass(frozen=True)
class UtteranceLikeness:
    """One utterance: metrics of every side, and verdicts on the bundles."""

    name: str
    phonemes: int
    voice: str
    frames: int
    sides: Mapping[str, Mapping[str, float]]
    """`measure_likeness` by bundle and ceiling, without bundles that the utterance does not fit."""
    verdicts: Mapping[str, tuple[Verdict, ...]]
    """Verdicts by bundle."""

    def status(self, bundle: str) -> str:
        """Return `passed`, `failed`, or `not run: REASON`."""
        if bundle not in self.sides:
            return f"not run: {LONGER}"
        judged = {v.status for v in self.verdicts[bundle]} - {"not run"}
        return "passed" if judged == {"passed"} else "failed"

    @property
    def seconds(self) -> float:
        """Duration of the truth, s."""
        return self.frames * SAMPLES_PER_FRAME / SAMPLE_RATE


@dataclass(frozen=True)
class EndToEnd:
    """Result of `compare_bundles`."""

    bundles: tuple[str, ...]
    utterances: tuple[UtteranceLikeness, ...]
    overall: Mapping[str, tuple[Verdict, ...]]
    """Verdicts over all utterances, by bundle."""

    @property
    def sides(self) -> tuple[str, ...]:
        """Names of bundles, then of ceilings."""
        return (*self.bundles, *CEILINGS)

    @property
    def passed(self) -> bool:
        """True if every bundle rendered at least one utterance and no gate was missed."""
        rendered = all(any(u.status(bundle) == "passed" for u in self.utterances) for bundle in self.bundles)
        return rendered and not self.missed()

    def values(self, side: str, metric: str) -> list[float]:
        """Return a metric of `measure_likeness` of every utterance that a side rendered."""
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
        """Raise ValidationError with the worst missed gate, if any was missed."""
        if not self.passed:
            missed = self.missed() or ["a bundle could hold none of the utterances"]
            raise ValidationError(
                f"Gates were missed: {summarize_missed(missed)}. `kokoro-tvm validate steps` shows at which "
                "step an utterance goes astray."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data; infinities and NaN become "inf", "-inf" and "nan"."""
        head = {"schema": SCHEMA, **to_json(self, "bundles", "passed"), "missed": self.missed()}
        utterances = [
            to_json(u, "name", "phonemes", "voice", "frames", "sides")
            | {"status": {bundle: u.status(bundle) for bundle in self.bundles}}
            | to_json(u, "verdicts")
            for u in self.utterances
        ]
        return head | to_json(self, "overall") | {"utterances": utterances}


def measure_likeness(rendering: Rendering, reference: SpeechReference) -> dict[str, float]:
    """Compare one rendering with pt.float64; metrics that need equal lengths are NaN otherwise.

    Metrics are those of `measure_audio` (exact_… against pt.exact) and of `acoustics`, with predicted pitch;
    durations_off: tokens with another number of frames; samples_off: missing or surplus samples.
    """
    truth, theirs = reference.truth, reference.dynamic.audio
    comparable = rendering.audio.shape == truth.audio.shape
    exact = reference.exact_audio
    measured = measure_audio(rendering.audio, truth.audio, theirs, exact) if comparable else {}
    has_same_pitch_length = rendering.f0.shape == truth.f0.shape
    return {name: measured.get(name, np.nan) for name in _WAVEFORM} | {
        "lag_samples": lag_samples(rendering.audio, truth.audio),
        "log_mel_correlation": log_mel_correlation(rendering.audio, truth.audio) if comparable else np.nan,
        "f0_rmse_hz": f0_rmse_hz(rendering.f0, truth.f0) if has_same_pitch_length else np.nan,
        "loudness_ratio_db": loudness_ratio_db(rendering.audio, truth.audio),
        "finite_fraction": finite_fraction(rendering.audio),
        "durations_off": count_off(rendering.durations, truth.durations),
        "samples_off": float(abs(rendering.audio.size - SAMPLES_PER_FRAME * int(truth.durations.sum()))),
    }


def compare_bundles(
    references: Sequence[SpeechReference],
    renderings: Mapping[str, Mapping[str, Rendering]],
    gates: Mapping[str, Gates],
    own_names: Iterable[str] = (),
) -> EndToEnd:
    """Compare renderings of bundles with the truth and judge them.

    Args:
        references: The utterances.
        renderings: By bundle and name of utterance, without utterances that do not fit.
        gates: By bundle.
        own_names: Names of the model recipe's utterances, which the gate `speech` judges. The gate
            `corpus` judges all others, with a median over them.
    """
    own = set(own_names)
    rows: list[UtteranceLikeness] = []
    for reference in references:
        ceilings = dict(zip(CEILINGS, (reference.dynamic, reference.reseeded), strict=True))
        fitting = {b: named[reference.name] for b, named in renderings.items() if reference.name in named}
        sides = {side: measure_likeness(r, reference) for side, r in (fitting | ceilings).items()}
        gate = "speech" if reference.name in own else "corpus"
        verdicts = {b: _judge(sides[b], limits_of(gates[b], gate)) for b in fitting}
        rows.append(
            UtteranceLikeness(
                reference.name, len(reference.phonemes), reference.voice, reference.frames, sides, verdicts
            )
        )
    others = [row for row in rows if row.name not in own]
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


def _judge(metrics: Mapping[str, float], limits: Mapping[str, float | None]) -> tuple[Verdict, ...]:
    """Judge the metrics of one utterance; those of the waveform count only if the lengths are equal."""
    measured = None if metrics["samples_off"] else metrics
    return tuple(judge_speech(metrics["durations_off"], metrics["samples_off"], measured, limits))


def render(synthesizer: Synthesizer, reference: SpeechReference) -> Rendering:
    """Render one utterance with a bundle, from the reference's tokens, style and seed."""
    pitch = _PitchRecorder(synthesizer.runner)
    recorder = Synthesizer.from_parts(synthesizer.bundle, pitch, synthesizer.voices, synthesizer.front_end)
    speech = recorder.run(reference.tokens[0], reference.ref_s, speed=reference.speed, **reference.source())
    return Rendering(speech.audio, speech.durations, pitch.f0)


def render_all(
    synthesizer: Synthesizer,
    references: Sequence[SpeechReference],
    progress: Callable[[str], None],
) -> dict[str, Rendering]:
    """Render every utterance that fits a bundle's buckets, by name.

    Raises:
        ValidationError: The bundle makes an utterance so long that it no longer fits.
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


class _PitchRecorder:
    """Runs components for a synthesizer and keeps the pitch."""

    def __init__(self, runner: ComponentRunner) -> None:
        self._runner = runner
        self.f0: NDArray[np.float32] = np.zeros((1, 0), np.float32)

    def run(self, component: str, length: int, *inputs: Output) -> tuple[Output, ...]:
        """Run a component, and keep a copy of the pitch that `f0n` predicts."""
        outputs = self._runner.run(component, length, *inputs)
        if component == "f0n":
            self.f0 = np.array(outputs[0])  # a copy, because the runtime reuses the memory
        return outputs
