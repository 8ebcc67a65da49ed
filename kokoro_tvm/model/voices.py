"""Voices of a checkpoint: a style vector for every number of phonemes, float32 (510, 256)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from kokoro_tvm.common.constants import STYLE_DIM
from kokoro_tvm.common.errors import BuildError, InputError
from kokoro_tvm.runtime.bundle.voice_files import SUFFIXES, VOICE_ROWS, read_voice

# The decoder takes the first half of a row, the predictor the second.
VOICE_SHAPE = (VOICE_ROWS, 2 * STYLE_DIM)


def read_voices(folder: Path, names: Iterable[str]) -> dict[str, torch.Tensor]:
    """Read the file of every voice, NAME.pt, .npy, .bin or .safetensors, as float32 of VOICE_SHAPE.

    Raises BuildError if a voice has no file, or several, or its file is not a voice.
    """
    voices: dict[str, torch.Tensor] = {}
    for name in names:
        try:
            table = read_voice(find_voice_file(folder, name), VOICE_SHAPE[1])
        except InputError as error:
            raise BuildError(str(error)) from error
        voices[name] = torch.from_numpy(np.broadcast_to(table, VOICE_SHAPE).copy())
    return voices


def find_voice_file(folder: Path, name: str) -> Path:
    """Return the file of a voice in a folder. Raises BuildError if there is none, or several."""
    files = [path for suffix in SUFFIXES if (path := folder / f"{name}{suffix}").is_file()]
    if len(files) != 1:
        what = "is there several times; keep one of them" if files else "is not there"
        raise BuildError(f"{folder}: the voice {name!r} {what} (as {', '.join(SUFFIXES)})")
    return files[0]
