"""kokoro-tvm doctor: output and exit status."""

from __future__ import annotations

import json

import pytest

from kokoro_tvm.builder.diagnostics import doctor
from kokoro_tvm.builder.diagnostics.doctor import Finding
from kokoro_tvm.cli import main

FINE = [Finding("Python", "fine", "3.11.7"), Finding("memory", "fine", "15.5 GB free")]


def run(monkeypatch: pytest.MonkeyPatch, findings: list[Finding], *words: str) -> int:
    monkeypatch.setattr(doctor, "examine", lambda root: findings)
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *words])
    return int(ended.value.code or 0)


def test_doctor_passes_without_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, FINE) == 0
    out, err = capsys.readouterr()
    assert out.startswith("fine  Python ")
    assert out.endswith("\n\nAll 2 checks passed.\n")
    assert "\x1b" not in out
    assert err == ""


def test_doctor_passes_with_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, [*FINE, Finding("disk", "note", "unknown")]) == 0
    assert capsys.readouterr().out.endswith("\n\nAll 3 checks passed, 1 of them with a note.\n")


def test_doctor_fails_if_something_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, [*FINE, Finding("linker", "wrong", "no working g++", "install it")]) == 1
    out = capsys.readouterr().out
    assert "wrong  linker  no working g++" in out
    assert out.endswith("\n\n1 of 3 checks failed: a build would fail.\n")


def test_doctor_prints_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, [Finding("memory", "wrong", "1 byte free", "add swap")], "--json") == 1
    (memory,) = json.loads(capsys.readouterr().out)
    assert memory == {
        "about": "memory",
        "verdict": "wrong",
        "message": "1 byte free",
        "remedy": "add swap",
    }
