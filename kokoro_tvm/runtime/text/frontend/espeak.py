"""espeak-ng in the alphabet of the voices: whole texts of a language, and words that no English lexicon has.

espeak-ng is licensed under the GPL, version 3 or later, and is no part of this package: it is used where
phonemizer-fork and espeakng-loader are installed. Its symbols become misaki's as misaki's EspeakG2P and
EspeakFallback have them (hexgrad, Apache-2.0; misaki/espeak.py).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kokoro_tvm.runtime.forks import held_at_forks

__all__ = ["EspeakEnglish", "EspeakText", "one_at_a_time"]

_SYLLABIC = "\u0329"
# Applied one after the other; ^ ties what is spoken as one.
_BOTH = (
    (f"ʔˌn{_SYLLABIC}", "ʔn"), (f"ʔn{_SYLLABIC}", "ʔn"), ("a^ɪ", "I"), ("a^ʊ", "W"), ("d^ʒ", "ʤ"),
    ("e^ɪ", "A"), ("t^ʃ", "ʧ"), ("ɔ^ɪ", "Y"), ("ə^l", "ᵊl"), ("ʲo", "jo"), ("ʲə", "jə"), ("e", "A"),
    ("ʲ", ""), ("ɚ", "əɹ"), ("r", "ɹ"), ("x", "k"), ("ç", "k"), ("ɐ", "ə"), ("ɬ", "l"), ("\u0303", ""),
)  # fmt: skip
_BRITISH = (("e^ə", "ɛː"), ("iə", "ɪə"), ("ə^ʊ", "Q"))
_AMERICAN = (("o^ʊ", "O"), ("ɜːɹ", "ɜɹ"), ("ɜː", "ɜɹ"), ("ɪə", "iə"), ("ː", ""))
_LAST = (("o", "ɔ"), ("ɾ", "T"), ("ʔ", "t"), ("^", ""))
# Of whole texts, where ^ ties what is spoken as one; misaki has no use for other ties and for hyphens.
_TIED = (
    ("a^ɪ", "I"), ("a^ʊ", "W"), ("d^z", "ʣ"), ("d^ʒ", "ʤ"), ("e^ɪ", "A"), ("o^ʊ", "O"), ("s^s", "S"),
    ("t^s", "ʦ"), ("t^ʃ", "ʧ"), ("ɔ^ɪ", "Y"), ("ə^ʊ", "Q"), ("^", ""), ("-", ""),
)  # fmt: skip
# The order matters: what is quoted is distinguished from what is in brackets, which espeak-ng reads as words.
_QUOTED = (("«", "“"), ("»", "”"), ("(", "«"), (")", "»"))
_DANDA = (("।", "."), ("॥", "."))  # espeak-ng and misaki leave nothing of it, not even a pause


# espeak-ng keeps its state in globals of its library. Reentrant, because an import within may fork.
_lock = held_at_forks()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """While it is entered, no other thread uses espeak-ng."""
    with _lock:
        yield


class EspeakText:
    """Whole texts by espeak-ng, as misaki's EspeakG2P has them. One thread at a time, as `EspeakEnglish`."""

    def __init__(self, language: str) -> None:
        """language: espeak-ng's name of it. Raises ImportError where the packages are not installed."""
        self._backend = _backend(language, language_switch="remove-flags")

    def __call__(self, text: str) -> str:
        """Phonemes of a text; "" where espeak-ng has none."""
        for symbols, ours in (*_DANDA, *_QUOTED):
            text = text.replace(symbols, ours)
        found: list[str] = self._backend.phonemize([text])
        spoken = found[0].strip() if found else ""
        for symbols, ours in (*_TIED, ("«", "("), ("»", ")")):
            spoken = spoken.replace(symbols, ours)
        return spoken


class EspeakEnglish:
    """espeak-ng's English. Only one thread at a time may create or call it, or anything else of espeak-ng."""

    def __init__(self, british: bool) -> None:
        """Raises ImportError where the packages are not installed."""
        self._backend = _backend("en-gb" if british else "en-us")
        self._british = british

    def __call__(self, word: str) -> str:
        """Phonemes of a word; "" where espeak-ng has none."""
        found: list[str] = self._backend.phonemize([word])
        return in_alphabet(found[0].strip(), self._british) if found else ""


def _backend(language: str, **options: str) -> Any:
    """phonemizer over the installed espeak-ng. Raises ImportError where the packages are not installed."""
    import espeakng_loader
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    # For errors alone: phonemizer's own logger prints where espeak-ng writes two words as one.
    logger = logging.getLogger(__name__)
    logger.setLevel(logging.ERROR)
    return EspeakBackend(
        language, preserve_punctuation=True, with_stress=True, tie="^", logger=logger, **options
    )


def in_alphabet(spoken: str, british: bool) -> str:
    """What espeak-ng writes, in the alphabet of the voices."""
    for symbols, ours in _BOTH:
        spoken = spoken.replace(symbols, ours)
    spoken = re.sub(rf"(\S){_SYLLABIC}", r"ᵊ\1", spoken).replace(_SYLLABIC, "")
    for symbols, ours in (*(_BRITISH if british else _AMERICAN), *_LAST):
        spoken = spoken.replace(symbols, ours)
    return spoken
