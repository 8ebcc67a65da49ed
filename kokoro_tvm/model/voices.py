"""Voices of a checkpoint: a style vector for every number of phonemes, float32 (510, 256)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from kokoro_tvm.common.constants import STYLE_DIM
from kokoro_tvm.common.errors import BuildError, InputError
from kokoro_tvm.runtime.bundle.voice_files import SUFFIXES, VOICE_ROWS, read_voice

__all__ = ["VOICE_SHAPE", "read_voices", "voice_file"]

# The first half of a row goes to the decoder, the other to the predictor.
VOICE_SHAPE = (VOICE_ROWS, 2 * STYLE_DIM)


def read_voices(folder: Path, names: Iterable[str]) -> dict[str, torch.Tensor]:
    """Reads a file of each voice (NAME.pt, .npy, .bin or .safetensors), in that order.

    Raises BuildError for a name with no file, or with several, and for a file that is no voice.
    """
    voices: dict[str, torch.Tensor] = {}
    for name in names:
        try:
            table = read_voice(voice_file(folder, name), VOICE_SHAPE[1])
        except InputError as error:
            raise BuildError(str(error)) from error
        voices[name] = torch.from_numpy(np.broadcast_to(table, VOICE_SHAPE).copy())
    return voices


def voice_file(folder: Path, name: str) -> Path:
    """The one file of a voice in a folder. Raises BuildError where there is none, or several."""
    found = [path for suffix in SUFFIXES if (path := folder / f"{name}{suffix}").is_file()]
    if len(found) != 1:
        what = "is there several times; keep one of them" if found else "is not there"
        raise BuildError(f"{folder}: the voice {name!r} {what} (as {', '.join(SUFFIXES)})")
    return found[0]
