"""kokoro-tvm validate intelligibility, with a fake recogniser."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from kokoro_tvm.cli import main
from kokoro_tvm.tools.lab.setting import Lab
from kokoro_tvm.validation.measure import recogniser
from kokoro_tvm.validation.measure.intelligibility import Transcript

COMMAND = ["validate", "intelligibility"]


def status(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*COMMAND, *words])
    return int(ended.value.code or 0)


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> list[Transcript]:
    """What the recogniser hears of the bundle and the stock model; tests append to it."""
    heard: list[Transcript] = []
    gates = SimpleNamespace(intelligibility=SimpleNamespace(max_word_error_increase=None))
    lab = SimpleNamespace(model=({}, {}), recipe=SimpleNamespace(gates=gates), threads=1)
    monkeypatch.setattr(Lab, "open", lambda *_: lab)
    monkeypatch.setattr("kokoro_tvm.validation.measure.listening.listen", lambda *_, **__: heard)
    monkeypatch.setattr(recogniser, "open_recogniser", lambda: object())
    return heard


def test_intelligibility_prints_rates_by_voice_and_the_verdict(
    listening: list[Transcript], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listening += [
        Transcript("af_heart", "kick the ball straight", "kick the wall straight", "kick the ball straight"),
        Transcript("bm_george", "the sun rose", "the sun rose", "the sun rows"),
    ]
    out = tmp_path / "heard.json"
    assert status("--json-file", str(out)) == 0
    output = capsys.readouterr().out
    assert [line.split() for line in output.splitlines() if "%" in line] == [
        ["af_heart", "25.00%", "0.00%", "+25.00%"],
        ["bm_george", "0.00%", "33.33%", "-33.33%"],
        ["all", "14.29%", "14.29%", "+0.00%"],
    ]
    assert "all: word_error_increase 0, max_word_error_increase 0.01: passed" in output
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["passed"]
    assert result["heard"][0]["ours"] == "kick the wall straight"


def test_intelligibility_fails_a_missed_gate(
    listening: list[Transcript], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listening.append(Transcript("af_heart", "the sun rose", "this and rows", "the sun rose"))
    out = tmp_path / "heard.json"
    assert status("--json-file", str(out)) == 4
    result = capsys.readouterr()
    assert "all: word_error_increase 1, max_word_error_increase 0.01: failed" in result.out
    assert result.err.startswith("intelligibility did not pass: harvard: all: word_error_increase 1")
    assert not json.loads(out.read_text(encoding="utf-8"))["passed"]


def test_intelligibility_fails_without_a_recogniser(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert status() == 4
    result = capsys.readouterr()
    assert "no speech recogniser is installed. Install it: pip install 'kokoro-tvm[asr]'" in result.err
    assert "passed" not in result.out + result.err


def test_intelligibility_fails_without_a_bundle(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recogniser, "open_recogniser", lambda: object())
    assert status("--bundle", str(tmp_path / "none")) == 5
    assert "There is no bundle at" in capsys.readouterr().err
