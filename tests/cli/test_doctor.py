"""kokoro-tvm doctor: its exit status, and what it prints where."""

from __future__ import annotations

import json

import pytest
from diagnostics.facts import GOOD, made

from kokoro_tvm.cli import main
from kokoro_tvm.diagnostics import machine
from kokoro_tvm.diagnostics.doctor import examine
from kokoro_tvm.diagnostics.machine import Facts

CHECKS = len(examine(GOOD))


def run(monkeypatch: pytest.MonkeyPatch, facts: Facts, *words: str) -> int:
    monkeypatch.setattr(machine, "gather", lambda root: facts)
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *words])
    return int(ended.value.code or 0)


def test_all_is_well(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, GOOD) == 0
    out, err = capsys.readouterr()
    assert out.startswith("fine  Python ")
    assert out.endswith(f"\n\nAll {CHECKS} checks passed.\n")
    assert "\x1b" not in out
    assert err == ""


def test_a_note_is_no_fault(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, made(memory=None)) == 0
    assert capsys.readouterr().out.endswith(f"\n\nAll {CHECKS} checks passed, 1 of them with a note.\n")


def test_something_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, made(linker="", linker_problem="no working g++")) == 1
    out = capsys.readouterr().out
    assert "wrong  linker            no working g++" in out
    assert out.endswith(f"\n\n1 of {CHECKS} checks failed: a build would fail.\n")


def test_for_programs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, made(memory=1), "--json") == 1
    result = json.loads(capsys.readouterr().out)
    (memory,) = [f for f in result if f["about"] == "memory"]
    assert memory == {
        "about": "memory",
        "verdict": "wrong",
        "message": "1 byte free; a build takes up to 6.5 GB",
        "remedy": "close other programs, or add swap",
    }
