"""Verdicts and reports: what passes, what never does, and what the file holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.recipe import Gates
from kokoro_tvm.validation.measure.gates import (
    Report,
    UtteranceReport,
    Verdict,
    judge,
    limits_of,
    write_report,
)


def utterance(name: str, *passed: bool, reason: str = "") -> UtteranceReport:
    verdicts = tuple(Verdict("min_snr_db", 41.25, 40.0 if p else 60.0, p, "f0") for p in passed)
    return UtteranceReport(name, 12, reason=reason, verdicts=verdicts)


def report(*utterances: UtteranceReport, enforce: bool = True) -> Report:
    return Report("f0n", 256, enforce, utterances)


@pytest.mark.parametrize(
    ("value", "passed"), [(40.0, True), (np.nextafter(40.0, 0), False), (np.nan, False), (np.inf, True)]
)
def test_min_gate_passes_above_its_limit(value: float, passed: bool) -> None:
    (verdict,) = judge({"snr_db": value}, {"min_snr_db": 40.0}, "f0")
    assert verdict.passed is passed
    assert (verdict.gate, verdict.limit, verdict.where) == ("min_snr_db", 40.0, "f0")


@pytest.mark.parametrize(("value", "passed"), [(0.5, True), (0.6, False), (np.nan, False), (-np.inf, True)])
def test_max_gate_passes_below_its_limit(value: float, passed: bool) -> None:
    (verdict,) = judge({"max_abs": 9.0, "error": value}, {"max_error": 0.5})
    assert verdict.passed is passed


@pytest.mark.parametrize("gate", ["min_gain_db", "snr_db", "about_snr_db"])
def test_judge_refuses_a_gate_without_a_metric(gate: str) -> None:
    with pytest.raises(ValidationError, match=f"{gate} cannot be judged for audio.*snr_db"):
        judge({"snr_db": 50.0}, {gate: 1.0}, "audio")


def test_gate_without_a_limit_is_not_run() -> None:
    verdicts = judge({"snr_db": 37.5, "gain_db": -3.0}, {"min_snr_db": 36.0, "min_gain_db": None}, "audio")
    assert [v.status for v in verdicts] == ["passed", "not run"]
    assert str(verdicts[1]) == "audio: gain_db -3, min_gain_db not run"
    one = report(UtteranceReport("a", 12, verdicts=tuple(verdicts)))
    assert one.passed
    assert one.missed() == []
    result = one.to_json()["utterances"][0]["verdicts"][1]
    assert result == {
        "output": "audio", "gate": "min_gain_db", "value": -3.0, "limit": None, "status": "not run"
    }  # fmt: skip
    assert not report(UtteranceReport("a", 12, verdicts=(verdicts[1],))).passed, "nothing was judged"
    with pytest.raises(ValidationError, match="min_gain_db cannot be judged"):
        judge({"snr_db": 37.5}, {"min_gain_db": None})


def test_report_passes_if_every_run_utterance_passes() -> None:
    assert report(utterance("a", True), utterance("b", True, True)).passed
    assert not report(utterance("a", True), utterance("b", True, False)).passed


def test_report_without_runs_fails() -> None:
    long = utterance("long", reason="longer than the bucket")
    assert long.status == "not run: longer than the bucket"
    assert report(utterance("a", True), long).passed
    assert not report(utterance("a", False), long).passed
    assert not report(long).passed
    assert not report().passed
    # Nothing judged is nothing passed.
    assert not report(utterance("a")).passed
    with pytest.raises(ValidationError, match=r"no utterance could be run \(long of 12: longer than"):
        report(long).require()


def test_require_names_every_missed_gate() -> None:
    failed = report(utterance("a", True), utterance("b", False))
    with pytest.raises(ValidationError, match=r"f0n-256 .*b: f0: snr_db 41.25, min_snr_db 60") as caught:
        failed.require()
    assert "a:" not in str(caught.value)
    assert caught.value.exit_code == 4
    report(utterance("a", True)).require()


def test_unenforced_gates_do_not_raise() -> None:
    padded = report(utterance("b", False), enforce=False)
    padded.require()
    assert not padded.passed
    assert padded.to_json()["passed"] is False


def test_write_report_writes_strict_json(tmp_path: Path) -> None:
    outputs = {"f0": {"snr_db": np.inf, "gain_db": np.nan, "max_abs": np.float64(0.5)}}
    one = UtteranceReport("a", 12, outputs=outputs, verdicts=(Verdict("min_snr_db", -np.inf, 60.0, False),))
    path = tmp_path / "made" / "f0n-256.json"
    write_report(report(one), path)
    data = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda c: pytest.fail(f"{c} in JSON"))
    assert data["utterances"][0]["outputs"]["f0"] == {"snr_db": "inf", "gain_db": "nan", "max_abs": 0.5}
    assert data["utterances"][0]["verdicts"][0]["value"] == "-inf"
    assert data["utterances"][0]["status"] == "failed"
    assert (data["component"], data["bucket"], data["enforce"]) == ("f0n", 256, True)


def test_failed_write_keeps_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f0n-256.json"
    write_report(report(utterance("old", True)), path)
    before = path.read_text(encoding="utf-8")

    def full(*_args: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_report(report(utterance("new", True)), path)
    assert path.read_text(encoding="utf-8") == before
    assert list(tmp_path.iterdir()) == [path]


def test_limits_of_leaves_out_gates_by_word() -> None:
    signal = {"min_snr_db": 60.0}
    audio = signal | {"min_gain_db": 10.0, "min_magnitude_correlation": 0.9}
    parts = ("bert", "duration", "text_encoder", "f0n")
    gates = Gates.model_validate(dict.fromkeys(parts, signal) | dict.fromkeys(("decoder", "speech"), audio))
    every = limits_of(gates, "decoder").keys()
    assert every - limits_of(gates, "decoder", without="exact").keys() == {
        "min_exact_frame_snr_median_db",
        "min_exact_frame_snr_p5_db",
    }
    assert limits_of(gates, "decoder", without="frame") == audio


def test_report_names_the_worst_missed_gate_in_one_line() -> None:
    """A bfloat16 decoder under float32's gates misses dozens of them."""
    verdicts = (
        Verdict("min_magnitude_correlation", 0.9998, 0.9999, False, "audio"),
        Verdict("min_snr_db", 36.0, 60.0, False, "audio"),
        Verdict("min_gain_db", -3.0, 10.0, False, "audio"),
    )
    one = report(*(UtteranceReport(f"utterance-{i}", 12, verdicts=verdicts) for i in range(14)))
    assert [line.partition(" ")[2] for line in one.missed()[13:15]] == [
        "audio: gain_db -3, min_gain_db 10",
        "audio: snr_db 36, min_snr_db 60",
    ]
    with pytest.raises(ValidationError) as caught:
        one.require()
    message = str(caught.value)
    assert message.startswith(
        "f0n-256 did not pass: utterance-0: audio: gain_db -3, min_gain_db 10 (the worst "
    )
    assert "(the worst of 42 missed gates). Look at the report beside it" in message
    assert "\n" not in message


def test_nan_is_the_worst_missed_gate() -> None:
    verdicts = (
        Verdict("min_snr_db", -300.0, 1.0, False, "a"),
        Verdict("min_snr_db", np.nan, 1.0, False, "b"),
    )
    assert (
        report(UtteranceReport("one", 12, verdicts=verdicts)).missed()[0]
        == "one: b: snr_db nan, min_snr_db 1"
    )
