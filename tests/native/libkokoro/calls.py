"""What tests of libkokoro call: its program, and Python's runtime for what it has to be equal to."""

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
    """What `speak` left: exit status, what it printed, the bytes of the WAV file (none without one)."""

    status: int
    lines: list[str]
    errors: str
    wav: bytes


@dataclass(frozen=True)
class Speaker:
    """The program `speak`; tvm: the folder with the TVM runtime; folder: for its files; start: how a program
    is started."""

    program: Path
    tvm: Path
    folder: Path
    start: Callable[[Path], Start] = LOCAL.start

    def __call__(
        self, bundle: Path | str, *words: str, seed: int | None = None, noise: np.ndarray | None = None
    ) -> Spoken:
        """Speaks with this seed or noise; only predicts where there is neither."""
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
    """As `speak --words` prints it."""
    return [f"{word.start_sample} {word.end_sample} {word.text}" for word in speech.timeline]


def durations(speech: Speech) -> str:
    """As `speak --durations` prints them."""
    return " ".join(map(str, speech.durations.tolist()))


def edited(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a manifest with another value at a path such as `components/bert/axis`; None: without it."""
    import copy

    made = copy.deepcopy(manifest)
    *parents, last = path.split("/")
    node: Any = made
    for key in parents:
        node = node[int(key) if isinstance(node, list) else key]
    if value is None:
        del node[last]
    else:
        node[int(last) if isinstance(node, list) else last] = value
    return made
