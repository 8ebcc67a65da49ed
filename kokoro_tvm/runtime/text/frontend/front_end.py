"""Entry point of the front end: text to phonemes in every language, with notices."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage, name_of
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.forks import held_at_forks
from kokoro_tvm.runtime.notices import Notice, listed
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.left_out import find_unspoken
from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
from kokoro_tvm.runtime.text.frontend.normalization import (
    FORM_KINDS,
    LANGUAGE_FILES,
    FormChoice,
    NormalizedText,
    normalize,
)
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.packages import ESPEAK
from kokoro_tvm.runtime.text.frontend.paragraphs import split_paragraphs
from kokoro_tvm.runtime.text.frontend.sounds import SoundRules
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance
from kokoro_tvm.runtime.text.frontend.user_lexicon import UserLexicon
from kokoro_tvm.runtime.text.scripts import describe_scripts

_ENGLISH = "ab"
_UNSPACED = frozenset("jz")  # languages that are written without spaces between words
_opening = held_at_forks()
_Rules = TypeVar("_Rules")


@dataclass(frozen=True)
class FrontEndResult:
    """Tokens of a text.

    Attributes:
        utterances: One per paragraph, with places in the whole text.
        notices: Sentences that name the words that were guessed or left out.
    """

    utterances: tuple[Utterance, ...]
    notices: tuple[str, ...]


class FrontEnd:
    """Converter from text to phonemes, with the data of a bundle. Thread-safe."""

    def __init__(
        self,
        file: FrontEndFile | None = None,
        lexicon: UserLexicon | None = None,
        languages: Mapping[str, SpokenLanguage] = KOKORO,
    ) -> None:
        """Create a front end.

        Args:
            file: Tagger, lexicon and rules of the bundle; without it espeak-ng reads English and the
                languages that have letter-to-sound rules.
            lexicon: A user's words, for all languages.
            languages: Languages of the bundle.
        """
        self._languages = languages
        self.lexicon = lexicon or UserLexicon({})
        self.unread: frozenset[str] = frozenset()
        """Kinds of written forms that are not verbalized."""
        self._file = file
        self._english: dict[str, EnglishFrontEnd] = {}
        self._unknown: dict[str, UnknownWordReader] = {}
        self._rules: dict[tuple[str, object], Any] = {}

    @classmethod
    def open(
        cls, bundle: Bundle, file: OpenFile | None = None, lexicon: UserLexicon | None = None
    ) -> FrontEnd:
        """Open the front end of a bundle, from `file` or (unchecked) from the manifest's path.

        Raises:
            BundleError: The file is no safetensors file.
        """
        data = FrontEndFile.open(bundle.front_end.path, file) if bundle.front_end else None
        return cls(data, lexicon, bundle.languages)

    def with_unread_forms(self, forms: Collection[str]) -> FrontEnd:
        """Return a copy of this front end that does not verbalize some kinds of written forms.

        Args:
            forms: Of "all", "units", "web", "mail", "phones" and "signs" (docs/text.md).

        Raises:
            InputError: There is no such kind.
        """
        for form in forms:
            if form not in FORM_KINDS:
                raise InputError(
                    f"There is no kind {form!r} of written forms. There are {', '.join(FORM_KINDS)}."
                )
        other = copy.copy(self)  # shares the data of the bundle
        other.unread = frozenset(forms)
        return other

    def with_lexicon(self, lexicon: UserLexicon) -> FrontEnd:
        """Return a copy of this front end with further words, which override the user's."""
        other = copy.copy(self)  # shares the data of the bundle
        other.lexicon = UserLexicon(self.lexicon.entries | lexicon.entries)
        return other

    def read(self, source: SourceText, code: str) -> FrontEndResult:
        """Phonemize a text with its links.

        Args:
            source: The text.
            code: Letter of the language, a key of LANGUAGES.

        Raises:
            InputError: There is no such language, or its G2P is not installed.
            BundleError: The bundle's data has another layout.
        """
        language = self._languages.get(code) or KOKORO.get(code) or SpokenLanguage(code)
        english = self._english_of(code, language)
        normalized = self._normalize(source, code, english)
        sources = [part.source for part in normalized]
        if english is None:
            from kokoro_tvm.runtime.text.frontend.languages import phonemize_sources

            sounds = None if language.espeak is not None else self._sound_rules(code)
            converted, notices = phonemize_sources(sources, code, language, sounds)
            utterances, latin_notices = self._read_latin_words(converted)
            notices += latin_notices
        else:
            utterances = [tuple(english.convert(source)) for source in sources]
            notices = _list_guesses(
                (token for tokens in utterances for token in tokens), self._unknown[code].has_espeak
            )
        notices = [notice for part in normalized for notice in part.notices] + notices
        unspoken = [
            word
            for part, tokens in zip(normalized, utterances, strict=True)
            for word in find_unspoken(part.plain, tokens)
        ]
        if unspoken:
            name = self.language_name(code)
            scripts = describe_scripts("".join(unspoken))
            sentence = f"Left out, because {name} has no phonemes for it: {listed(unspoken)}{scripts}"
            notices.append(Notice(sentence, unspoken))
        return FrontEndResult(tuple(map(Utterance, utterances)), tuple(dict.fromkeys(notices)))

    def explain(self, source: SourceText, code: str) -> list[FormChoice]:
        """Return what was proposed and chosen for the written forms of a text, in order.

        Args:
            source: The text.
            code: Letter of the language, a key of LANGUAGES.

        Raises:
            BundleError: The bundle's data has another layout.
        """
        language = self._languages.get(code) or KOKORO.get(code) or SpokenLanguage(code)
        parts = self._normalize(source, code, self._english_of(code, language))
        return [choice for part in parts for choice in part.choices]

    def _normalize(
        self, source: SourceText, code: str, english: EnglishFrontEnd | None
    ) -> list[NormalizedText]:
        """Return the paragraphs of a text as they are read."""
        forms = self._written_forms(code)
        return [
            normalize(
                self.lexicon.linked(part, code not in _UNSPACED),
                forms,
                code in _ENGLISH,
                self.unread,
                english.find_tags if english else None,
            )
            for part in split_paragraphs(source)
        ]

    def language_name(self, code: str) -> str:
        """Return the name of a language for a message."""
        return name_of(code, self._languages)

    def _read_latin_words(
        self, utterances: Iterable[Iterable[Token]]
    ) -> tuple[list[tuple[Token, ...]], list[str]]:
        """Read words in Latin letters as English, and return the utterances with notices."""
        notices: dict[str, None] = {}

        # misaki leaves Latin words of Japanese and Chinese as they are; their letters would pass as phonemes.
        def english(token: Token) -> Token:
            if token.origin != "latin":
                return token
            try:
                result = self.read(SourceText.of(unicodedata.normalize("NFKC", token.text)), "a")
            except InputError:
                word = truncate(token.text)
                sentence = f"Left out, because there is no English here to read it by: {word}"
                notices[Notice(sentence, (token.text,))] = None
                return replace(token, phonemes="", space=token.space or " ")
            notices.update(dict.fromkeys(result.notices))
            phonemes = " ".join(utterance.phonemes for utterance in result.utterances)
            return replace(token, phonemes=phonemes, origin="english")

        return [_separate_words(map(english, tokens)) for tokens in utterances], list(notices)

    def _written_forms(self, code: str) -> LanguageRules | None:
        """Return the rules for written forms of a language, or None if the bundle has none."""
        return self._open_rules(code, FrontEndFile.forms, lambda data: LanguageRules(data, code))

    def _sound_rules(self, code: str) -> SoundRules | None:
        """Return the letter-to-sound rules of a language, or None if the bundle has none."""
        return self._open_rules(code, FrontEndFile.sounds, SoundRules)

    def _open_rules(
        self,
        code: str,
        read: Callable[[FrontEndFile, str], Mapping[str, Any] | None],
        create: Callable[[Mapping[str, Any]], _Rules],
    ) -> _Rules | None:
        with _opening:
            if (code, read) not in self._rules:
                name = LANGUAGE_FILES.get(code)
                data = read(self._file, name) if self._file is not None and name else None
                self._rules[code, read] = None if data is None else create(data)
            rules: _Rules | None = self._rules[code, read]
            return rules

    def _english_of(self, code: str, language: SpokenLanguage) -> EnglishFrontEnd | None:
        """Return the front end of a variant of English, or None if the bundle has another converter."""
        if self._file is None or code not in tuple(_ENGLISH) or language.espeak is not None:
            return None
        with _opening:
            if code not in self._english:
                british = code == "b"
                data = self._file.english(british)
                self._unknown[code] = UnknownWordReader(data, british)
                self._english[code] = EnglishFrontEnd(data, british, self._unknown[code])
            return self._english[code]


def _separate_words(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """Put spaces around English words."""
    spaced: list[Token] = []
    for token in tokens:
        if spaced and "english" in (token.origin, spaced[-1].origin) and not spaced[-1].space:
            marked = "mark" in (token.origin, spaced[-1].origin)
            spaced[-1] = replace(spaced[-1], space="" if marked else " ")
        spaced.append(token)
    return tuple(spaced)


def _list_guesses(tokens: Iterable[Token], has_espeak: bool) -> list[str]:
    """Return a notice that lists the words that were read by their letters."""
    words = list(dict.fromkeys(token.text for token in tokens if token.origin in ("letters", "spelled")))
    if not words:
        return []
    install = f"Install espeak-ng (`pip install {' '.join(ESPEAK.modules)}`) or give"
    sentence = (
        f"Read by their letters, because the lexicon does not have them: {listed(words)}. "
        f"{'Give' if has_espeak else install} their phonemes, [word](/phonemes/)."
    )
    return [Notice(sentence, words)]
