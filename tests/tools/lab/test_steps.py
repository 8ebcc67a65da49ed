"""Regimes compared step by step on the toy's bundles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from toy_bundle import write_safetensors
from toys import PHONEMES

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import InputError, ValidationError
from kokoro_tvm.recipe import UtteranceSpec
from kokoro_tvm.runtime import SpeechWarning, read_bundle
from kokoro_tvm.tools.lab.setting import Lab, build_utterance
from kokoro_tvm.tools.lab.steps import StepsReport, compare_regimes, compute_regimes, save_regimes
from kokoro_tvm.validation.reference.steps import STEPS, Steps, load_steps

pytestmark = pytest.mark.nightly

HELLO = UtteranceSpec(name="hello", phonemes=PHONEMES, voice="am_adam")


@pytest.fixture(scope="module")
def steps(lab: Callable[[str], Lab]) -> dict[str, Steps]:
    return compute_regimes(lab("toy"), HELLO)


@pytest.fixture(scope="module")
def report(lab: Callable[[str], Lab], steps: dict[str, Steps]) -> StepsReport:
    return compare_regimes(lab("toy"), HELLO, steps)


@pytest.fixture(scope="module")
def padded(lab: Callable[[str], Lab]) -> StepsReport:
    """The report of a bundle that treats padding as data, as if its gates were enforced."""
    steps = compute_regimes(lab("padded"), HELLO, given_durations=True)
    report = compare_regimes(lab("padded"), HELLO, steps)
    assert not report.enforce
    report.require()
    return StepsReport(report.bundle, True, report.utterance, report.frames, report.pairs)


def test_chain_equals_the_synthesizer(lab: Callable[[str], Lab], steps: dict[str, Steps]) -> None:
    bundle = lab("toy").bundle.root
    with pytest.warns(SpeechWarning):
        speech = Synthesizer(bundle).from_phonemes(PHONEMES, voice="am_adam")
    np.testing.assert_array_equal(steps["tvm"].values["audio"], speech.audio)
    np.testing.assert_array_equal(steps["tvm"].values["pred_dur"], speech.durations)
    assert {s.name for s in STEPS if s.inner} == steps["tvm"].missing.keys()


def test_only_the_bundle_is_judged(report: StepsReport) -> None:
    assert {str(pair) for pair in report.pairs if pair.judged} == {"pt.float64:tvm"}
    by_name = {str(pair): pair for pair in report.pairs}
    assert by_name["pt.float64:tvm"].first_missed is None
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


def test_report_names_the_first_missed_step(padded: StepsReport) -> None:
    assert len(padded.missed) == 1
    assert padded.missed[0].startswith("pt.float64:tvm: the first step that misses its gate is d_en (")
    with pytest.raises(ValidationError, match="first step that misses its gate is d_en") as result:
        padded.require()
    assert result.value.exit_code == 4


def test_given_durations_make_every_step_comparable(padded: StepsReport) -> None:
    pair = padded.pairs[0]
    assert all(row.metrics for row in pair.rows if not row.reason.startswith("not available"))


def test_report_is_json(padded: StepsReport) -> None:
    result = json.loads(json.dumps(padded.to_json(), allow_nan=False))
    assert result["utterance"]["phonemes"] == PHONEMES
    assert not result["passed"]
    assert len(result["pairs"][0]["steps"]) == len(STEPS)


def test_save_regimes_writes_tensors_and_audio(steps: dict[str, Steps], tmp_path: Path) -> None:
    files = save_regimes(steps, tmp_path / "kept", 24000)
    assert {f.name for f in files} == {f"{r}.{s}" for r in steps for s in ("safetensors", "wav")}
    copy = load_steps(tmp_path / "kept" / "pt.float64.safetensors")
    np.testing.assert_array_equal(copy.values["generator.1"], steps["pt.float64"].values["generator.1"])
    audio, rate = soundfile.read(tmp_path / "kept" / "tvm.wav", dtype="float32")
    assert rate == 24000
    np.testing.assert_array_equal(audio, steps["tvm"].values["audio"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phonemes": "a", "text": "a"}, "either as a text or as phonemes"),
        ({"phonemes": None, "text": None}, "either as a text or as phonemes"),
        ({"phonemes": None, "text": "One.\n\nTwo."}, "has 2 paragraphs"),
        ({"phonemes": "a" * 511}, "phonemes: String should have at most 510 characters"),
        ({"speed": 0.0}, "speed: Input should be greater than 0"),
        ({"voice": "af heart"}, "voice: "),
    ],
)
def test_build_utterance_refuses(plain_bundle: Path, changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "phonemes": "a",
        "text": None,
        "voice": "af_heart",
        "speed": 1.0,
        "seed": 0,
    } | changes
    with pytest.raises(InputError, match=message):
        build_utterance(**arguments, bundle=read_bundle(plain_bundle))


def test_build_utterance_takes_the_default_voice(plain_bundle: Path) -> None:
    table = {"zoe": np.ones((510, 4), np.float32), "anna": np.ones((510, 4), np.float32)}
    write_safetensors(plain_bundle / "voices.safetensors", table)
    assert build_utterance("a", None, None, 1.0, 0, read_bundle(plain_bundle)).voice == "anna"
