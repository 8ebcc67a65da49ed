"""Compares compiled code with the stored references: one component, or a bundle that speaks (no torch).

The code under test is a callable; how it pads, slices and calls is its own affair. Every value it returns is
compared on the valid part, which is all it may return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import COMPONENT_AXES
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime.session.noise import seed_words
from kokoro_tvm.validation.measure.gates import (
    Report,
    UtteranceReport,
    Verdict,
    judge_medians,
    judge_output,
    limits_of,
    none_off,
)
from kokoro_tvm.validation.measure.metrics import count_off, measure, measure_audio
from kokoro_tvm.validation.measure.noise import judge_noise
from kokoro_tvm.validation.reference.reference import OUTPUTS, Reference, frame_counts

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates
    from kokoro_tvm.runtime import Speech
    from kokoro_tvm.targets.runners.program import ProgramOutput

__all__ = ["LONGER", "judge_speech", "unrun", "validate_component", "validate_speech"]

LONGER = "longer than the bucket"
_FEWEST = 3  # utterances of a median that is judged: which of two float32 sums is nearer in one is chance

Array = NDArray[Any]
Run = Callable[[dict[str, Array]], Mapping[str, Array]]


def validate_component(
    component: str,
    run: Run,
    references: Sequence[Reference],
    gates: Gates,
    *,
    bucket: int | None = None,
    seeded: Run | None = None,
) -> Report:
    """Run one component on every reference that fits and judge its outputs by the recipe's gates.

    `run(inputs)` takes arrays by the names and shapes of the component's exact signature (no length
    input; T or F is the utterance's own) and returns its outputs by name, cut to the valid part.
    `seeded(inputs)` does so by the entry that draws the noise, given the words of a `seed` in its place:
    its outputs must be those of `run`, bit for bit, so that the gates hold for both. What both call noise is
    judged by itself (`judge_noise`), because the references share it.
    References longer than `bucket` on the component's axis are reported as not run; when none fits, the
    report has not passed.

    A gate of the utterances' median is not run where fewer than three fit.

    Every output is measured (`measure`, audio by `measure_audio`) against float64 and beside PyTorch float32
    on the same inputs, its frames being tokens or frames of the component's axis. Beside the recipe's gates,
    values must be finite and the frames every token is given equal. Raises ValidationError for an output that
    is missing or of the wrong shape.
    """
    axis = COMPONENT_AXES[component]
    limits = limits_of(gates, component)
    reports = []
    measurements: dict[str, list[Mapping[str, float]]] = {name: [] for name in OUTPUTS[component]}
    for reference in references:
        length = reference.length(axis)
        if bucket is not None and length > bucket:
            reports.append(UtteranceReport(reference.name, length, reason=LONGER))
            continue
        returned = run(reference.inputs(component))
        outputs: dict[str, dict[str, float]] = {}
        verdicts: list[Verdict] = []
        for name in OUTPUTS[component]:
            truth, torch = _expected(reference, name)
            value = _returned(component, reference, name, returned, truth.shape)
            if name == "audio":
                measured = measure_audio(value[0], truth[0], torch[0], reference.fed_exact_audio)
            else:
                measured = measure(value, truth, torch, length)
            outputs[name] = measured
            measurements[name].append(measured)
            verdicts += judge_output(measured, limits, name)
            if name == "duration":
                off = count_off(_counts(value, reference), reference.truth.durations)
                verdicts.append(none_off("max_durations_off", off, "durations"))
        if seeded is not None:
            drawn = seeded(
                reference.inputs(component) | {"seed": seed_words(reference.seed, reference.piece)}
            )
            verdicts += [
                none_off("max_seeded_off", count_off(drawn[name], returned[name]), name)
                for name in OUTPUTS[component]
            ]
            verdicts += judge_noise(reference.seed, reference.piece)
        reports.append(UtteranceReport(reference.name, length, outputs=outputs, verdicts=tuple(verdicts)))
    if len(measurements[OUTPUTS[component][0]]) < _FEWEST:
        limits = dict.fromkeys(limits)
    overall = [v for name, of_all in measurements.items() for v in judge_medians(of_all, limits, name)]
    return Report(component, bucket, gates.enforce, tuple(reports), tuple(overall))


def validate_speech(
    synthesize: Callable[[Reference], Speech],
    references: Sequence[Reference],
    gates: Gates,
    *,
    from_c: Callable[[Reference], ProgramOutput] | None = None,
) -> Report:
    """Let a bundle speak every reference and judge durations, length and waveform end to end.

    `synthesize(reference)` speaks its phonemes in its voice, with its speed and noise; the truth has tokens
    and style by other code. `from_c(reference)` speaks it from C, where the bundle can: every bit must be the
    same, so that the gates hold for both. The yardstick is the float64 run of the whole stock model; the gain
    is over its float32 run. When PyTorch float32 itself comes to other durations than float64, its waveform
    cannot be compared, the gain is NaN and a gate on it is missed: such an utterance sits on a rounding
    boundary and belongs in no recipe.
    """
    limits = limits_of(gates, "speech")
    reports = []
    for reference in references:
        spoken = synthesize(reference)
        truth, torch = reference.truth.audio, reference.dynamic.audio
        audio, durations = np.asarray(spoken.audio), np.asarray(spoken.durations)
        outputs: dict[str, dict[str, float]] = {}
        if audio.shape == truth.shape:
            outputs["audio"] = measure_audio(audio, truth, torch, reference.exact_audio)
        durations_off = count_off(durations, reference.truth.durations)
        samples_off = float(abs(audio.size - truth.size))
        verdicts = judge_speech(durations_off, samples_off, outputs.get("audio"), limits)
        if from_c is not None:
            c = from_c(reference)
            same = np.array_equal(c.durations, durations)
            verdicts.append(none_off("max_c_off", count_off(c.audio if same else [], audio), "audio"))
        reports.append(
            UtteranceReport(reference.name, reference.frames, outputs=outputs, verdicts=tuple(verdicts))
        )
    return Report("speech", None, gates.enforce, tuple(reports))


def judge_speech(
    durations_off: float,
    samples_off: float,
    measured: Mapping[str, float] | None,
    limits: Mapping[str, float | None],
) -> list[Verdict]:
    """Verdicts on one spoken utterance: tokens with other frames than the truth gives them, samples more or
    fewer, and what was measured of the waveform, by the limits; None where the lengths forbid it.
    """
    verdicts = [
        none_off("max_durations_off", durations_off, "durations"),
        Verdict("max_samples_off", samples_off, 0.0, measured is not None, "audio"),
    ]
    return verdicts if measured is None else verdicts + judge_output(measured, limits, "audio")


def unrun(
    component: str,
    references: Sequence[Reference],
    gates: Gates,
    reason: str,
    *,
    bucket: int | None = None,
    axis: str = "frames",
) -> Report:
    """The report of what nothing here can run: every utterance "not run", which passes no gate."""
    reports = [UtteranceReport(r.name, r.length(axis), reason=reason) for r in references]
    return Report(component, bucket, gates.enforce, tuple(reports))


def _expected(reference: Reference, name: str) -> tuple[Array, Array]:
    """Truth and PyTorch float32 for an artifact's inputs, in the shape of the component's signature."""
    truth, torch = getattr(reference.fed_truth, name), getattr(reference.fed_dynamic, name)
    return (truth[None], torch[None]) if name == "audio" else (truth, torch)


def _returned(
    component: str, reference: Reference, name: str, returned: Mapping[str, Array], shape: tuple[int, ...]
) -> Array:
    if name not in returned:
        raise ValidationError(
            f"{component} returned no {name} for the utterance {reference.name}, only "
            f"{', '.join(returned) or 'nothing'}. The artifact does not have the signature of {component}."
        )
    value = np.asarray(returned[name])
    if value.shape != shape:
        raise ValidationError(
            f"{component} returned {name} of shape {value.shape} for the utterance {reference.name}, where "
            f"{shape} is due. The artifact does not have the signature of {component}, or miscounts."
        )
    return value


def _counts(duration: Array, reference: Reference) -> NDArray[np.int64]:
    """Frames of every token; zeros, which no token ever has, where they are unknown."""
    if np.isfinite(duration).all():
        return frame_counts(duration, reference.speed)
    return np.zeros(duration.size, dtype=np.int64)
