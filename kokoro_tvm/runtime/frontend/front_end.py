"""The one door from text to phonemes: every language, with what the caller should be told."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.bundle import Bundle
from kokoro_tvm.runtime.files import OpenFile
from kokoro_tvm.runtime.frontend.data import FrontEndFile
from kokoro_tvm.runtime.frontend.english import English
from kokoro_tvm.runtime.frontend.languages import carries_meaning, convert
from kokoro_tvm.runtime.frontend.links import without_links
from kokoro_tvm.runtime.frontend.normalization import normalize
from kokoro_tvm.runtime.frontend.source import SourceText, paragraphs
from kokoro_tvm.runtime.frontend.tokens import Token, Utterance
from kokoro_tvm.runtime.frontend.unknown import PACKAGES, UnknownWords

__all__ = ["FrontEnd", "Reading"]

_ENGLISH = "ab"
_SILENT = frozenset({"mark", "given", "lexicon", "number"})  # origins that may rightly have no phonemes


@dataclass(frozen=True)
class Reading:
    """utterances: one for each paragraph, with places in the whole text; notices: which words were guessed
    or left out, in sentences; sources: of each utterance the text that was read."""

    utterances: tuple[Utterance, ...]
    notices: tuple[str, ...]
    sources: tuple[SourceText, ...] = ()


class FrontEnd:
    """Text to phonemes by the data of a bundle. Threads may share it."""

    def __init__(self, file: FrontEndFile | None = None) -> None:
        """file: tagger and lexicon of the bundle; without it English goes by misaki with spaCy or by
        espeak-ng, whichever is installed."""
        self._file = file
        self._english: dict[str, English] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, bundle: Bundle, file: OpenFile | None = None) -> FrontEnd:
        """The front end of a bundle, from `file`, or from the manifest's path, unchecked, without one.

        Raises:
            BundleError: its file is no safetensors file.
        """
        return cls(FrontEndFile.open(bundle.front_end.path, file) if bundle.front_end else None)

    def read(self, text: str, code: str) -> Reading:
        """`text` in the language of `code` (a letter of LANGUAGES).

        Raises:
            InputError: there is no such language, or its G2P is not installed.
            BundleError: the bundle's data is of another layout.
        """
        sources = [normalize(without_links(source), code) for source in paragraphs(text)]
        if self._file is None or code not in tuple(_ENGLISH):
            conversion = convert([source.text for source in sources], code)
            placed = [_placed(*each) for each in zip(sources, conversion.tokens, strict=True)]
            spoken, notices = self._with_latin_words(placed)
            notices = [*conversion.notices, *notices]
            return Reading(tuple(map(Utterance, spoken)), tuple(notices), tuple(sources))
        english = self._of(code, self._file)
        read = [english.convert(source) for source in sources]
        tokens = [token for tokens in read for token in tokens]
        utterances = tuple(Utterance(tuple(tokens)) for tokens in read)
        return Reading(utterances, tuple(_notices(tokens)), tuple(sources))

    def _with_latin_words(
        self, utterances: Iterable[tuple[Token, ...]]
    ) -> tuple[list[tuple[Token, ...]], list[str]]:
        """Utterances whose words in Latin letters are read as English, and notices.

        misaki leaves these words of Japanese and Chinese as they are, so that their letters would be taken
        for phonemes.
        """
        notices: dict[str, None] = {}

        def english(token: Token) -> Token:
            if token.origin != "latin":
                return token
            try:
                reading = self.read(unicodedata.normalize("NFKC", token.text), "a")
            except InputError:
                notices[f"Left out, because there is no English here to read it by: {token.text}"] = None
                return replace(token, phonemes="", space=token.space or " ")
            notices.update(dict.fromkeys(reading.notices))
            phonemes = " ".join(utterance.phonemes for utterance in reading.utterances)
            return replace(token, phonemes=phonemes, origin="english")

        return [_words_apart(map(english, tokens)) for tokens in utterances], list(notices)

    def _of(self, code: str, file: FrontEndFile) -> English:
        with self._lock:
            if code not in self._english:
                british = code == "b"
                data = file.english(british)
                self._english[code] = English(data, british, UnknownWords(data, british))
            return self._english[code]


def _placed(source: SourceText, tokens: Iterable[Token]) -> tuple[Token, ...]:
    """Tokens of a paragraph with places in the whole text."""
    placed = []
    for token in tokens:
        start, end = source.span(token.start, token.end) if token.start < token.end else (0, 0)
        placed.append(replace(token, start=start, end=end))
    return tuple(placed)


def _words_apart(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """Tokens with spaces at both sides of English words."""
    spaced: list[Token] = []
    for token in tokens:
        if spaced and "english" in (token.origin, spaced[-1].origin) and not spaced[-1].space:
            marked = "mark" in (token.origin, spaced[-1].origin)
            spaced[-1] = replace(spaced[-1], space="" if marked else " ")
        spaced.append(token)
    return tuple(spaced)


def _notices(tokens: Sequence[Token]) -> list[str]:
    notices = []
    guessed = _distinct(token for token in tokens if token.origin in ("letters", "spelled"))
    if guessed:
        notices.append(
            f"Read by their letters, because the lexicon does not have them: {guessed}. Install espeak-ng "
            f"(`pip install {PACKAGES}`) or give their phonemes, [word](/phonemes/)."
        )
    lost = _distinct(
        t for t in tokens if not t.phonemes and t.origin not in _SILENT and carries_meaning(t.text)
    )
    if lost:
        notices.append(f"Left out, because there are no phonemes for it: {lost}")
    return notices


def _distinct(tokens: Iterable[Token]) -> str:
    return " ".join(dict.fromkeys(token.text for token in tokens))
