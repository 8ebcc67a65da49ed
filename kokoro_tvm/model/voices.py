"""Voices: a style vector for every number of phonemes, float32 (510, 256), read from .pt or .bin files."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from kokoro_tvm.constants import STYLE_DIM
from kokoro_tvm.errors import BuildError

__all__ = ["VOICE_SHAPE", "read_voice", "read_voices"]

# A row for each phoneme count from 1 to 510; the first half of it goes to the decoder, the other to the
# predictor.
VOICE_SHAPE = (510, 2 * STYLE_DIM)


def read_voices(folder: Path, names: Iterable[str]) -> dict[str, torch.Tensor]:
    """Reads NAME.pt or NAME.bin of a folder for every name, in that order.

    Raises BuildError for a name with no file, or with both.
    """
    voices: dict[str, torch.Tensor] = {}
    for name in names:
        found = [path for path in (folder / f"{name}.pt", folder / f"{name}.bin") if path.is_file()]
        if len(found) != 1:
            what = "is there twice, as .pt and as .bin; keep one of them" if found else "is not there"
            raise BuildError(f"{folder}: voice {name!r} ({name}.pt or {name}.bin) {what}")
        voices[name] = read_voice(found[0])
    return voices


def read_voice(path: Path) -> torch.Tensor:
    """Reads one voice: .pt (a tensor of (510, 1, 256) or (510, 256)) or .bin (little-endian float32)."""
    rows, columns = VOICE_SHAPE
    if path.suffix == ".bin":
        size = path.stat().st_size
        if size != rows * columns * 4:
            raise BuildError(f"{path}: expected a voice of {rows * columns * 4:,} bytes, got {size:,}")
        voice = torch.from_numpy(np.fromfile(path, dtype="<f4").astype(np.float32, copy=False)).reshape(
            VOICE_SHAPE
        )
    else:
        try:
            voice = torch.load(path, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError) as error:
            first_line = str(error).partition("\n")[0]
            raise BuildError(f"{path} cannot be loaded as a voice (weights only): {first_line}") from error
        if not isinstance(voice, torch.Tensor) or tuple(voice.shape) not in {(rows, 1, columns), VOICE_SHAPE}:
            got = tuple(voice.shape) if isinstance(voice, torch.Tensor) else type(voice).__name__
            raise BuildError(f"{path}: expected a voice of shape {VOICE_SHAPE}, got {got}")
        voice = voice.reshape(VOICE_SHAPE).to(torch.float32).contiguous()
    if not torch.isfinite(voice).all():
        raise BuildError(f"{path}: a voice should be finite, got NaN or infinity in it")
    return voice
