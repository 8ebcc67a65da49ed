"""kokoro-tvm validate: output, files and exit status."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from toys import PHONEMES

from kokoro_tvm.cli import main

pytestmark = pytest.mark.slow("builds the toy with every length policy")


@pytest.fixture
def run(others: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")

    def call(command: str, recipe: str, *words: str) -> tuple[int, str, str]:
        place = ["--bundle", str(others / recipe), "--root", str(others.parent)]
        with pytest.raises(SystemExit) as ended:
            main(["validate", *command.split(), *place, *words])
        result = capsys.readouterr()
        return int(ended.value.code or 0), result.out, result.err

    return call


def test_steps_passes_a_good_bundle(run, tmp_path: Path) -> None:
    words = ["--phonemes", PHONEMES, "--voice", "am_adam"]
    words += ["--json-file", str(tmp_path / "steps.json"), "--save-dir", str(tmp_path / "kept")]
    status, out, err = run("steps", "toy", *words)
    assert status == 0, err
    assert "tvm against pt.float64" in out
    assert re.search(r"^audio .* passed *$", out, re.MULTILINE)
    assert re.search(r"^source .* not available *$", out, re.MULTILINE)
    assert "Every judged step meets its gate." in out
    assert "\x1b" not in out
    assert {p.suffix for p in (tmp_path / "kept").iterdir()} == {".safetensors", ".wav"}
    result = json.loads((tmp_path / "steps.json").read_text(encoding="utf-8"))
    assert result["passed"] and len(result["pairs"]) == 3


def test_steps_only_reports_gates_of_a_padded_bundle(run) -> None:
    status, out, _ = run("steps", "padded", "--phonemes", "həlˈO", "--voice", "am_adam")
    assert status == 0
    assert "FAILED min_snr_db 90" in out
    assert "the first step that misses its gate is d_en" in out


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("lengths", ["--tokens", "12-3"], "--tokens takes lengths such as 1-64,127, or none, not '12-3'"),
        ("steps", ["--text", "a", "--phonemes", "a"], "either as a text or as phonemes"),
        ("steps", ["--phonemes", "ab7", "--voice", "am_adam"], "phonemes the model does not know: 7"),
        (
            "steps",
            ["--voice", "am_nobody"],
            "asks for the voice 'am_nobody', which the checkpoint",
        ),
        (
            "steps",
            ["--json-file", "/nowhere/at/all.json"],
            "The folder /nowhere/at for all.json does not exist",
        ),
        ("lengths", ["--component", "vocoder"], "There is no component 'vocoder'. There are bert, "),
        ("lengths", ["--utterance", "bye"], "The recipe toy has no utterance 'bye'; it has hello"),
    ],
)
def test_command_refuses_wrong_arguments(command: str, words: list[str], message: str, run) -> None:
    status, _, err = run(command, "toy", *words)
    assert status == 2
    assert message in " ".join(err.split())


def test_lengths_passes_a_good_bundle(run, tmp_path: Path) -> None:
    words = [
        "--component",
        "text_encoder",
        "--tokens",
        "1-3,64",
        "--json-file",
        str(tmp_path / "lengths.json"),
    ]
    status, out, err = run("lengths", "toy", *words)
    assert status == 0, err
    assert re.search(r"^text_encoder +t_en +1–64, 4 .* passed *$", out, re.MULTILINE)
    assert re.search(r"^text_encoder +64 +65 +none, refused +refused +passed *$", out, re.MULTILINE)
    result = json.loads((tmp_path / "lengths.json").read_text(encoding="utf-8"))
    assert [row["length"] for row in result["lengths"]] == [1, 2, 3, 64]
    assert [edge["length"] for edge in result["edges"]] == [63, 64, 65]


def test_tails_passes_a_masked_bundle(run, tmp_path: Path) -> None:
    words = ["--component", "duration", "--count", "2", "--json-file", str(tmp_path / "tails.json")]
    status, out, err = run("tails", "masked", *words)
    assert status == 0, err
    assert re.search(r"^duration +32 +31 +2 +2 +zeros +passed *$", out, re.MULTILINE)
    assert len(json.loads((tmp_path / "tails.json").read_text(encoding="utf-8"))["trials"]) == 6
    status, out, err = run("tails", "masked", *words, "--buckets", "32")
    assert status == 0, err
    trials = json.loads((tmp_path / "tails.json").read_text(encoding="utf-8"))["trials"]
    assert [trial["bucket"] for trial in trials] == [32] * 3
    status, _, err = run("tails", "masked", *words, "--buckets", "33")
    assert status == 2
    assert "has no bucket of --buckets 33" in err


def test_e2e_compares_bundles_and_other_noise(run, others: Path, tmp_path: Path) -> None:
    """A good and a masked bundle pass; the one that treats padding as speech fails."""
    words = ["--json-file", str(tmp_path / "e2e.json")]
    status, out, err = run("e2e", "toy", "--bundle", str(others / "masked"), *words)
    assert status == 0, out + err
    result = json.loads((tmp_path / "e2e.json").read_text(encoding="utf-8"))
    (hello,) = result["utterances"]
    assert result["missed"] == []
    assert list(hello["sides"]) == ["toy", "masked", "pt.dynamic", "other noise"]
    assert hello["sides"]["toy"] == hello["sides"]["masked"]
    assert hello["sides"]["toy"]["gain_db"] > max(0, hello["sides"]["other noise"]["gain_db"])
    status, _, err = run("e2e", "padded", *words)
    assert status == 4
    missed = json.loads((tmp_path / "e2e.json").read_text(encoding="utf-8"))["missed"]
    assert missed[0].startswith("padded, hello: ")


@pytest.mark.parametrize("recipe", ["toy", "padded"])
def test_tails_refuses_a_bundle_without_masked_lengths(recipe: str, run) -> None:
    status, _, err = run("tails", recipe)
    assert status == 2
    assert "has padded lengths" in err or "has exact lengths" in err
