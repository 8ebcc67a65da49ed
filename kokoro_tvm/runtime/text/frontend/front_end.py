"""The one door from text to phonemes: every language, with notices of what was guessed or left out."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage, name_of
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.forks import held_at_forks
from kokoro_tvm.runtime.notices import listed
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.left_out import find_unspoken
from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.packages import ESPEAK
from kokoro_tvm.runtime.text.frontend.paragraphs import split_paragraphs
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance
from kokoro_tvm.runtime.text.frontend.user_lexicon import UserLexicon
from kokoro_tvm.runtime.text.scripts import describe_scripts

if TYPE_CHECKING:
    from kokoro_tvm.runtime.text.frontend.sounds import SoundRules

__all__ = ["FrontEnd", "FrontEndResult"]

_ENGLISH = "ab"
_UNSPACED = frozenset("jz")  # languages that are written without spaces between words
_opening = held_at_forks()


@dataclass(frozen=True)
class FrontEndResult:
    """utterances: one for each paragraph, with places in the whole text; notices: which words were guessed
    or left out, in sentences."""

    utterances: tuple[Utterance, ...]
    notices: tuple[str, ...]


class FrontEnd:
    """Text to phonemes by the data of a bundle. Threads may share it."""

    def __init__(
        self,
        file: FrontEndFile | None = None,
        lexicon: UserLexicon | None = None,
        languages: Mapping[str, SpokenLanguage] = KOKORO,
    ) -> None:
        """file: tagger, lexicon and rules of the bundle; without it English, and what is read by rules, goes
        by espeak-ng. lexicon: a user's words, in all languages. languages: the bundle's."""
        self._languages = languages
        self.lexicon = lexicon or UserLexicon({})
        self.unread: frozenset[str] = frozenset()
        """Kinds of written forms that are left as they stand."""
        self._file = file
        self._english: dict[str, EnglishFrontEnd] = {}
        self._unknown: dict[str, UnknownWordReader] = {}
        self._forms: dict[str, LanguageRules | None] = {}
        self._sounds: dict[str, SoundRules | None] = {}

    @classmethod
    def open(
        cls, bundle: Bundle, file: OpenFile | None = None, lexicon: UserLexicon | None = None
    ) -> FrontEnd:
        """The front end of a bundle, from `file`, or from the manifest's path, unchecked, without one.

        Raises:
            BundleError: its file is no safetensors file.
        """
        data = FrontEndFile.open(bundle.front_end.path, file) if bundle.front_end else None
        return cls(data, lexicon, bundle.languages)

    def with_unread_forms(self, forms: Collection[str]) -> FrontEnd:
        """This front end, but for written forms of some kinds, which it leaves as they stand.

        forms: of "all", "units", "web", "mail", "phones" and "signs" (docs/text.md). Raises InputError for
        another.
        """
        from kokoro_tvm.runtime.text.frontend.normalization import FORM_KINDS

        for form in forms:
            if form not in FORM_KINDS:
                raise InputError(
                    f"There is no kind {form!r} of written forms. There are {', '.join(FORM_KINDS)}."
                )
        other = copy.copy(self)  # which shares what is read of the bundle
        other.unread = frozenset(forms)
        return other

    def read(self, source: SourceText, code: str) -> FrontEndResult:
        """A text with its links, in the language of `code` (a letter of LANGUAGES).

        Raises:
            InputError: there is no such language, or its G2P is not installed.
            BundleError: the bundle's data is of another layout.
        """
        from kokoro_tvm.runtime.text.frontend.normalization import normalize

        linked = (self.lexicon.linked(part, code not in _UNSPACED) for part in split_paragraphs(source))
        forms = self._forms_of(code)
        normal = [normalize(part, forms, code in _ENGLISH, self.unread) for part in linked]
        sources = [part.source for part in normal]
        language = self._languages.get(code) or KOKORO.get(code) or SpokenLanguage(code)
        if self._file is None or code not in tuple(_ENGLISH) or language.espeak is not None:
            from kokoro_tvm.runtime.text.frontend.languages import phonemize_sources  # the other languages

            sounds = None if language.espeak is not None else self._sounds_of(code)
            found, notices = phonemize_sources(sources, code, language, sounds)
            spoken, more = self._with_latin_words(found)
            notices += more
        else:
            english = self._of(code, self._file)
            spoken = [tuple(english.convert(source)) for source in sources]
            notices = _guessed((t for tokens in spoken for t in tokens), self._unknown[code].has_espeak)
        notices = [notice for part in normal for notice in part.notices] + notices
        lost = [
            word
            for part, tokens in zip(normal, spoken, strict=True)
            for word in find_unspoken(part.plain, tokens)
        ]
        if lost:
            name = self.language_name(code)
            scripts = describe_scripts("".join(lost))
            notices.append(f"Left out, because {name} has no phonemes for it: {listed(lost)}{scripts}")
        return FrontEndResult(tuple(map(Utterance, spoken)), tuple(dict.fromkeys(notices)))

    def language_name(self, code: str) -> str:
        """Return the name of the language of `code` for a message."""
        return name_of(code, self._languages)

    def _with_latin_words(
        self, utterances: Iterable[Iterable[Token]]
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
                reading = self.read(SourceText.of(unicodedata.normalize("NFKC", token.text)), "a")
            except InputError:
                word = truncate(token.text)
                notices[f"Left out, because there is no English here to read it by: {word}"] = None
                return replace(token, phonemes="", space=token.space or " ")
            notices.update(dict.fromkeys(reading.notices))
            phonemes = " ".join(utterance.phonemes for utterance in reading.utterances)
            return replace(token, phonemes=phonemes, origin="english")

        return [_words_apart(map(english, tokens)) for tokens in utterances], list(notices)

    def _forms_of(self, code: str) -> LanguageRules | None:
        """Written forms of a language; None where the bundle has none."""
        from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES

        with _opening:
            if code not in self._forms:
                name = LANGUAGE_FILES.get(code)
                data = self._file.forms(name) if self._file is not None and name else None
                self._forms[code] = None if data is None else LanguageRules(data, code)
            return self._forms[code]

    def _sounds_of(self, code: str) -> SoundRules | None:
        """Rules of letter-to-sound of a language; None where the bundle has none."""
        from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES
        from kokoro_tvm.runtime.text.frontend.sounds import SoundRules  # imports normalization

        with _opening:
            if code not in self._sounds:
                name = LANGUAGE_FILES.get(code)
                data = self._file.sounds(name) if self._file is not None and name else None
                self._sounds[code] = None if data is None else SoundRules(data)
            return self._sounds[code]

    def _of(self, code: str, file: FrontEndFile) -> EnglishFrontEnd:
        with _opening:
            if code not in self._english:
                british = code == "b"
                data = file.english(british)
                self._unknown[code] = UnknownWordReader(data, british)
                self._english[code] = EnglishFrontEnd(data, british, self._unknown[code])
            return self._english[code]


def _words_apart(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """Tokens with spaces at both sides of English words."""
    spaced: list[Token] = []
    for token in tokens:
        if spaced and "english" in (token.origin, spaced[-1].origin) and not spaced[-1].space:
            marked = "mark" in (token.origin, spaced[-1].origin)
            spaced[-1] = replace(spaced[-1], space="" if marked else " ")
        spaced.append(token)
    return tuple(spaced)


def _guessed(tokens: Iterable[Token], has_espeak: bool) -> list[str]:
    """A notice of words that were read by their letters."""
    guessed = dict.fromkeys(token.text for token in tokens if token.origin in ("letters", "spelled"))
    if not guessed:
        return []
    install = f"Install espeak-ng (`pip install {' '.join(ESPEAK.modules)}`) or give"
    return [
        f"Read by their letters, because the lexicon does not have them: {listed(guessed)}. "
        f"{'Give' if has_espeak else install} their phonemes, [word](/phonemes/)."
    ]
