"""kokoro-tvm voices mix: files of mixed voices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy_bundle import write_bundle
from typer.testing import CliRunner

from kokoro_tvm.cli import build_app
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Voices, read_bundle
from kokoro_tvm.runtime.bundle.voice_files import SUFFIXES, read_voice


def run(*words: str) -> str:
    result = CliRunner().invoke(build_app(), ["voices", *words], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_mix_writes_a_voice(tmp_path: Path, suffix: str) -> None:
    bundle, mine = write_bundle(tmp_path / "toy"), tmp_path / f"af_mine{suffix}"
    said = run("mix", "af_heart:2,am_adam:1", "-o", str(mine), "--bundle", str(bundle))
    assert said == f"{mine}: the voice af_mine, 510 x 4\n"
    expected = Voices.open(read_bundle(bundle)).table("af_heart(2)+am_adam")
    assert np.array_equal(read_voice(mine, 4), expected)
    assert "af_mine   American English      female\n" in run("--bundle", str(bundle), "--voices", str(mine))


@pytest.mark.parametrize(
    ("mix", "output", "message"),
    [
        ("af_heart-am_adam", "a.pt", "takes away nearly all that it adds"),
        ("af_heart:0,am_adam", "a.pt", "weight of af_heart in a mix should be above 0"),
        ("af_hart:2,am_adam", "a.pt", "There is no voice 'af_hart'"),
        ("af_heart", "a.wav", "a.wav is no file of a voice"),
        ("af_heart", "a-b.pt", "a voice cannot be called 'a-b'"),
        ("af_heart", "nowhere/a.pt", "The folder nowhere for a.pt does not exist"),
    ],
)
def test_mix_refuses_a_wrong_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mix: str, output: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    bundle = write_bundle(tmp_path / "toy")
    with pytest.raises(InputError, match=message):
        run("mix", mix, "-o", output, "--bundle", str(bundle))
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]
