"""kokoro-tvm probe before it compiles anything. tests/test_tiny.py runs it on a built toy."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.cli import main

ROOT = Path(__file__).parents[3]


def probe(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["probe", *words, "--root", str(ROOT)])
    return int(ended.value.code or 0)


def test_probe_lists_without_a_build(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe("cpu/text_encoder", "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["text_encoder/conv1d", "(1,", "T,", "512)", "float32", "cnn.0.0"]
    assert probe("cpu/text_encoder-512", "--list", "--operation", "lstm") == 0
    assert capsys.readouterr().out.startswith("text_encoder.lstm/lstm  (1, T, 512) float32")


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["decoder"], "'decoder' names no recipe: write cpu/decoder"),
        (["cpu/decodr"], "the recipe cpu has no artifact `decodr`"),
        (["cpu/bert", "--list", "--at", "nothing.*"], "No value and no module of this component is called"),
        (
            ["cpu/bert", "--list", "--operation", "conv"],
            "None of these values is a result of 'conv'; there are: ",
        ),
        (["cpu/bert", "--every", "--at", "x"], "--every and --at exclude each other"),
        (["cpu/bert", "--utterance", "nobody"], "has no utterance 'nobody'; it has short, sentence"),
        (["cpu/bert", "--json-file", "/no/such/folder/x.json"], "for x.json does not exist"),
    ],
)
def test_probe_refuses_wrong_arguments(
    words: list[str], result: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert probe(*words) == 2
    assert result in capsys.readouterr().err
