"""The program `speak` of a bundle, run for its audio."""

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

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.targets.runners import Start

_WAV_HEAD = 58
"""Bytes before the samples, of 32-bit floats."""


@dataclass(frozen=True)
class ProgramOutput:
    """Output of the program: audio (samples,) float32 and durations (T,) int64 in frames."""

    audio: NDArray[np.float32]
    durations: NDArray[np.int64]


class SpeakProgram:
    """The program `speak` and the files that it needs."""

    def __init__(
        self, bundle: Path, files: Sequence[Path], start: Callable[[Path], Start], threads: int
    ) -> None:
        """Describe the program.

        Args:
            bundle: The bundle's folder.
            files: Files of libkokoro in the bundle.
            start: Returns how a program is started.
            threads: Threads that compute together.
        """
        self._bundle = bundle
        self._files = files
        self._program = next(path.name for path in files if path.stem == "speak")
        self._start = start
        self._threads = threads

    def speak(
        self,
        request: str | NDArray[np.int64],
        voice: str,
        speed: float,
        seed: int = 0,
        noise: NDArray[np.float32] | None = None,
    ) -> ProgramOutput:
        """Synthesize one utterance with the noise of a seed, or with noise (samples,).

        `request` is phonemes, whose silent ends are not drawn out at a low speed, or tokens (T,) as they
        are. Raises BundleError if the program fails.
        """
        with TemporaryDirectory(prefix="kokoro-tvm-") as name:
            out = Path(name, "out.wav")
            if isinstance(request, str):
                words = ["--phonemes", request]
            else:
                words = ["--tokens", ",".join(map(str, request))]
            words += ["--voice", voice, "--speed", repr(float(speed))]
            if noise is None:
                words += ["--seed", str(seed)]
            else:
                noise.tofile(Path(name, "noise"))
                words += ["--noise", str(Path(name, "noise"))]
            output = self._run(Path(name), *words, "--durations", "-o", str(out))
            return ProgramOutput(_read_samples(out), np.array(output.split(), np.int64))

    def synthesize_text(
        self, text: str, voice: str, decode: bool
    ) -> tuple[list[str], NDArray[np.float32] | None]:
        """Read a text with the noise of seed 0. Raises BundleError if the program fails.

        Returns:
            The words as the program prints them, and the audio (samples,), None unless `decode`.
        """
        with TemporaryDirectory(prefix="kokoro-tvm-") as name:
            out = Path(name, "out.wav")
            words = [text, "--voice", voice, "--words"]
            output = self._run(Path(name), *words, *(["-o", str(out)] if decode else []))
            return output.splitlines(), _read_samples(out) if decode else None

    def _run(self, folder: Path, *words: str) -> str:
        """Run a copy of the program in a folder, which is its cache folder too, and return its output.

        Raises BundleError if it fails.
        """
        for path in self._files:  # a bundle's are not executable
            Path(shutil.copyfile(path, folder / path.name)).chmod(0o700)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TVM_")}
        start = self._start(folder / self._program)
        try:
            process = subprocess.run(
                [*start.command, str(self._bundle), *words, "--threads", str(self._threads)],
                capture_output=True,
                encoding="utf-8",
                env=environment | {"XDG_CACHE_HOME": str(folder)} | dict(start.environment),
                check=False,
            )
        finally:
            start.afterwards()
        if process.returncode:
            raise BundleError(f"{self._bundle / self._program} failed: {_describe_failure(process)}")
        return process.stdout


def _read_samples(wav: Path) -> NDArray[np.float32]:
    """Return the samples (n,) of a WAV file of float32."""
    return np.frombuffer(wav.read_bytes()[_WAV_HEAD:], "<f4").astype(np.float32)


def _describe_failure(process: subprocess.CompletedProcess[str]) -> str:
    """Say why a program failed: its signal, its message or its exit status."""
    if process.returncode < 0:
        return f"{signal.Signals(-process.returncode).name} ended it"
    return process.stderr.strip() or f"exit status {process.returncode}"
