"""Compare compiled code with the stored references: one component, or whole speech. Needs no torch.

The code under test is a callable that returns the valid part of every output.
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

LONGER = "longer than the bucket"
# Utterances of a median that is judged. Which of two float32 sums is nearer to the truth in one is chance.
_MIN_UTTERANCES = 3

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

    Every output is compared with float64, and with PyTorch float32 on the same inputs. Values must be finite,
    and the frames of every token equal. A median is judged if at least three utterances fit.

    Args:
        component: Its name.
        run: Takes arrays by the names and shapes of the exact signature; returns the outputs by name.
        references: The utterances.
        gates: The recipe's gates.
        bucket: Longer references are reported as not run.
        seeded: Like `run`, but takes the words of a `seed` instead of the noise. Its outputs must equal
            those of `run`. The noise is judged by itself (`judge_noise`), because the references share it.

    Raises:
        ValidationError: An output is missing or has the wrong shape.
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
        results = run(reference.inputs(component))
        outputs: dict[str, dict[str, float]] = {}
        verdicts: list[Verdict] = []
        for name in OUTPUTS[component]:
            truth, torch = _find_expected(reference, name)
            value = _check_output(component, reference, name, results, truth.shape)
            if name == "audio":
                measured = measure_audio(value[0], truth[0], torch[0], reference.fed_exact_audio)
            else:
                measured = measure(value, truth, torch, length)
            outputs[name] = measured
            measurements[name].append(measured)
            verdicts += judge_output(measured, limits, name)
            if name == "duration":
                off = count_off(_count_frames(value, reference), reference.truth.durations)
                verdicts.append(none_off("max_durations_off", off, "durations"))
        if seeded is not None:
            seeded_results = seeded(
                reference.inputs(component) | {"seed": seed_words(reference.seed, reference.piece)}
            )
            verdicts += [
                none_off("max_seeded_off", count_off(seeded_results[name], results[name]), name)
                for name in OUTPUTS[component]
            ]
            verdicts += judge_noise(reference.seed, reference.piece)
        reports.append(UtteranceReport(reference.name, length, outputs=outputs, verdicts=tuple(verdicts)))
    if len(measurements[OUTPUTS[component][0]]) < _MIN_UTTERANCES:
        limits = dict.fromkeys(limits)
    overall = [v for name, rows in measurements.items() for v in judge_medians(rows, limits, name)]
    return Report(component, bucket, gates.enforce, tuple(reports), tuple(overall))


def validate_speech(
    synthesize: Callable[[Reference], Speech],
    references: Sequence[Reference],
    gates: Gates,
    *,
    from_c: Callable[[Reference], ProgramOutput] | None = None,
) -> Report:
    """Synthesize every reference and judge durations, length and waveform.

    If PyTorch float32 itself has other durations than float64, the gain is NaN and its gate is missed: such
    an utterance is at a rounding boundary and belongs in no recipe.

    Args:
        synthesize: Speaks the phonemes of a reference in its voice, with its speed and noise.
        references: The utterances.
        gates: The recipe's gates.
        from_c: Speaks a reference from C, which must give the same bits.
    """
    limits = limits_of(gates, "speech")
    reports = []
    for reference in references:
        speech = synthesize(reference)
        truth, torch = reference.truth.audio, reference.dynamic.audio
        audio, durations = np.asarray(speech.audio), np.asarray(speech.durations)
        outputs: dict[str, dict[str, float]] = {}
        if audio.shape == truth.shape:
            outputs["audio"] = measure_audio(audio, truth, torch, reference.exact_audio)
        durations_off = count_off(durations, reference.truth.durations)
        samples_off = float(abs(audio.size - truth.size))
        verdicts = judge_speech(durations_off, samples_off, outputs.get("audio"), limits)
        if from_c is not None:
            c = from_c(reference)
            c_audio: Array = c.audio if np.array_equal(c.durations, durations) else np.empty(0)
            verdicts.append(none_off("max_c_off", count_off(c_audio, audio), "audio"))
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
    """Judge one synthesized utterance.

    Args:
        durations_off: Tokens with another number of frames than in the truth.
        samples_off: Missing or surplus samples.
        measured: Metrics of the waveform, or None if its length differs.
        limits: Limits by gate.
    """
    verdicts = [
        none_off("max_durations_off", durations_off, "durations"),
        Verdict("max_samples_off", samples_off, 0.0, measured is not None, "audio"),
    ]
    return verdicts if measured is None else verdicts + judge_output(measured, limits, "audio")


def report_not_run(
    component: str,
    references: Sequence[Reference],
    gates: Gates,
    reason: str,
    *,
    bucket: int | None = None,
    axis: str = "frames",
) -> Report:
    """Report that no utterance was run; such a report passes no gate."""
    reports = [UtteranceReport(r.name, r.length(axis), reason=reason) for r in references]
    return Report(component, bucket, gates.enforce, tuple(reports))


def _find_expected(reference: Reference, name: str) -> tuple[Array, Array]:
    """Return truth and PyTorch float32 for an artifact's inputs, in the shape of the signature."""
    truth, torch = getattr(reference.fed_truth, name), getattr(reference.fed_dynamic, name)
    return (truth[None], torch[None]) if name == "audio" else (truth, torch)


def _check_output(
    component: str, reference: Reference, name: str, results: Mapping[str, Array], shape: tuple[int, ...]
) -> Array:
    """Return one output, after a check of its shape. Raises ValidationError if it is missing or wrong."""
    if name not in results:
        raise ValidationError(
            f"{component} returned no {name} for the utterance {reference.name}, only "
            f"{', '.join(results) or 'nothing'}. The artifact does not have the signature of {component}."
        )
    value = np.asarray(results[name])
    if value.shape != shape:
        raise ValidationError(
            f"{component} returned {name} of shape {value.shape} for the utterance {reference.name}, where "
            f"{shape} is due. The artifact does not have the signature of {component}, or miscounts."
        )
    return value


def _count_frames(duration: Array, reference: Reference) -> NDArray[np.int64]:
    """Return the frames of every token, or zeros if a duration is not finite."""
    if np.isfinite(duration).all():
        return frame_counts(duration, reference.speed)
    return np.zeros(duration.size, dtype=np.int64)
