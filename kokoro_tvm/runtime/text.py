"""From text to phonemes, in the language of the voice; what cannot be spoken whole is refused."""

from __future__ import annotations

import importlib
import re
import shlex
import unicodedata
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.voices import LANGUAGES

__all__ = ["check_text", "paragraphs", "phonemize"]

G2P: TypeAlias = Callable[[str], str]

_SPACY_MODEL = "en_core_web_sm"
_ESPEAK = {"a": "en-us", "b": "en-gb", "e": "es", "f": "fr-fr", "h": "hi", "i": "it", "p": "pt-br"}
_ESPEAK_PACKAGES = "misaki phonemizer-fork espeakng-loader"
_EXTRAS = {"j": ("misaki.ja", "misaki[ja]"), "z": ("misaki.zh", "misaki[zh]")}
_WITHOUT_SPACES = frozenset("jz")  # languages that are written without spaces between words
_LONGEST_WORD = 128  # UTF-8 bytes; espeak-ng drops what a single word has beyond about 160


def check_text(text: str, code: str) -> None:
    """Raise InputError for text that is empty, broken, without letter or digit, or has too long a word.

    `code` is the language's letter as in a voice's name.
    """
    if not isinstance(text, str):
        raise InputError(f"The text to speak is a string, not {type(text).__name__}.")
    if not text.strip():
        raise InputError("There is nothing to speak: the text is empty.")
    if "\0" in text:
        raise InputError("The text holds a NUL byte, so it is probably not text. Remove it first.")
    if any(unicodedata.category(char) == "Cs" for char in text):
        raise InputError("The text is not valid UTF-8. Convert it to UTF-8 first.")
    if not any(char.isalnum() for char in text):
        raise InputError(f"There is nothing to speak: '{text.strip()[:20]}' has no letter or digit.")
    if code in _WITHOUT_SPACES:
        return
    for word in re.findall(r"\w+", text):
        if len(word.encode()) > _LONGEST_WORD:
            raise InputError(
                f"The text has {len(word)} characters without a space or punctuation ('{word[:20]}…'), "
                "which is too long for a word and would be cut short. Put spaces between words."
            )


def paragraphs(text: str) -> list[str]:
    """Parts of the text between blank lines, with single line breaks as spaces (wrapped lines read on)."""
    parts = re.split(r"\n[ \t\r]*\n", text.replace("\r\n", "\n"))
    return [joined for part in parts if any(map(str.isalnum, joined := " ".join(part.split())))]


def phonemize(text: str, code: str) -> list[str]:
    """Phonemes of each paragraph of `text`, spoken in the language of `code` (a letter of LANGUAGES).

    Raises:
        InputError: the text cannot be spoken, or the language's G2P is not installed.
    """
    check_text(text, code)
    g2p = _g2p(code)
    spoken = [phonemes for part in paragraphs(text) if (phonemes := g2p(part).strip())]
    if not spoken:
        raise InputError(f"There is nothing to speak: no phonemes came of '{text.strip()[:40]}'.")
    return spoken


@cache
def _g2p(code: str) -> G2P:
    if code in "ab":
        if _installed(_SPACY_MODEL):
            return _misaki_english(british=code == "b")
        g2p = _espeak(_ESPEAK[code])
        warnings.warn(
            f"English phonemes come from espeak-ng, because spaCy's {_SPACY_MODEL} is not installed; "
            "misaki's are nearer to those the model was trained on.",
            SpeechWarning,
            stacklevel=4,
        )
        return g2p
    if code in _ESPEAK:
        return _espeak(_ESPEAK[code])
    if code in _EXTRAS:
        return _extra(code)
    raise InputError(f"There is no language '{code}'. Known: {', '.join(LANGUAGES)}.")


def _installed(distribution: str) -> bool:
    """Whether a package is installed; asked without importing spaCy, before misaki would download it."""
    import importlib.metadata  # slow to import, and of no use to who gives phonemes

    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _misaki_english(british: bool) -> G2P:
    english = _import("misaki.en", "misaki[en]")
    espeak = _import("misaki.espeak", _ESPEAK_PACKAGES)
    g2p = english.G2P(trf=False, british=british, fallback=espeak.EspeakFallback(british=british), unk="")

    def speak(text: str) -> str:
        phonemes, tokens = g2p(text)
        lost = [token.text for token in tokens if not token.phonemes and _carries_meaning(token.text)]
        if lost:
            message = f"Left out, because misaki has no phonemes for it: {' '.join(lost)}"
            warnings.warn(message, SpeechWarning, stacklevel=5)
        return str(phonemes)

    return speak


def _carries_meaning(text: str) -> bool:
    """Whether a token is more than punctuation and space: letters, digits, symbols."""
    return any(unicodedata.category(char)[0] in "LNS" for char in text)


def _espeak(language: str) -> G2P:
    g2p = _import("misaki.espeak", _ESPEAK_PACKAGES).EspeakG2P(language=language)
    return lambda text: str(g2p(text)[0])


def _extra(code: str) -> G2P:
    module, package = _EXTRAS[code]
    loaded = _import(module, package)
    g2p = loaded.JAG2P() if code == "j" else loaded.ZHG2P(version=None)
    return lambda text: str(g2p(text)[0])


def _import(module: str, packages: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"Turning this text into phonemes needs {module}, which cannot be imported ({error}). "
            f"Run `pip install {shlex.join(packages.split())}`, or give phonemes instead (--phonemes)."
        ) from error
