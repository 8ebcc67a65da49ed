"""What a Wyoming server says of itself: a program for each bundle, with its voices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.runtime.bundle.voices import describe

__all__ = ["TAGS", "info", "voice_for"]

TAGS = {
    "a": "en-US",
    "b": "en-GB",
    "e": "es",
    "f": "fr",
    "h": "hi",
    "i": "it",
    "j": "ja",
    "p": "pt-BR",
    "z": "zh",
}
"""BCP 47 tags of languages by the letter that voices begin with."""

_MODEL = {"name": "hexgrad", "url": "https://huggingface.co/hexgrad/Kokoro-82M"}


def info(programs: dict[str, Sequence[str]]) -> dict[str, Any]:
    """The data of the event `info`: programs by name, each with the names of its voices."""
    return {"tts": [_program(name, voices) for name, voices in programs.items()]}


def voice_for(language: str, voices: Sequence[str]) -> str | None:
    """The first voice of a language such as "en-GB", "en_US" or "en"; None where there is none."""
    parts = language.replace("_", "-").lower().split("-")
    for length in (2, 1):
        wanted = "-".join(parts[:length])
        for name in voices:
            tag = TAGS.get(describe(name).code, "").lower()
            if wanted in (tag, tag.partition("-")[0]):
                return name
    return None


def _program(name: str, voices: Sequence[str]) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Kokoro-82M, compiled by kokoro-tvm",
        "attribution": _MODEL,
        "installed": True,
        "version": __version__,
        "voices": [_voice(voice) for voice in voices],
        "supports_synthesize_streaming": True,
    }


def _voice(name: str) -> dict[str, Any]:
    about = describe(name)
    tag = TAGS.get(about.code, "en-US")  # which is also how such a voice is spoken
    return {
        "name": name,
        "description": f"{name} ({about.language}, {about.gender})",
        "attribution": _MODEL,
        "installed": True,
        "version": "1.0",
        "languages": [tag],
    }
