"""Artifacts against references: the right answer passes, every way of being wrong does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.recipe.gates import Gates
from kokoro_tvm.validation.measure.artifact import validate_component, validate_speech
from kokoro_tvm.validation.reference.reference import OUTPUTS, Reference

COMPONENTS = list(OUTPUTS)
Outputs = dict[str, np.ndarray]


@pytest.fixture
def gates() -> Gates:
    signal = {"min_snr_db": 60.0}
    audio = {"min_gain_db": 10.0, "min_magnitude_correlation": 0.9999}
    return Gates.model_validate(
        dict.fromkeys(("bert", "duration", "text_encoder", "f0n"), signal)
        | {"decoder": {"min_snr_db": 10.0} | audio, "speech": {"min_snr_db": None} | audio}
    )


def answering(component: str, references: list[Reference], part: str) -> Callable[[Outputs], Outputs]:
    """Return a component that returns a regime's float32 outputs for the inputs of each reference."""

    def run(inputs: Outputs) -> Outputs:
        (r,) = (
            r for r in references if all(np.array_equal(a, r.inputs(component)[n]) for n, a in inputs.items())
        )
        outputs = {name: getattr(getattr(r, part), name).astype(np.float32) for name in OUTPUTS[component]}
        return {name: a[None] if name == "audio" else a for name, a in outputs.items()}

    return run


def spoiling(run: Callable[[Outputs], Outputs], name: str, spoil: Callable[[np.ndarray], Any]):
    return lambda inputs: (outputs := run(inputs)) | {name: spoil(outputs[name])}


@pytest.mark.parametrize("component", COMPONENTS)
def test_correct_output_passes(component: str, references: list[Reference], gates: Gates) -> None:
    report = validate_component(component, answering(component, references, "fed_truth"), references, gates)
    assert report.passed, report.missed()
    report.require()
    assert [u.status for u in report.utterances] == ["passed", "passed"]
    for utterance in report.utterances:
        assert tuple(utterance.outputs) == OUTPUTS[component]
        for measured in utterance.outputs.values():
            assert measured["snr_db"] > 120
            assert measured["finite_fraction"] == 1.0
            assert measured["gain_db"] == pytest.approx(measured["snr_db"] - measured["pytorch_snr_db"])


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("spoil", [lambda x: x * 1.5, lambda x: np.roll(x, 1, -1), lambda x: x * np.nan])
def test_wrong_output_fails(
    component: str, spoil: Callable[[np.ndarray], Any], references: list[Reference], gates: Gates
) -> None:
    for name in OUTPUTS[component]:
        run = spoiling(answering(component, references, "fed_truth"), name, spoil)
        report = validate_component(component, run, references, gates)
        assert [u.status for u in report.utterances] == ["failed", "failed"]
        assert all(f"{name}: " in line or "durations: " in line for line in report.missed())


def test_decoder_must_gain_over_pytorch(references: list[Reference], gates: Gates) -> None:
    report = validate_component("decoder", answering("decoder", references, "fed_dynamic"), references, gates)
    for utterance in report.utterances:
        assert utterance.outputs["audio"]["gain_db"] == 0.0
    assert "gain_db 0, min_gain_db 10" in report.missed()[0]


@pytest.mark.parametrize(
    ("gain", "status"),
    [(-1.0, "passed"), (1.0, "failed"), (None, "not run")],
)
def test_gain_is_judged_at_the_median(
    references: list[Reference], gates: Gates, gain: float | None, status: str
) -> None:
    """One of two utterances may be farther from the truth by chance."""
    bert = gates.bert.model_copy(update={"min_snr_db": -99.0, "min_median_gain_db": gain})
    theirs = answering("bert", references, "fed_dynamic")
    worse = spoiling(theirs, "d_en", lambda value: value * 1.5)
    runs = [worse, theirs, theirs]
    three = [references[0]] * 3
    judged = gates.model_copy(update={"bert": bert})
    report = validate_component("bert", lambda inputs: runs.pop(0)(inputs), three, judged)
    (verdict,) = report.overall
    assert (verdict.where, verdict.value, verdict.status) == ("d_en", 0.0, status)
    assert report.passed is (status != "failed")
    assert report.missed() == (["d_en: median_gain_db 0, min_median_gain_db 1"] if gain == 1.0 else [])
    assert report.to_json()["overall"][0]["status"] == status


def test_median_needs_three_utterances(references: list[Reference], gates: Gates) -> None:
    bert = gates.bert.model_copy(update={"min_median_gain_db": 400.0})
    judged = gates.model_copy(update={"bert": bert})
    report = validate_component("bert", answering("bert", references, "fed_truth"), references, judged)
    assert [verdict.status for verdict in report.overall] == ["not run"]
    assert report.passed


def test_one_wrong_frame_fails(references: list[Reference], gates: Gates) -> None:
    def spoil(duration: np.ndarray) -> np.ndarray:
        return duration + np.eye(1, duration.shape[1], 2, dtype=np.float32)

    lenient = gates.model_copy(update={"duration": gates.duration.model_copy(update={"min_snr_db": -99.0})})
    run = spoiling(answering("duration", references, "fed_truth"), "duration", spoil)
    report = validate_component("duration", run, references[:1], lenient)
    assert report.missed() == ["short: durations: durations_off 1, max_durations_off 0"]


def test_utterance_longer_than_the_bucket_is_not_run(references: list[Reference], gates: Gates) -> None:
    short, longer = (r.length("frames") for r in references)
    assert short < longer
    run = answering("f0n", references, "fed_truth")
    assert validate_component("f0n", run, references, gates, bucket=longer).passed
    report = validate_component("f0n", run, references, gates, bucket=longer - 1)
    assert [u.status for u in report.utterances] == ["passed", "not run: longer than the bucket"]
    assert report.passed
    none = validate_component("f0n", run, references, gates, bucket=short - 1)
    assert not none.passed
    with pytest.raises(ValidationError, match=rf"no utterance could be run .short of {short}: longer than"):
        none.require()


def test_output_of_another_signature_is_refused(references: list[Reference], gates: Gates) -> None:
    run = answering("f0n", references, "fed_truth")
    with pytest.raises(ValidationError, match=r"f0n returned no n .* only f0"):
        validate_component("f0n", lambda i: {"f0": run(i)["f0"]}, references, gates)
    with pytest.raises(ValidationError, match=r"f0 of shape \(\d+,\)"):
        validate_component("f0n", spoiling(run, "f0", np.ravel), references, gates)


def test_unenforced_gates_report(references: list[Reference], gates: Gates) -> None:
    padded = gates.model_copy(update={"enforce": False})
    run = spoiling(answering("bert", references, "fed_truth"), "d_en", lambda x: -x)
    report = validate_component("bert", run, references, padded)
    assert not report.passed
    report.require()


@dataclass
class Speech:
    audio: np.ndarray
    durations: np.ndarray


def speak(reference: Reference) -> Speech:
    return Speech(reference.truth.audio.astype(np.float32), reference.truth.durations)


def test_speech_as_the_truth_has_it_passes(references: list[Reference], gates: Gates) -> None:
    report = validate_speech(speak, references, gates)
    report.require()
    assert [u.status for u in report.utterances] == ["passed", "passed"]
    assert report.component == "speech"
    assert report.utterances[0].length == references[0].frames


@pytest.mark.parametrize(
    ("spoil", "missed"),
    [
        (lambda s: replace(s, audio=s.audio[:-1]), "audio: samples_off 1, max_samples_off 0"),
        (lambda s: replace(s, audio=s.audio[None]), "audio: samples_off 0, max_samples_off 0"),
        (lambda s: replace(s, durations=s.durations[::-1]), "durations: durations_off"),
        (lambda s: replace(s, durations=s.durations[:-1]), "durations: durations_off"),
        (lambda s: replace(s, audio=s.audio * np.float32(0.9)), "audio: gain_db"),
        (lambda s: replace(s, audio=np.roll(s.audio, 600)), "audio: magnitude_correlation"),
        (lambda s: replace(s, audio=np.full_like(s.audio, np.nan)), "audio: finite_fraction 0"),
    ],
)
def test_speech_gone_wrong(spoil, missed: str, references: list[Reference], gates: Gates) -> None:
    report = validate_speech(lambda r: spoil(speak(r)), references, gates)
    assert not report.passed
    for r in references:
        assert any(line.startswith(f"{r.name}: {missed}") for line in report.missed())


@pytest.mark.parametrize(
    ("spoil", "off"),
    [
        (lambda s: s, 0),
        (lambda s: replace(s, audio=np.where(np.arange(s.audio.size) < 2, np.float32(9), s.audio)), 2),
        (lambda s: replace(s, audio=s.audio[:-1]), None),
        (lambda s: replace(s, durations=s.durations[::-1].copy()), None),
    ],
)
def test_c_program_must_return_the_same_bits(
    spoil, off: int | None, references: list[Reference], gates: Gates
) -> None:
    """Without references nothing passes."""
    r = references[0]
    report = validate_speech(speak, [r], gates, from_c=lambda r: spoil(speak(r)))
    (verdict,) = (v for v in report.utterances[0].verdicts if v.gate == "max_c_off")
    assert verdict.value == (r.truth.audio.size if off is None else off)
    assert report.passed == verdict.passed == (off == 0)


def test_reference_at_a_rounding_boundary_fails(references: list[Reference], gates: Gates) -> None:
    """PyTorch float32 with other durations is not comparable, which is no pass."""
    r = references[0]
    dynamic = replace(r.dynamic, audio=r.dynamic.audio[:-600])
    report = validate_speech(speak, [replace(r, dynamic=dynamic)], gates)
    assert report.missed() == ["short: audio: gain_db nan, min_gain_db 10"]
