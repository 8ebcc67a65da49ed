"""The one door from text to phonemes: every language, with what the caller should be told."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
            return _converted(sources, code)
        english = self._of(code, self._file)
        spoken = [english.convert(source) for source in sources]
        tokens = [token for tokens in spoken for token in tokens]
        utterances = tuple(Utterance(tuple(tokens)) for tokens in spoken)
        return Reading(utterances, tuple(_notices(tokens)), tuple(sources))

    def _of(self, code: str, file: FrontEndFile) -> English:
        with self._lock:
            if code not in self._english:
                british = code == "b"
                data = file.english(british)
                self._english[code] = English(data, british, UnknownWords(data, british))
            return self._english[code]


def _converted(sources: Sequence[SourceText], code: str) -> Reading:
    """Paragraphs by a converter, which takes no links."""
    conversion = convert([source.text for source in sources], code)
    notices = list(conversion.notices)
    linked = [source.text[link.start : link.end] for source in sources for link in source.links]
    if linked:
        notices.append(
            "Read as written, because only English by a bundle's own front end takes phonemes and stress: "
            + " ".join(linked)
        )
    utterances = tuple(map(_whole, sources, conversion.phonemes))
    return Reading(utterances, tuple(notices), tuple(sources))


def _whole(source: SourceText, phonemes: str) -> Utterance:
    """A paragraph that was converted as a whole."""
    start, end = source.span(0, len(source.text)) if source.text else (0, 0)
    return Utterance((Token(source.text, start, end, phonemes, "", origin="converter"),))


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
