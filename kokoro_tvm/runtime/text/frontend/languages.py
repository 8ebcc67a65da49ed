"""Languages other than English: letter-to-sound rules of the bundle, else misaki or espeak-ng.

English uses espeak-ng if the bundle has no front end. Converters share state and run under one lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.chinese import Chinese
from kokoro_tvm.runtime.text.frontend.espeak import EspeakLanguage
from kokoro_tvm.runtime.text.frontend.espeak_process import EspeakError, exclusive_espeak
from kokoro_tvm.runtime.text.frontend.japanese import Japanese
from kokoro_tvm.runtime.text.frontend.packages import find_packages
from kokoro_tvm.runtime.text.frontend.sounds import SoundRules
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.strings import align_words
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance

_Converter: TypeAlias = Callable[[str], list[Token]]

_ESPEAK = {"a": "en-us", "b": "en-gb", "e": "es", "f": "fr-fr", "h": "hi", "i": "it", "p": "pt-br"}
_BY_ESPEAK = (
    "English phonemes come from espeak-ng, because the bundle has no front end of its own; they are not "
    "quite those that the model was trained on."
)
_NO_STRESS = (
    "The stress of single words, and how a number is read, can be chosen with the English front end of a "
    "bundle alone; here such links and <emphasis> change nothing."
)

_converters: dict[tuple[str, str | None], _Converter] = {}


def run_converter(
    texts: Iterable[str], code: str, language: SpokenLanguage
) -> tuple[list[list[Token]], list[str]]:
    """Convert texts with a language's converter; threads wait for each other.

    A converter of whole texts returns one token of the origin "converter" per text.

    Args:
        texts: Texts without links.
        code: Letter of the language.
        language: What the bundle says about it.

    Returns:
        Tokens of each text with places in it, and notices.

    Raises:
        InputError: There is no such language, or its G2P is not installed.
    """
    with exclusive_espeak():  # misaki keeps its state in the objects that are shared here
        notices = []
        key = code, language.espeak
        if key not in _converters:
            _converters[key] = _create(code, language)
            if code in "ab" and language.espeak is None:
                notices.append(_BY_ESPEAK)
        return [_converters[key](text) for text in texts], notices


def _create(code: str, language: SpokenLanguage) -> _Converter:
    if code not in KOKORO and language.espeak is None:
        raise InputError(f"There is no language '{code}'. Known: {', '.join(KOKORO)}.")
    try:
        if (name := language.espeak or _ESPEAK.get(code)) is None:
            return Japanese() if code == "j" else Chinese()
        whole = EspeakLanguage(name)
        return lambda text: [Token(text, 0, len(text), whole(text), "", origin="converter")]
    except ImportError as error:
        packages = find_packages(code)
        raise InputError(
            f"Turning {language.name} text into phonemes needs {packages.name}, which cannot be imported "
            f"({error.name}). To speak it, {packages.remedy}; or give phonemes instead (--phonemes)."
        ) from error
    except EspeakError as error:
        raise InputError(
            f"Turning {language.name} text into phonemes needs espeak-ng, which does not start: {error} "
            "Or give phonemes instead (--phonemes)."
        ) from error
    except RuntimeError as error:  # MeCab's, whose dictionary is a download of its own
        raise InputError(
            f"MeCab, which divides Japanese into words, cannot start: {_last_line(error)}. Run "
            "`pip uninstall unidic` and `pip install unidic-lite`, or `python -m unidic download`; or give "
            "phonemes instead (--phonemes)."
        ) from error


def _last_line(error: BaseException) -> str:
    lines = [line.strip(" -") for line in str(error).splitlines()]
    return next((line for line in reversed(lines) if line), type(error).__name__)


@dataclass(frozen=True)
class _Part:
    """Part of a text, without space at both ends.

    Attributes:
        space: " " if a space follows.
        phonemes: Those of a link; None if they have to be found.
    """

    start: int
    end: int
    space: str
    phonemes: str | None = None
    origin: str = ""


def phonemize_sources(
    sources: Sequence[SourceText], code: str, language: SpokenLanguage, sounds: SoundRules | None
) -> tuple[list[list[Token]], list[str]]:
    """Phonemize texts word by word.

    Args:
        sources: Texts with their links.
        code: Letter of the language.
        language: What the bundle says about it.
        sounds: Letter-to-sound rules of the bundle; without them a converter reads the texts.

    Returns:
        Tokens of each text with places in its source, and notices.

    Raises:
        InputError: As `run_converter` does.
    """
    parts = [list(_parts(source)) for source in sources]
    texts = [
        source.text[part.start : part.end]
        for source, text_parts in zip(sources, parts, strict=True)
        for part in text_parts
        if part.phonemes is None
    ]
    converted, notices = run_converter(texts, code, language) if sounds is None else (map(sounds, texts), [])
    readings = iter(converted)
    utterances = []
    for source, text_parts in zip(sources, parts, strict=True):
        tokens: list[Token] = []
        for part in text_parts:
            text = source.text[part.start : part.end]
            if part.phonemes is None:
                words = list(_words(text, next(readings), code, language))
            else:
                words = [Token(text, 0, len(text), part.phonemes, "", origin=part.origin)]
            if words:
                words[-1] = replace(words[-1], space=part.space)
            tokens += (_placed(word, source, part.start) for word in words)
        utterances.append(tokens)
    has_other_links = any(link.phonemes is None for source in sources for link in source.links)
    return utterances, [*notices, *([_NO_STRESS] if has_other_links else [])]


def _words(text: str, tokens: Sequence[Token], code: str, language: SpokenLanguage) -> Iterable[Token]:
    """Return the words of a text that a converter read as tokens, or as a whole."""
    if len(tokens) != 1 or tokens[0].origin != "converter":
        return tokens

    def alone(words: list[str]) -> list[str]:
        return [
            Utterance(tuple(tokens_of_word)).phonemes
            for tokens_of_word in run_converter(words, code, language)[0]
        ]

    return align_words(text, tokens[0].phonemes.strip(), alone)


def _placed(token: Token, source: SourceText, offset: int) -> Token:
    first, last = token.start + offset, token.end + offset
    if first == last:  # a mark of the converter's own
        place = source.starts[first] if first < len(source.starts) else source.ends[-1]
        return replace(token, start=place, end=place)
    start, end = source.span(first, last)
    return replace(token, start=start, end=end)


def _parts(source: SourceText) -> Iterator[_Part]:
    done = 0
    for link in source.links:
        if link.phonemes is not None:
            yield from _between(source.text, done, link.start)
            yield _part(source.text, link.start, link.end, link.phonemes, link.origin)
            done = link.end
    yield from _between(source.text, done, len(source.text))


def _between(text: str, start: int, end: int) -> Iterator[_Part]:
    stretch = text[start:end]
    if any(map(str.isalnum, stretch)):
        yield _part(text, start, end)
    elif stretch.strip():
        yield _part(text, start, end, "".join(char for char in stretch if char in MARKS), "mark")


def _part(text: str, start: int, end: int, phonemes: str | None = None, origin: str = "") -> _Part:
    stretch = text[start:end]
    first = start + len(stretch) - len(stretch.lstrip())
    last = first + len(stretch.strip())
    return _Part(first, last, " " if text[last : last + 1].isspace() else "", phonemes, origin)
