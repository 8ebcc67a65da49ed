"""espeak-ng in the alphabet of the voices: texts of a language, and unknown English words.

espeak-ng is licensed under the GPL, version 3 or later, and is no part of this package. It is used if
phonemizer-fork and espeakng-loader are installed. Its symbols are converted as misaki's EspeakG2P and
EspeakFallback convert them (hexgrad, Apache-2.0; misaki/espeak.py).
"""

from __future__ import annotations

import re
import unicodedata

from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.text.frontend.espeak_process import EspeakError, phonemize
from kokoro_tvm.runtime.text.scripts import find_script

_SYLLABIC = "\u0329"
# In order; ^ ties symbols of one sound.
_BOTH = (
    (f"ʔˌn{_SYLLABIC}", "ʔn"), (f"ʔn{_SYLLABIC}", "ʔn"), ("a^ɪ", "I"), ("a^ʊ", "W"), ("d^ʒ", "ʤ"),
    ("e^ɪ", "A"), ("t^ʃ", "ʧ"), ("ɔ^ɪ", "Y"), ("ə^l", "ᵊl"), ("ʲo", "jo"), ("ʲə", "jə"), ("e", "A"),
    ("ʲ", ""), ("ɚ", "əɹ"), ("r", "ɹ"), ("x", "k"), ("ç", "k"), ("ɐ", "ə"), ("ɬ", "l"), ("\u0303", ""),
)  # fmt: skip
_BRITISH = (("e^ə", "ɛː"), ("iə", "ɪə"), ("ə^ʊ", "Q"))
_AMERICAN = (("o^ʊ", "O"), ("ɜːɹ", "ɜɹ"), ("ɜː", "ɜɹ"), ("ɪə", "iə"), ("ː", ""))
_LAST = (("o", "ɔ"), ("ɾ", "T"), ("ʔ", "t"), ("^", ""))
# For whole texts. misaki removes other ties and hyphens.
_TIED = (
    ("a^ɪ", "I"), ("a^ʊ", "W"), ("d^z", "ʣ"), ("d^ʒ", "ʤ"), ("e^ɪ", "A"), ("o^ʊ", "O"), ("s^s", "S"),
    ("t^s", "ʦ"), ("t^ʃ", "ʧ"), ("ɔ^ɪ", "Y"), ("ə^ʊ", "Q"), ("^", ""), ("-", ""),
)  # fmt: skip
# In order: espeak-ng reads brackets as words, so they become other quotes.
_QUOTED = (("«", "“"), ("»", "”"), ("(", "«"), (")", "»"))
_DANDA = (("।", "."), ("॥", "."))  # espeak-ng and misaki drop it, and its pause


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
# Characters of a word. espeak-ng's buffers hold 160 bytes and 200 phonemes, and not all are guarded:
# "é" and 68 times "'s" end the process.
_MAX_CHARACTERS = 64
_FIRST_PICTURE = "\u2200"  # signs below it are read, such as ° and ™
_JOINERS = "\u200c\u200d"  # of letters, in Indic scripts and Persian
_LONG_WORD = re.compile(rf"\S{{{_MAX_CHARACTERS}}}(?=\S)")


class EspeakLanguage:
    """Texts of one language, as misaki's EspeakG2P reads them. Thread-safe."""

    def __init__(self, language: str) -> None:
        """Start espeak-ng with its name of a language.

        Raises:
            ImportError: The packages are not installed.
        """
        self._language = language
        self._phonemize("")

    def __call__(self, text: str) -> str:
        """Return the phonemes of a text; "" if there are none or, with a SpeechWarning, on a failure."""
        text = "".join(char if is_readable(char, self._language) else " " for char in text)
        if _LONG_WORD.search(text):
            warn(f"Divided, because espeak-ng reads words of {_MAX_CHARACTERS} characters: {quoted(text)}")
            text = _LONG_WORD.sub(r"\g<0> ", text)
        for symbols, replacement in (*_DANDA, *_QUOTED):
            text = text.replace(symbols, replacement)
        try:
            phonemes = self._phonemize(text)
        except EspeakError as error:
            warn(f"{error} It was {quoted(text)}.")
            return ""
        for symbols, replacement in (*_TIED, ("«", "("), ("»", ")")):
            phonemes = phonemes.replace(symbols, replacement)
        return phonemes

    def _phonemize(self, text: str) -> str:
        return phonemize(text, self._language, language_switch="remove-flags")


class EspeakEnglish:
    """Single English words. Thread-safe."""

    def __init__(self, british: bool) -> None:
        """Start espeak-ng.

        Raises:
            ImportError: The packages are not installed.
            EspeakError: espeak-ng does not start.
        """
        self._british = british
        self._language = "en-gb" if british else "en-us"
        phonemize("", self._language)

    def __call__(self, word: str) -> str:
        """Return the phonemes of a word; "" if there are none, or espeak-ng must not read it.

        Raises:
            EspeakError: espeak-ng died.
        """
        if len(word) > _MAX_CHARACTERS or not all(is_readable(char, self._language) for char in word):
            return ""
        return to_alphabet(phonemize(word, self._language), self._british)


def is_readable(char: str, language: str) -> bool:
    """Return whether espeak-ng may get a character.

    It gets letters of Latin and the language's scripts, digits, marks, signs and space. It gets no control
    character and no emoji.
    """
    if script := find_script(char):
        return script == "Latin" or script in _SCRIPTS.get(language.partition("-")[0], ())
    category = unicodedata.category(char)
    return (
        char in _JOINERS
        or char.isspace()
        or (category[0] in "MNPS" and (category != "So" or char < _FIRST_PICTURE))
    )


def to_alphabet(phonemes: str, british: bool) -> str:
    """Convert espeak-ng's symbols to the alphabet of the voices."""
    for symbols, replacement in _BOTH:
        phonemes = phonemes.replace(symbols, replacement)
    phonemes = re.sub(rf"(\S){_SYLLABIC}", r"ᵊ\1", phonemes).replace(_SYLLABIC, "")
    for symbols, replacement in (*(_BRITISH if british else _AMERICAN), *_LAST):
        phonemes = phonemes.replace(symbols, replacement)
    return phonemes
