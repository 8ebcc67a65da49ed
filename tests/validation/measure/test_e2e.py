"""End to end: who is how near to the truth, what is judged by which gate, and what the report says."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.recipe.gates import Gates
from kokoro_tvm.recipe.parts import UtteranceSpec
from kokoro_tvm.validation.measure.e2e import CEILINGS, compare_bundles, measure_likeness
from kokoro_tvm.validation.measure.e2e_table import print_end_to_end
from kokoro_tvm.validation.measure.gates import write_report
from kokoro_tvm.validation.reference.compute import compute_speech
from kokoro_tvm.validation.reference.reference import (
    RESEED,
    Reference,
    Rendering,
    SpeechReference,
    load_speech,
    save_reference,
)


@pytest.fixture(scope="module")
def computed(
    config: dict[str, Any],
    state: dict[str, torch.Tensor],
    voices: dict[str, np.ndarray],
    utterances: list[UtteranceSpec],
) -> list[SpeechReference]:
    """Compute speech references, and one of the first utterance with other noise."""
    other = utterances[0].model_copy(update={"seed": utterances[0].seed + RESEED})
    return compute_speech(config, state, voices, [*utterances, other])


@pytest.fixture(scope="module")
def speeches(computed: list[SpeechReference]) -> list[SpeechReference]:
    return computed[:-1]


@pytest.fixture
def gates() -> Gates:
    off = {"min_snr_db": None}
    audio = off | {"min_gain_db": 20.0, "min_magnitude_correlation": None}
    corpus = {"min_gain_db": 0.0, "min_median_gain_db": 10.0, "min_magnitude_correlation": 0.9}
    return Gates.model_validate(
        dict.fromkeys(("bert", "duration", "text_encoder", "f0n"), off)
        | {"decoder": audio, "speech": audio, "corpus": corpus}
    )


def between(reference: SpeechReference, share: float) -> Rendering:
    """Interpolate between the truth and pt.dynamic."""
    truth, dynamic = reference.truth, reference.dynamic
    audio = truth.audio + share * (dynamic.audio - truth.audio)
    return replace(truth, audio=audio.astype(np.float64))


def all_rendered(speeches: list[SpeechReference], share: float = 0.01) -> dict[str, Rendering]:
    return {r.name: between(r, share) for r in speeches}


def test_speech_reference_equals_the_reference(
    speeches: list[SpeechReference], references: list[Reference]
) -> None:
    for speech, reference in zip(speeches, references, strict=True):
        for side in ("truth", "dynamic"):
            for name in ("audio", "durations", "f0"):
                expected = getattr(getattr(reference, side), name)
                np.testing.assert_array_equal(getattr(getattr(speech, side), name), expected)
        assert speech.rounding_margin() == reference.rounding_margin()
        assert speech.frames == reference.frames


def test_other_noise_changes_the_audio_only(
    speeches: list[SpeechReference], computed: list[SpeechReference]
) -> None:
    for speech in speeches:
        np.testing.assert_array_equal(speech.reseeded.f0, speech.truth.f0)
        np.testing.assert_array_equal(speech.reseeded.durations, speech.truth.durations)
        assert not np.array_equal(speech.reseeded.audio, speech.truth.audio)
    np.testing.assert_array_equal(computed[-1].truth.audio, speeches[0].reseeded.audio)


def test_speech_reference_survives_a_file(speeches: list[SpeechReference], tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "one.safetensors"
    save_reference(speeches[1], path)
    assert [p.name for p in path.parent.iterdir()] == ["one.safetensors"]
    loaded = load_speech(path)
    for name in ("name", "phonemes", "voice", "speed", "seed"):
        assert getattr(loaded, name) == getattr(speeches[1], name)
    np.testing.assert_array_equal(loaded.duration, speeches[1].duration)
    np.testing.assert_array_equal(loaded.reseeded.audio, speeches[1].reseeded.audio)
    assert loaded.truth.audio.dtype == np.float64
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValidationError, match=r"one\.safetensors cannot be read.*run this again"):
        load_speech(path)
    with pytest.raises(ValidationError, match="missing"):
        load_speech(tmp_path / "missing.safetensors")


def test_likeness_of_the_truth(speeches: list[SpeechReference]) -> None:
    truth = speeches[0].truth
    same = measure_likeness(truth, speeches[0])
    assert (same["snr_db"], same["gain_db"]) == (np.inf, np.inf)
    assert (same["lag_samples"], same["loudness_ratio_db"], same["durations_off"], same["samples_off"]) == (
        0,
        0,
        0,
        0,
    )
    assert same["magnitude_correlation"] == same["log_mel_correlation"] == pytest.approx(1.0)


def test_likeness_detects_each_kind_of_error(speeches: list[SpeechReference]) -> None:
    truth = speeches[1].truth
    late = measure_likeness(replace(truth, audio=np.roll(truth.audio, 7)), speeches[1])
    assert late["lag_samples"] == 7
    loud = measure_likeness(replace(truth, audio=truth.audio * 1.15), speeches[1])
    assert loud["loudness_ratio_db"] == pytest.approx(1.21, abs=0.01)
    assert loud["magnitude_correlation"] == pytest.approx(1.0)
    flat = measure_likeness(replace(truth, f0=truth.f0 + 3.0), speeches[1])
    assert flat["f0_rmse_hz"] == pytest.approx(3.0)
    short = measure_likeness(replace(truth, audio=truth.audio[:-600]), speeches[1])
    assert short["samples_off"] == 600
    assert np.isnan([short["snr_db"], short["gain_db"], short["log_mel_correlation"]]).all()
    durations = truth.durations.copy()
    durations[:2] += (1, -1)
    shifted = measure_likeness(replace(truth, durations=durations), speeches[1])
    assert shifted["durations_off"] == 2


def test_every_bundle_has_ceilings(speeches: list[SpeechReference], gates: Gates) -> None:
    bundles = compare_bundles(speeches, {"one": all_rendered(speeches)}, {"one": gates})
    assert bundles.sides == ("one", *CEILINGS)
    assert bundles.passed, bundles.missed()
    bundles.require()
    for value in bundles.values("one", "gain_db"):
        assert value == pytest.approx(40.0, abs=0.5)
    assert bundles.values("pt.dynamic", "gain_db") == [0.0, 0.0]
    assert max(bundles.values("other noise", "snr_db")) < min(bundles.values("pt.dynamic", "snr_db"))


@pytest.mark.parametrize(
    ("share", "own", "missed"),
    [
        (0.2, (), []),  # 14 dB nearer: enough for the corpus
        (0.2, ("short",), ["one, short: audio: gain_db 13.9"]),  # and not for the recipe's own
        (0.5, (), ["one: median: median_gain_db 6.0"]),
        (1.2, (), ["one, short: audio: gain_db -1.5", "one, longer: audio: gain_db -1.5", "one: median"]),
    ],
)
def test_gates(
    share: float, own: tuple[str, ...], missed: list[str], speeches: list[SpeechReference], gates: Gates
) -> None:
    bundles = compare_bundles(speeches, {"one": all_rendered(speeches, share)}, {"one": gates}, own)
    result = bundles.missed()
    assert [line[: len(start)] for line, start in zip(result, missed, strict=True)] == missed
    assert bundles.passed is not bool(missed)
    if missed:
        with pytest.raises(ValidationError, match=r"Gates were missed: one.*validate steps"):
            bundles.require()


def test_lengths_and_durations_are_always_judged(speeches: list[SpeechReference], gates: Gates) -> None:
    renderings = all_rendered(speeches)
    renderings["short"] = replace(renderings["short"], audio=renderings["short"].audio[:-1])
    durations = renderings["longer"].durations.copy()
    durations[1] += 1
    renderings["longer"] = replace(renderings["longer"], durations=durations)
    missed = compare_bundles(speeches, {"one": renderings}, {"one": gates}).missed()
    assert "one, short: audio: samples_off 1, max_samples_off 0" in missed
    assert "one, longer: durations: durations_off 1, max_durations_off 0" in missed


def test_utterance_that_does_not_fit_is_not_run(speeches: list[SpeechReference], gates: Gates) -> None:
    renderings = all_rendered(speeches)
    del renderings["longer"]
    bundles = compare_bundles(speeches, {"one": renderings}, {"one": gates})
    assert [u.status("one") for u in bundles.utterances] == ["passed", "not run: longer than the bucket"]
    assert bundles.passed
    nothing = compare_bundles(speeches, {"one": {}}, {"one": gates})
    assert not nothing.passed
    with pytest.raises(ValidationError, match="could hold none"):
        nothing.require()


def test_report_is_json(speeches: list[SpeechReference], gates: Gates, tmp_path: Path) -> None:
    renderings = {"one": all_rendered(speeches), "two": all_rendered(speeches, 0.9)}
    bundles = compare_bundles(speeches, renderings, {"one": gates, "two": gates})
    write_report(bundles, tmp_path / "e2e.json")
    result = json.loads((tmp_path / "e2e.json").read_text(encoding="utf-8"))
    assert result["bundles"] == ["one", "two"]
    assert result["passed"] is False
    assert result["missed"] == bundles.missed()
    assert [v["gate"] for v in result["overall"]["two"]] == ["min_median_gain_db"]
    first = result["utterances"][0]
    assert first["sides"].keys() == {"one", "two", *CEILINGS}
    assert first["sides"]["one"]["snr_db"] == pytest.approx(bundles.values("one", "snr_db")[0])
    assert first["status"]["one"] == "passed"


def test_table_shows_sides_and_missed_gates(speeches: list[SpeechReference], gates: Gates) -> None:
    renderings = all_rendered(speeches, 0.5)
    del renderings["longer"]
    bundles = compare_bundles(speeches, {"one": renderings}, {"one": gates})
    out = StringIO()
    print_end_to_end(bundles, Console(file=out, width=160))
    text = out.getvalue()
    for side in bundles.sides:
        assert text.count(side) >= 3
    assert "not run: one, longer: longer than the bucket" in text
    assert "missed: one: median: median_gain_db 6.0" in text
    assert "+6.0" in text
    assert "passed: one: 1 of 2" in text
