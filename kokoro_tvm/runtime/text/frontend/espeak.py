"""espeak-ng in the alphabet of the voices: whole texts of a language, and words that no English lexicon has.

espeak-ng is licensed under the GPL, version 3 or later, and is no part of this package: it is used where
phonemizer-fork and espeakng-loader are installed. Its symbols become misaki's as misaki's EspeakG2P and
EspeakFallback have them (hexgrad, Apache-2.0; misaki/espeak.py).
"""

from __future__ import annotations

import re
import unicodedata

from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.text.frontend.espeak_process import EspeakError, exclusive_espeak, phonemize
from kokoro_tvm.runtime.text.scripts import find_script

__all__ = ["EspeakEnglish", "EspeakError", "EspeakLanguage", "exclusive_espeak", "is_readable"]

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


# Scripts beside Latin, by the first part of espeak-ng's name of a language.
_SCRIPTS = {
    **dict.fromkeys(("ba", "be", "bg", "cu", "cv", "kk", "ky", "mk", "ru", "tt", "uk"), ("Cyrillic",)),
    **dict.fromkeys(("sr", "bs", "uz"), ("Cyrillic",)),
    **dict.fromkeys(("ar", "fa", "sd", "ug", "ur"), ("Arabic",)),
    **dict.fromkeys(("hi", "kok", "mr", "ne"), ("Devanagari",)),
    **dict.fromkeys(("as", "bn", "bpy"), ("Bengali",)),
    **dict.fromkeys(("cmn", "hak", "yue"), ("Chinese",)),
    **dict.fromkeys(("el", "grc"), ("Greek",)),
    "am": ("Ethiopic",), "chr": ("Cherokee",), "gu": ("Gujarati",), "he": ("Hebrew",), "hy": ("Armenian",),
    "hyw": ("Armenian",), "ja": ("Japanese", "Chinese"), "ka": ("Georgian",), "kn": ("Kannada",),
    "ko": ("Korean", "Chinese"), "ml": ("Malayalam",), "my": ("Burmese",), "or": ("Odia",),
    "pa": ("Gurmukhi",), "shn": ("Burmese",), "si": ("Sinhala",), "ta": ("Tamil",), "te": ("Telugu",),
    "th": ("Thai",),
}  # fmt: skip
_LONGEST = 64
"""Characters of a word. espeak-ng's buffers hold 160 bytes and 200 phonemes of one, and not all are guarded:
"é" and 68 times "'s" end the process."""
_PICTURES = "\u2200"  # signs below are read, such as ° and ™
_JOINERS = "\u200c\u200d"  # of letters, in Indic scripts and Persian
_LONG_WORD = re.compile(rf"\S{{{_LONGEST}}}(?=\S)")


class EspeakLanguage:
    """Whole texts by espeak-ng, as misaki's EspeakG2P has them. Threads may share it."""

    def __init__(self, language: str) -> None:
        """language: espeak-ng's name of it. Raises ImportError where the packages are not installed."""
        self._language = language
        self._phonemize("")

    def __call__(self, text: str) -> str:
        """Phonemes of a text; "" where espeak-ng has none, or fails, with a SpeechWarning."""
        text = "".join(char if is_readable(char, self._language) else " " for char in text)
        if _LONG_WORD.search(text):
            warn(f"Divided, because espeak-ng reads words of {_LONGEST} characters: {quoted(text)}")
            text = _LONG_WORD.sub(r"\g<0> ", text)
        for symbols, ours in (*_DANDA, *_QUOTED):
            text = text.replace(symbols, ours)
        try:
            spoken = self._phonemize(text)
        except EspeakError as error:
            warn(f"{error} It was {quoted(text)}.")
            return ""
        for symbols, ours in (*_TIED, ("«", "("), ("»", ")")):
            spoken = spoken.replace(symbols, ours)
        return spoken

    def _phonemize(self, text: str) -> str:
        return phonemize(text, self._language, language_switch="remove-flags")


class EspeakEnglish:
    """espeak-ng's English. Threads may share it."""

    def __init__(self, british: bool) -> None:
        """Raises ImportError where the packages are not installed, EspeakError where they do not start."""
        self._british = british
        self._language = "en-gb" if british else "en-us"
        phonemize("", self._language)

    def __call__(self, word: str) -> str:
        """Phonemes of a word; "" where espeak-ng has none, or it is none that espeak-ng is given.

        Raises EspeakError where espeak-ng dies of it.
        """
        if len(word) > _LONGEST or not all(is_readable(char, self._language) for char in word):
            return ""
        return to_alphabet(phonemize(word, self._language), self._british)


def is_readable(char: str, language: str) -> bool:
    """Whether espeak-ng is given a character: a letter of Latin or of the language's scripts, a figure, a
    mark, a sign or space, but no control character and no picture."""
    if script := find_script(char):
        return script == "Latin" or script in _SCRIPTS.get(language.partition("-")[0], ())
    category = unicodedata.category(char)
    return (
        char in _JOINERS
        or char.isspace()
        or (category[0] in "MNPS" and (category != "So" or char < _PICTURES))
    )


def to_alphabet(spoken: str, british: bool) -> str:
    """What espeak-ng writes, in the alphabet of the voices."""
    for symbols, ours in _BOTH:
        spoken = spoken.replace(symbols, ours)
    spoken = re.sub(rf"(\S){_SYLLABIC}", r"ᵊ\1", spoken).replace(_SYLLABIC, "")
    for symbols, ours in (*(_BRITISH if british else _AMERICAN), *_LAST):
        spoken = spoken.replace(symbols, ours)
    return spoken
