"""From text to phonemes, in the language of the voice; text that cannot be spoken whole is refused."""

from __future__ import annotations

import re
import unicodedata

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.frontend.links import aliased
from kokoro_tvm.runtime.frontend.pictures import has_words
from kokoro_tvm.runtime.frontend.source import SourceText
from kokoro_tvm.runtime.frontend.tokens import LATIN, Utterance
from kokoro_tvm.runtime.notices import warn

__all__ = ["check_text", "phonemize", "read", "read_utterances", "spoken_utterances"]

_WITHOUT_SPACES = frozenset("jz")  # languages that are written without spaces between words
_LONGEST_WORD = 128  # UTF-8 bytes; espeak-ng drops what a single word has beyond about 160


def _is_speakable(text: str | SourceText) -> bool:
    """Whether it has a letter, digit or picture, or something that a link says how to speak."""
    return text.speakable if isinstance(text, SourceText) else has_words(text)


def check_text(source: str | SourceText, code: str) -> None:
    """Raise InputError for text that is empty, broken, without letter or digit, or has too long a word.

    `code` is the language's letter as in a voice's name.
    """
    text = source.text if isinstance(source, SourceText) else source
    if not isinstance(text, str):
        raise InputError(f"The text to speak is a string, not {type(text).__name__}.")
    if not text.strip():
        raise InputError("There is nothing to speak: the text is empty.")
    if "\0" in text:
        raise InputError("The text holds a NUL byte, so it is probably not text. Remove it first.")
    if any(unicodedata.category(char) == "Cs" for char in text):
        raise InputError("The text is not valid UTF-8. Convert it to UTF-8 first.")
    if not _is_speakable(source):
        raise InputError(f"There is nothing to speak: '{text.strip()[:20]}' has no letter or digit.")
    for word in re.findall(f"{LATIN}+" if code in _WITHOUT_SPACES else r"\w+", text):
        if len(word.encode()) > _LONGEST_WORD:
            raise InputError(
                f"The text has {len(word)} characters without a space or punctuation ('{word[:20]}…'), "
                "which is too long for a word and would be cut short. Put spaces between words."
            )


def read(text: str, code: str, front_end: FrontEnd) -> list[Utterance]:
    """Utterances of `text`, one a paragraph, in the language of `code` (a letter of LANGUAGES).

    A SpeechWarning names what was left out, and which words no lexicon has.

    Raises:
        InputError: the text cannot be spoken, or the language's G2P is not installed.
    """
    spoken = spoken_utterances(text, code, front_end)
    if not spoken:
        raise InputError(f"There is nothing to speak: no phonemes came of '{text.strip()[:40]}'.")
    return spoken


def spoken_utterances(source: str | SourceText, code: str, front_end: FrontEnd) -> list[Utterance]:
    """What `read` gives, of a text with links too; nothing where no phonemes came of it."""
    source = aliased(source) if isinstance(source, SourceText) else source
    check_text(source, code)
    reading = front_end.read(source, code)
    for notice in reading.notices:
        warn(notice)
    return [utterance for utterance in reading.utterances if utterance.phonemes]


def read_utterances(source: str | SourceText, code: str, front_end: FrontEnd) -> list[Utterance]:
    """What is spoken of one sentence in the language of `code`; nothing where it has nothing to speak.

    Spans are places in the text as it is given. Raises InputError for text that cannot be spoken
    whole. A SpeechWarning names symbols that are left out, and words that were guessed.
    """
    text = source if isinstance(source, str) else source.text
    source = source if isinstance(source, str) else aliased(source)
    if not _is_speakable(source):
        if "\0" in text:
            check_text(text, code)
        lost = sorted({char for char in text if unicodedata.category(char) in {"So", "Sc", "Sk", "Cs", "Co"}})
        if lost:
            warn(f"Left out, because it has no letter or digit: {' '.join(map(ascii, lost))}")
        return []
    spoken = spoken_utterances(source, code, front_end)
    if not spoken:
        warn(f"Left out, because no phonemes came of it: '{text[:40]}'")
    return spoken


def phonemize(text: str, code: str, front_end: FrontEnd | None = None) -> list[str]:
    """Phonemes of each paragraph of `text`, as `read` finds them; an empty front end reads without data."""
    return [utterance.phonemes for utterance in read(text, code, front_end or FrontEnd())]
