"""Calls of libkokoro's program, and of Python's runtime for comparison."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kokoro_tvm.runtime import Speech
from kokoro_tvm.targets.runners import Start
from kokoro_tvm.targets.runners.local import LOCAL


@dataclass(frozen=True)
class Spoken:
    """Exit status, output and WAV bytes of `speak`."""

    status: int
    lines: list[str]
    errors: str
    wav: bytes


@dataclass(frozen=True)
class Speaker:
    """The program `speak`: folders of the TVM runtime and of files, and how a program is started."""

    program: Path
    tvm: Path
    folder: Path
    start: Callable[[Path], Start] = LOCAL.start

    def __call__(
        self, bundle: Path | str, *words: str, seed: int | None = None, noise: np.ndarray | None = None
    ) -> Spoken:
        """Speak with a seed or noise; without one, only predict."""
        output = self.folder / "spoken.wav"
        output.unlink(missing_ok=True)
        start = self.start(self.program)
        command = [*start.command, str(bundle), *words]
        if seed is not None:
            command += ["--seed", str(seed), "-o", str(output)]
        if noise is not None:
            noise.astype(np.float32).tofile(self.folder / "noise.f32")
            command += ["--noise", str(self.folder / "noise.f32"), "-o", str(output)]
        environment = os.environ | {"TVM_LIBRARY_PATH": str(self.tvm)}
        environment |= {"XDG_CACHE_HOME": str(self.folder / "cache"), **start.environment}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        start.afterwards()
        wav = output.read_bytes() if output.exists() else b""
        return Spoken(done.returncode, done.stdout.splitlines(), done.stderr, wav)


def timeline(speech: Speech) -> list[str]:
    """Format words as `speak --words` prints them."""
    return [f"{word.start_sample} {word.end_sample} {word.text}" for word in speech.timeline]


def durations(speech: Speech) -> str:
    """Format durations as `speak --durations` prints them."""
    return " ".join(map(str, speech.durations.tolist()))


def edited(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Copy a manifest with another value at a path such as `components/bert/axis`; None removes it."""
    import copy

    target = copy.deepcopy(manifest)
    *parents, last = path.split("/")
    node: Any = target
    for key in parents:
        node = node[int(key) if isinstance(node, list) else key]
    if value is None:
        del node[last]
    else:
        node[int(last) if isinstance(node, list) else last] = value
    return target
