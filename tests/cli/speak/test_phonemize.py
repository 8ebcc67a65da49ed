"""kokoro-tvm phonemize: tokens and phonemes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_choice import rules

from kokoro_tvm.cli import main
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd

DOUBT = {"kind": "saint", "cost": 1, "before": " here"}
COMMAND = [sys.executable, "-c", "from kokoro_tvm.cli import main; main()", "phonemize"]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["phonemize", *words])
    return int(ended.value.code or 0)


def test_phonemize_prints_a_line_for_each_token(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("Hello world.", "--bundle", str(toy)) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith(".") and len(lines) >= 1
    assert lines[0].startswith("0:")


def test_phonemize_explains_written_forms(
    toy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    language = rules(("saint", "St", "Saint"), ("street", "St", "Street"), doubts=(DOUBT,))
    monkeypatch.setattr(FrontEnd, "_written_forms", lambda front_end, code: language)
    assert run("[pause:1s] A St here, a St there", "--bundle", str(toy), "--why") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["13:15", "St"], ["1", "saint", "Saint"], ["+1", "before", "here"], ["→", "0", "street", "Street"],
        ["24:26", "St"], ["→", "0", "saint", "Saint"],
    ]  # fmt: skip


def test_phonemize_prints_json(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("Hello world.", "--bundle", str(toy), "--json") == 0
    (utterance,) = json.loads(capsys.readouterr().out)
    assert utterance["phonemes"] == "".join(t["phonemes"] + t["space"] for t in utterance["tokens"]).strip()
    assert utterance["tokens"][0]["start"] == 0


def test_phonemize_follows_markup_and_the_user_lexicon(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "words.yaml").write_text("world: ˈab\n", encoding="utf-8")
    text = "Hello world. [pause:0.5s] [He](/hˈi/) ran."
    assert run(text, "--bundle", str(toy), "--lexicon", str(tmp_path / "words.yaml")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "pause 0.5 s" in lines
    assert any(line.split() == ["6:11", "world", "ˈab", "user", "lexicon"] for line in lines)
    assert any(line.split() == ["27:29", "He", "hˈi", "given"] for line in lines)
    assert run("<speak><p>a</speak>", "--bundle", str(toy)) == 2
    assert "Close <p> of line 1, column 8 first." in " ".join(capsys.readouterr().err.split())


def test_phonemize_of_an_empty_text(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("!?", "--bundle", str(toy)) == 2
    assert "has no letter or digit" in capsys.readouterr().err


def has_only_notes(errors: bytes) -> bool:
    """The toy has no front end, so the command prints a note."""
    return all(line.startswith(b"note: ") for line in errors.splitlines())


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_phonemize_writes_to_any_encoding(toy: Path, encoding: str, options: list[str]) -> None:
    command = [*COMMAND, "Hello world 😀.", "--bundle", str(toy), *options]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 0
    assert has_only_notes(done.stderr)
    if options:
        assert json.loads(done.stdout.decode(encoding))[0]["tokens"]


@pytest.mark.skipif(os.name != "posix", reason="pipes that close are POSIX's")
def test_phonemize_ends_quietly_if_the_reader_is_gone(toy: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [*COMMAND, "Hello world.", "--bundle", str(toy)]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 141
    assert has_only_notes(done.stderr)
