"""kokoro-tvm doctor: output and exit status."""

from __future__ import annotations

import json

import pytest

from kokoro_tvm.builder.diagnostics import doctor
from kokoro_tvm.builder.diagnostics.doctor import Finding
from kokoro_tvm.cli import main

FINE = [
    Finding("Python", "fine", "3.11.7"),
    Finding("memory", "fine", "15.5 GB free"),
    Finding("recipe cpu", "fine", "can be built and run here"),
]
MISSING = [
    *FINE[:2],
    Finding("linker", "wrong", "no g++ to link with", "apt-get install g++"),
    Finding("recipe cpu", "wrong", "cannot be built here: linker missing"),
]


def run(monkeypatch: pytest.MonkeyPatch, findings: list[Finding], *words: str) -> int:
    monkeypatch.setattr(doctor, "examine", lambda root, names: findings)
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *words])
    return int(ended.value.code or 0)


def test_doctor_says_that_a_recipe_can_be_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, FINE) == 0
    out, err = capsys.readouterr()
    assert out.startswith("fine  Python ")
    assert "\n\ncpu can be built and run here.\n" in out
    assert "\x1b" not in out
    assert err == ""


def test_doctor_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, MISSING) == 1
    out = capsys.readouterr().out
    assert out.count("g++ to link") == out.count("→ apt-get install g++") == 1
    assert "\n\nTo mend first: linker.\ncpu cannot be built here: linker missing.\n" in out


def test_doctor_counts_all_recipes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [Finding("recipe mine", "note", "cannot be built here: linker missing")]
    assert run(monkeypatch, [*FINE, *others], "--all") == 0
    out = capsys.readouterr().out
    assert "recipe mine" in out
    assert out.endswith("\n\n1 of 2 recipes can be built here.\n")


@pytest.mark.parametrize(("words", "names"), [((), ["cpu"]), (("a", "b"), ["a", "b"]), (("--all",), None)])
def test_doctor_checks_the_default_recipe_those_named_or_all(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], names: list[str] | None
) -> None:
    asked: list[list[str] | None] = []
    monkeypatch.setattr(doctor, "examine", lambda root, names: asked.append(names) or FINE)
    with pytest.raises(SystemExit):
        main(["doctor", *words])
    assert asked == [names]


def test_doctor_prints_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, [Finding("memory", "wrong", "1 byte free", "add swap")], "--json") == 1
    (memory,) = json.loads(capsys.readouterr().out)
    assert memory == {
        "about": "memory",
        "verdict": "wrong",
        "message": "1 byte free",
        "remedy": "add swap",
    }
