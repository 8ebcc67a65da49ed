"""kokoro-tvm phonemize: tokens with their phonemes, from the bundle's data, without its code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kokoro_tvm.cli import main


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["phonemize", *words])
    return int(ended.value.code or 0)


def test_a_token_a_line(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("Hello world.", "--bundle", str(toy)) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith(".") and len(lines) >= 1
    assert lines[0].startswith("0:")


def test_json(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("Hello world.", "--bundle", str(toy), "--json") == 0
    (utterance,) = json.loads(capsys.readouterr().out)
    assert utterance["phonemes"] == "".join(t["phonemes"] + t["space"] for t in utterance["tokens"]).strip()
    assert utterance["tokens"][0]["start"] == 0


def test_nothing_to_read(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("!?", "--bundle", str(toy)) == 2
    assert "has no letter or digit" in capsys.readouterr().err
