"""`speak` as the gate of whole utterances runs it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from kokoro_tvm import Synthesizer
from kokoro_tvm.errors import BundleError
from kokoro_tvm.libkokoro import LINUX
from kokoro_tvm.runners import Start
from kokoro_tvm.runners.program import Program

FILES = (LINUX.library, LINUX.program)


@pytest.fixture
def bundle(
    built: Path,
    tvm: Path,
    compiled: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The toy with libkokoro, its files as a build leaves them."""
    folder = shutil.copytree(compiled("exact"), tmp_path / "bundle")
    for file in FILES:
        shutil.copyfile(built / file, folder / file)
        (folder / file).chmod(0o444)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tvm))
    return folder


def speaking(bundle: Path, command: Sequence[str] = ()) -> Program:
    """command: what is started in the place of the program."""
    files = [bundle / name for name in FILES]
    return Program(bundle, files, lambda program: Start(command or [str(program)]), threads=1)


def test_it_says_what_python_says(bundle: Path) -> None:
    synthesizer = Synthesizer(bundle, threads=1)
    tokens = np.array([0, 3, 1, 2, 0])
    style = np.linspace(-1, 1, 2 * synthesizer.bundle.style_dim, dtype=np.float32)[None]
    expected = synthesizer.run(tokens, style, speed=0.7, seed=11)
    found = speaking(bundle).speak(tokens, style[0], 0.7, 11)
    assert found.audio.tobytes() == expected.audio.tobytes()
    assert found.durations.tolist() == expected.durations.tolist()


def test_a_failure_has_the_reason(bundle: Path) -> None:
    (bundle / "voices.safetensors").unlink()
    with pytest.raises(BundleError, match=r"speak failed: speak: .*voices\.safetensors"):
        speaking(bundle).speak(np.array([0, 1, 0]), np.zeros(8, np.float32), 1.0, 0)


def test_a_crash_is_named(bundle: Path) -> None:
    program = speaking(bundle, ["sh", "-c", "kill -ILL $$"])
    with pytest.raises(BundleError, match=r"speak failed: SIGILL ended it"):
        program.speak(np.array([0, 1, 0]), np.zeros(8, np.float32), 1.0, 0)
