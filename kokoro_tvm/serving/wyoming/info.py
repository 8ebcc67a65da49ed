"""What a Wyoming server says of itself: a program for each bundle, with its voices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.bundle.voices import describe
from kokoro_tvm.runtime.speech.synthesizer import Synthesizer
from kokoro_tvm.serving.names import tag_of

__all__ = ["info", "voice_for"]

_MODEL = {"name": "hexgrad", "url": "https://huggingface.co/hexgrad/Kokoro-82M"}


def info(programs: Mapping[str, Synthesizer]) -> dict[str, Any]:
    """The data of the event `info`: programs by name."""
    return {"tts": [_program(name, each) for name, each in programs.items()]}


def voice_for(
    language: str, voices: Sequence[str], languages: Mapping[str, SpokenLanguage] = KOKORO
) -> str | None:
    """The first voice of a language such as "en-GB", "en_US" or "en"; None where there is none."""
    parts = language.replace("_", "-").lower().split("-")
    for length in (2, 1):
        wanted = "-".join(parts[:length])
        for name in voices:
            tag = tag_of(name, languages).lower()
            if wanted in (tag, tag.partition("-")[0]):
                return name
    return None


def _program(name: str, synthesizer: Synthesizer) -> dict[str, Any]:
    languages = synthesizer.bundle.languages
    return {
        "name": name,
        "description": "Kokoro-82M, compiled by kokoro-tvm",
        "attribution": _MODEL,
        "installed": True,
        "version": __version__,
        "voices": [_voice(voice, languages) for voice in synthesizer.voices.names],
        "supports_synthesize_streaming": True,
    }


def _voice(name: str, languages: Mapping[str, SpokenLanguage]) -> dict[str, Any]:
    about = describe(name, languages)
    return {
        "name": name,
        "description": f"{name} ({about.language}, {about.gender})",
        "attribution": _MODEL,
        "installed": True,
        "version": "1.0",
        "languages": [tag_of(name, languages)],
    }
