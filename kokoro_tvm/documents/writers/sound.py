"""FLAC, MP3 and Opus through libsndfile, which the package soundfile brings along."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kokoro_tvm.documents.writers.base import Floats, Mark, Writer
from kokoro_tvm.errors import InputError

__all__ = ["FLAC", "MP3", "OPUS"]


def _soundfile() -> Any:
    try:
        return importlib.import_module("soundfile")
    except (ImportError, OSError) as error:  # OSError: the package without its library
        raise InputError(
            f"Writing FLAC, MP3 and Opus needs soundfile, which cannot be imported ({error}). "
            "Run `pip install soundfile`, or write WAV."
        ) from error


def _write(
    container: str,
    subtype: str,
    path: Path,
    blocks: Iterable[Floats],
    sample_rate: int,
    title: str,
    marks: Sequence[Mark],
) -> None:
    del marks
    soundfile = _soundfile()
    try:
        with soundfile.SoundFile(path, "x", sample_rate, 1, format=container, subtype=subtype) as file:
            if title:
                file.title = title
            for block in blocks:
                file.write(block)
    except soundfile.LibsndfileError as error:
        raise InputError(f"{path} cannot be written: {error}.") from error


def _writer(container: str, subtype: str) -> Writer:
    return Writer(check=lambda: (_soundfile(), None)[1], write=partial(_write, container, subtype))


FLAC = _writer("FLAC", "PCM_16")
MP3 = _writer("MP3", "MPEG_LAYER_III")
OPUS = _writer("OGG", "OPUS")
