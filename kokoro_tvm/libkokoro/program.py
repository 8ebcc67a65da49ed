"""The program `speak` that a bundle brings, run for its audio."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import BundleError
from kokoro_tvm.libkokoro import LIBRARY, PROGRAM

__all__ = ["Program", "Utterance"]

_WAV_HEAD = 58
"""Bytes before the samples, of 32-bit floats."""


@dataclass(frozen=True)
class Utterance:
    """What the program said: audio (samples,) float32, durations (T,) int64 in frames."""

    audio: NDArray[np.float32]
    durations: NDArray[np.int64]


class Program:
    """`speak` with everything it needs from its bundle."""

    def __init__(self, bundle: Path, command: Callable[[Path], Sequence[str]], threads: int) -> None:
        """command: what starts a program; threads: that compute together."""
        self._bundle = bundle
        self._command = command
        self._threads = threads

    def speak(
        self, tokens: NDArray[np.int64], style: NDArray[np.float32], speed: float, seed: int
    ) -> Utterance:
        """One utterance: tokens (T,) with the 0 at both ends, style (256,). Raises BundleError."""
        with TemporaryDirectory(prefix="kokoro-tvm-") as name:
            folder = Path(name)
            for file in (PROGRAM, LIBRARY):  # a bundle's files are not executable
                shutil.copyfile(self._bundle / file, folder / file)
                (folder / file).chmod(0o700)
            np.asarray(style, np.float32).tofile(folder / "style")
            words = ["--tokens", ",".join(map(str, tokens.tolist())), "--style", str(folder / "style")]
            words += ["--speed", repr(float(speed)), "--seed", str(seed), "--threads", str(self._threads)]
            words += ["--durations", "-o", str(folder / "out.wav")]
            environment = {k: v for k, v in os.environ.items() if not k.startswith("TVM_")}
            done = subprocess.run(
                [*self._command(folder / PROGRAM), str(self._bundle), *words],
                capture_output=True,
                text=True,
                env=environment | {"XDG_CACHE_HOME": name},
                check=False,
            )
            if done.returncode:
                raise BundleError(f"{self._bundle / PROGRAM} failed: {_reason(done)}")
            samples = (folder / "out.wav").read_bytes()[_WAV_HEAD:]
            durations = np.array(done.stdout.split(), np.int64)
            return Utterance(np.frombuffer(samples, "<f4").astype(np.float32), durations)


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return f"{signal.Signals(-done.returncode).name} ended it"
    return done.stderr.strip() or f"exit status {done.returncode}"
