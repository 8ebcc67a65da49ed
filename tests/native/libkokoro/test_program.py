"""The runner of the program `speak` that the gate of whole utterances uses."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.native.libkokoro import LINUX
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.targets.runners import Start
from kokoro_tvm.targets.runners.program import SpeakProgram

FILES = (LINUX.library, LINUX.program)
SPOKEN = "ab", "af_heart"  # phonemes and voice


@pytest.fixture
def bundle(
    built: Path,
    tvm: Path,
    compiled: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Return the toy with libkokoro, with file modes of a build."""
    folder = shutil.copytree(compiled("exact"), tmp_path / "bundle")
    for file in FILES:
        shutil.copyfile(built / file, folder / file)
        (folder / file).chmod(0o444)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tvm))
    return folder


def speaking(bundle: Path, command: Sequence[str] = ()) -> SpeakProgram:
    """Return a `SpeakProgram` that starts `command` instead of the program."""
    files = [bundle / name for name in FILES]
    return SpeakProgram(bundle, files, lambda program: Start(command or [str(program)]), threads=1)


def test_speak_program_matches_python(bundle: Path) -> None:
    synthesizer = Synthesizer(bundle, threads=1)
    phonemes, voice = SPOKEN
    tokens = encode(phonemes, synthesizer.bundle.vocabulary)
    style = style_of(synthesizer.voices.table(voice), phonemes)
    for piece in (0, 2):
        noise = partial(draw_noise, 11, piece=piece)
        expected = synthesizer.run(tokens, style, speed=0.7, noise=noise)
        given = noise(expected.audio.size) if piece else None
        for request in (phonemes, np.asarray(tokens).reshape(-1)):
            result = speaking(bundle).speak(request, voice, 0.7, seed=11, noise=given)
            assert result.audio.tobytes() == expected.audio.tobytes()
            assert result.durations.tolist() == expected.durations.tolist()


def test_speak_program_reports_the_reason_of_a_failure(bundle: Path) -> None:
    (bundle / "voices.safetensors").unlink()
    with pytest.raises(BundleError, match=r"speak failed: speak: .*voices\.safetensors"):
        speaking(bundle).speak(*SPOKEN, 1.0)


def test_speak_program_reports_a_crash(bundle: Path) -> None:
    program = speaking(bundle, ["sh", "-c", "kill -ILL $$"])
    with pytest.raises(BundleError, match=r"speak failed: SIGILL ended it"):
        program.speak(*SPOKEN, 1.0)
