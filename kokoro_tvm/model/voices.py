"""Voices: a style vector for every number of phonemes, float32 (510, 256), read from .pt or .bin files."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from kokoro_tvm.errors import BuildError

__all__ = ["VOICE_SHAPE", "read_voice", "read_voices", "voices_sha256"]

# A row for each phoneme count from 1 to 510; the first 128 columns go to the decoder, the others to the
# predictor.
VOICE_SHAPE = (510, 256)


def read_voices(folder: Path) -> dict[str, torch.Tensor]:
    """Reads every NAME.pt or NAME.bin of a folder, in the order of names; BuildError when there is none."""
    paths = sorted(
        (path for path in folder.glob("*") if path.suffix in {".pt", ".bin"}), key=lambda p: p.stem
    )
    if not paths:
        raise BuildError(f"{folder}: expected voices (NAME.pt or NAME.bin), got no such file")
    voices: dict[str, torch.Tensor] = {}
    for path in paths:
        if path.stem in voices:
            raise BuildError(
                f"{folder}: voice {path.stem!r} is there twice, as .pt and as .bin; keep one of them"
            )
        voices[path.stem] = read_voice(path)
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


def voices_sha256(voices: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 of all voices as little-endian float32, joined in the order of names (the recipe's pin)."""
    digest = hashlib.sha256()
    for name in sorted(voices):
        digest.update(voices[name].numpy().astype("<f4").tobytes())
    return digest.hexdigest()
