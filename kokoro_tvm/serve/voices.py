"""Voices by the names that clients have for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.bundle.voices import Voices, describe

__all__ = ["listed", "with_own_names"]

# Where Kokoro has a voice of the same name it is that one; the others were chosen by gender and liveliness.
_OPENAI = {
    "alloy": "af_alloy",
    "ash": "am_adam",
    "ballad": "bm_george",
    "cedar": "am_fenrir",
    "coral": "af_bella",
    "echo": "am_echo",
    "fable": "bm_fable",
    "marin": "af_heart",
    "nova": "af_nova",
    "onyx": "am_onyx",
    "sage": "af_sarah",
    "shimmer": "af_sky",
    "verse": "am_michael",
}


def with_own_names(voice: str | None, voices: Voices) -> str:
    """A voice or a mix in which OpenAI's names are replaced by those of a bundle, unless it has them; the
    bundle's default for None."""
    if voice is None:
        return voices.default
    if voice in voices.names:
        return voice
    parts = re.split(r"([-+,(]\s*)", voice)
    return "".join(_own(part, voices) for part in parts)


def listed(voices: Voices, languages: Mapping[str, SpokenLanguage] = KOKORO) -> list[dict[str, str]]:
    """The voices as clients list them; languages: the bundle's."""
    infos = (describe(name, languages) for name in voices.names)
    return [
        {"id": info.name, "name": info.name, "language": info.language, "gender": info.gender}
        for info in infos
    ]


def _own(part: str, voices: Voices) -> str:
    return part if part in voices.names else _OPENAI.get(part.strip(), part)
