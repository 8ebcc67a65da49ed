"""kokoro-tvm phonemize: tokens and phonemes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_languages import rules

from kokoro_tvm.cli import main
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.markup import MarkupVocabulary
from kokoro_tvm.runtime.text.reading import phonemize_portions

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


def test_phonemize_reads_a_file_and_standard_input(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("Hello wörld. Bye.", "--bundle", str(toy)) == 0
    printed = capsys.readouterr().out
    data = "Hello wörld. Bye.".encode()
    (tmp_path / "text.txt").write_bytes(data)
    assert run("--input", str(tmp_path / "text.txt"), "--bundle", str(toy)) == 0
    assert capsys.readouterr().out == printed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run("-", "--bundle", str(toy)) == 0
    assert capsys.readouterr().out == printed


def test_phonemize_refuses_a_file_that_is_not_utf8(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_bytes(b"caf\xe9")
    assert run("--input", str(tmp_path / "text.txt"), "--bundle", str(toy)) == 2
    assert "is not UTF-8 text" in " ".join(capsys.readouterr().err.split())


def test_phonemize_omits_what_is_asked(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("Hello [3] world.", "--bundle", str(toy), "--omit", "citations") == 0
    captured = capsys.readouterr()
    assert "[3]" not in captured.out
    assert "Left out, as asked: 1 citation." in captured.err


def test_phonemize_portions_yields_a_sentence_before_the_text_ends(toy: Path) -> None:
    def portions() -> Iterator[str]:
        yield "One sentence. Another "
        raise AssertionError("the whole text was awaited")

    manifest = read_bundle(toy)
    vocabulary = MarkupVocabulary(manifest.vocabulary, lambda name: "a")
    first = next(phonemize_portions(portions(), vocabulary, FrontEnd.open(manifest)))
    assert [token.text for token in first.tokens][:2] == ["One", "sentence"]


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
