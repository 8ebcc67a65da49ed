"""Regimes compared: what is judged, what is named, what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from toy_bundle import write_safetensors
from toys import PHONEMES

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import InputError, ValidationError
from kokoro_tvm.recipe import Gates, UtteranceSpec
from kokoro_tvm.runtime import SpeechWarning, read_bundle
from kokoro_tvm.tools.lab.setting import Lab, utterance_of
from kokoro_tvm.tools.lab.steps import REGIMES, StepsReport, parse_pairs, regimes, report_steps, save_regimes
from kokoro_tvm.validation.reference.steps import STEPS, Steps, load_steps

pytestmark = pytest.mark.nightly

HELLO = UtteranceSpec(name="hello", phonemes=PHONEMES, voice="am_adam")


@pytest.fixture(scope="module")
def found(lab: Callable[[str], Lab]) -> dict[str, Steps]:
    return regimes(lab("toy"), HELLO, frames=64)


@pytest.fixture(scope="module")
def report(lab: Callable[[str], Lab], found: dict[str, Steps]) -> StepsReport:
    """With gates that eager PyTorch meets, too, which sums in another order on every machine."""
    toy = lab("toy")
    gates = toy.recipe.gates.model_dump()
    gates["f0n"] = {"min_snr_db": 100}
    for part in ("decoder", "speech"):
        gates[part] = {"min_snr_db": 20, "min_gain_db": 3, "min_magnitude_correlation": 0.99}
    recipe = toy.recipe.model_copy(update={"gates": Gates.model_validate(gates)})
    pairs = [(ref, value) for ref in ("pt.float64", "pt.dynamic") for value in REGIMES if value != ref]
    return report_steps(replace(toy, recipe=recipe), HELLO, found, pairs, buckets=[40, 64])


def test_tvm_is_what_the_bundle_speaks(lab: Callable[[str], Lab], found: dict[str, Steps]) -> None:
    """To the last bit, though the lab takes the way through the components by itself."""
    bundle = lab("toy").bundle.root
    with pytest.warns(SpeechWarning):
        speech = Synthesizer(bundle).from_phonemes(PHONEMES, voice="am_adam")
    np.testing.assert_array_equal(found["tvm"].values["audio"], speech.audio)
    np.testing.assert_array_equal(found["tvm"].values["pred_dur"], speech.durations)
    assert {s.name for s in STEPS if s.inner} == found["tvm"].missing.keys()


def test_only_what_is_built_is_judged_and_only_by_the_truth(report: StepsReport) -> None:
    judged = {str(pair) for pair in report.pairs if pair.judged}
    assert judged == {"pt.float64:pt.masked", "pt.float64:pt.padded", "pt.float64:tvm"}
    by_name = {str(pair): pair for pair in report.pairs}
    assert by_name["pt.float64:tvm"].first_missed is None
    assert by_name["pt.float64:pt.masked"].first_missed is None
    assert by_name["pt.float64:pt.padded"].first_missed.step == "d_en"
    rows = {row.step: row for row in by_name["pt.float64:tvm"].rows}
    assert [row.step for row in rows.values()] == [step.name for step in STEPS]
    assert rows["source"].status == "not run" and rows["source"].reason.startswith("not available: tvm")
    assert rows["audio"].metrics["gain_db"] > 3
    assert {v.gate for v in rows["audio"].verdicts} == {
        "min_finite_fraction",
        "min_snr_db",
        "min_frame_snr_median_db",
        "min_frame_snr_p5_db",
        "min_first_frame_snr_db",
        "min_last_frame_snr_db",
        "min_gain_db",
        "min_magnitude_correlation",
    }
    assert all(row.status == "passed" for row in rows.values() if row.metrics)


def test_the_first_step_that_misses_is_named(report: StepsReport) -> None:
    assert len(report.missed) == 1
    assert report.missed[0].startswith("pt.float64:pt.padded: the first step that misses its gate is d_en (")
    with pytest.raises(ValidationError, match="first step that misses its gate is d_en") as result:
        report.require()
    assert result.value.exit_code == 4


def test_where_durations_differ_frames_are_not_compared(report: StepsReport) -> None:
    rows = {
        row.step: row for pair in report.pairs if str(pair) == "pt.float64:pt.padded" for row in pair.rows
    }
    if rows["pred_dur"].status == "passed":
        pytest.skip("the toy's padding leaves the durations as they are")
    assert rows["alignment"].status == "failed"
    assert "frames against" in rows["alignment"].reason
    assert rows["f0"].metrics is None and "nothing to compare" in rows["f0"].reason


def test_given_durations_make_every_step_comparable(lab: Callable[[str], Lab]) -> None:
    found = regimes(lab("toy"), HELLO, ["pt.padded"], 64, given_durations=True)
    assert found.keys() == {"pt.float64", "pt.dynamic", "pt.padded"}
    report = report_steps(lab("toy"), HELLO, found, [("pt.float64", "pt.padded")], crossed=False)
    assert all(row.metrics for row in report.pairs[0].rows)
    assert report.crossed == report.sweep == ()


def test_crossed_decoders(report: StepsReport) -> None:
    crossed = {(c.decoder, c.fed_by): c for c in report.crossed}
    others = ("pt.dynamic", "pt.masked", "pt.padded")
    assert crossed.keys() == {("tvm", o) for o in others} | {(o, "tvm") for o in others}
    assert crossed["tvm", "pt.masked"].like_fed["snr_db"] > 40
    assert crossed["pt.masked", "tvm"].like_fed["snr_db"] > 40
    assert crossed["pt.padded", "tvm"].like_fed["snr_db"] < 20


def test_the_decoder_at_every_bucket(report: StepsReport) -> None:
    rows = {(row.regime, row.bucket): row for row in report.sweep}
    assert rows["pt.masked", 40].reason == "longer than the bucket"
    assert rows["pt.masked", 40].status == "not run"
    assert rows["pt.masked", 64].status == rows["tvm", None].status == "passed"
    assert rows["pt.padded", 64].status == "failed" and not rows["pt.padded", 64].judged
    assert rows["pt.masked", 64].tail.max_abs == 0


def test_the_report_is_plain_data(report: StepsReport) -> None:
    result = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert result["utterance"]["phonemes"] == PHONEMES
    assert not result["passed"]
    assert len(result["pairs"][0]["steps"]) == len(STEPS)


def test_tensors_and_waves_are_kept(found: dict[str, Steps], tmp_path: Path) -> None:
    files = save_regimes(found, tmp_path / "kept", 24000)
    assert {f.name for f in files} == {f"{r}.{s}" for r in found for s in ("safetensors", "wav")}
    read = load_steps(tmp_path / "kept" / "pt.float64.safetensors")
    np.testing.assert_array_equal(read.values["generator.1"], found["pt.float64"].values["generator.1"])
    audio, rate = soundfile.read(tmp_path / "kept" / "tvm.wav", dtype="float32")
    assert rate == 24000
    np.testing.assert_array_equal(audio, found["tvm"].values["audio"])


@pytest.mark.parametrize("text", ["pt.float64", "tvm:tvm", "tvm:pt.static", ""])
def test_pairs_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="is no pair of regimes"):
        parse_pairs(text)


def test_pairs() -> None:
    assert parse_pairs("pt.float64:tvm, pt.dynamic:tvm") == (("pt.float64", "tvm"), ("pt.dynamic", "tvm"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"phonemes": "a", "text": "a"}, "either as a text or as phonemes"),
        ({"phonemes": None, "text": None}, "either as a text or as phonemes"),
        ({"phonemes": None, "text": "One.\n\nTwo."}, "has 2 paragraphs"),
        ({"phonemes": "a" * 511}, "phonemes: String should have at most 510 characters"),
        ({"speed": 0.0}, "speed: Input should be greater than 0"),
        ({"voice": "af heart"}, "voice: "),
    ],
)
def test_no_utterance(plain_bundle: Path, given: dict[str, Any], message: str) -> None:
    result = {"phonemes": "a", "text": None, "voice": "af_heart", "speed": 1.0, "seed": 0} | given
    with pytest.raises(InputError, match=message):
        utterance_of(**result, bundle=read_bundle(plain_bundle))


def test_without_a_voice_an_utterance_has_the_bundles(plain_bundle: Path) -> None:
    table = {"zoe": np.ones((510, 4), np.float32), "anna": np.ones((510, 4), np.float32)}
    write_safetensors(plain_bundle / "voices.safetensors", table)
    assert utterance_of("a", None, None, 1.0, 0, read_bundle(plain_bundle)).voice == "anna"
