"""Captions of a speech: one module per format, all over the cues of `lines.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TypeAlias

from kokoro_tvm.documents.captions import ass, srt, textgrid, webvtt
from kokoro_tvm.documents.captions import json as json_words
from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.speech.words import TimedWord

__all__ = ["CAPTIONS", "caption_format", "write_captions"]

_Write: TypeAlias = Callable[[Sequence[TimedWord], float], str]

CAPTIONS: Mapping[str, _Write] = {
    ".srt": srt.write,
    ".vtt": webvtt.write,
    ".json": json_words.write,
    ".ass": ass.write,
    ".textgrid": textgrid.write,
}
"""Suffix of a file -> what writes it, from a timeline and the seconds that the speech lasts."""


def caption_format(path: str | PurePath) -> str:
    """The suffix of CAPTIONS that a file's name has; raises InputError where it has none."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in CAPTIONS:
        raise InputError(f"{path}: captions are written as {', '.join(sorted(CAPTIONS))}; name it so.")
    return suffix


def write_captions(path: str | PurePath, timeline: Sequence[TimedWord], seconds: float) -> str:
    """The captions that a file of this name holds, for words and marks of a speech of `seconds`.

    Raises InputError where the suffix is not one of CAPTIONS.
    """
    return CAPTIONS[caption_format(path)](timeline, seconds)
