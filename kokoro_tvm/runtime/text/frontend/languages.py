"""Other languages than English, by misaki's and espeak-ng's converters behind one lock; and English for
bundles without a front end of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.text.frontend.chinese import Chinese
from kokoro_tvm.runtime.text.frontend.espeak import EspeakText, one_at_a_time
from kokoro_tvm.runtime.text.frontend.japanese import Japanese
from kokoro_tvm.runtime.text.frontend.packages import packages_of
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance

__all__ = ["Conversion", "convert"]

_Converter: TypeAlias = Callable[[str], list[Token]]

_SPACY_MODEL = "en_core_web_sm"
_ESPEAK = {"a": "en-us", "b": "en-gb", "e": "es", "f": "fr-fr", "h": "hi", "i": "it", "p": "pt-br"}
_NOT_MISAKI = (
    f"English phonemes come from espeak-ng, because spaCy's {_SPACY_MODEL} is not installed and the bundle "
    "has no front end of its own; misaki's are nearer to those the model was trained on."
)

_converters: dict[tuple[str, str | None], _Converter] = {}


@dataclass(frozen=True)
class Conversion:
    """tokens: those of each text, with places in it; a text of a language that is converted as a whole is one
    token of the origin "converter". notices: what the caller of the runtime should be warned of."""

    tokens: list[tuple[Token, ...]]
    notices: list[str]

    @property
    def phonemes(self) -> list[str]:
        """One string for each text."""
        return [Utterance(tokens).phonemes for tokens in self.tokens]


def convert(texts: Iterable[str], code: str, language: SpokenLanguage | None = None) -> Conversion:
    """Tokens of `texts` in the language of `code`; threads wait for each other.

    language: what a bundle says of it; None: one of Kokoro-82M's.

    Raises:
        InputError: there is no such language, or its G2P is not installed.
    """
    with one_at_a_time():  # misaki keeps its state in the objects that are shared here
        notices = []
        espeak = None if language is None else language.espeak
        key = code, espeak
        if key not in _converters:
            _converters[key] = _create(code, language or KOKORO.get(code))
            if code in "ab" and espeak is None and not _installed(_SPACY_MODEL):
                notices.append(_NOT_MISAKI)
        found = [_converters[key](text) for text in texts]
    return Conversion(list(map(tuple, found)), notices)


def _create(code: str, language: SpokenLanguage | None) -> _Converter:
    if language is None or (code not in KOKORO and language.espeak is None):
        raise InputError(f"There is no language '{code}'. Known: {', '.join(KOKORO)}.")
    try:
        if language.espeak is not None:
            return _whole(EspeakText(language.espeak))
        if code in "ab" and _installed(_SPACY_MODEL):
            return _misaki_english(british=code == "b")
        if code in _ESPEAK:
            return _whole(EspeakText(_ESPEAK[code]))
        return Japanese() if code == "j" else Chinese()
    except ImportError as error:
        packages = packages_of(code)
        raise InputError(
            f"Turning {language.name} text into phonemes needs {packages.name}, which cannot be imported "
            f"({error.name}). To speak it, {packages.remedy}; or give phonemes instead (--phonemes)."
        ) from error
    except RuntimeError as error:  # MeCab's, whose dictionary is a download of its own
        raise InputError(
            f"MeCab, which divides Japanese into words, cannot start: {_last_line(error)}. Run "
            "`pip uninstall unidic` and `pip install unidic-lite`, or `python -m unidic download`; or give "
            "phonemes instead (--phonemes)."
        ) from error


def _installed(distribution: str) -> bool:
    """Whether a package is installed; spaCy is not imported, and misaki has no chance to download it."""
    from kokoro_tvm.packages import is_installed  # imports importlib.metadata, not needed to speak phonemes

    return is_installed(distribution)


def _misaki_english(british: bool) -> _Converter:
    from misaki import en, espeak

    g2p = en.G2P(trf=False, british=british, fallback=espeak.EspeakFallback(british=british), unk="")

    return lambda text: _one(text, str(g2p(text)[0]))


def _whole(g2p: Callable[[str], str]) -> _Converter:
    return lambda text: _one(text, g2p(text))


def _one(text: str, phonemes: str) -> list[Token]:
    return [Token(text, 0, len(text), phonemes, "", origin="converter")]


def _last_line(error: BaseException) -> str:
    lines = [line.strip(" -") for line in str(error).splitlines()]
    return next((line for line in reversed(lines) if line), type(error).__name__)
