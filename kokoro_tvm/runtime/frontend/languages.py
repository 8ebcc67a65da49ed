"""Other languages than English, by misaki's and espeak-ng's converters behind one lock; and English for
bundles without a front end of their own."""

from __future__ import annotations

import importlib
import os
import shlex
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.voices import LANGUAGES

__all__ = ["Conversion", "carries_meaning", "convert", "one_at_a_time"]

# A converter: text -> phonemes, and what of the text it left out.
_Converter: TypeAlias = Callable[[str], tuple[str, list[str]]]

_SPACY_MODEL = "en_core_web_sm"
_ESPEAK = {"a": "en-us", "b": "en-gb", "e": "es", "f": "fr-fr", "h": "hi", "i": "it", "p": "pt-br"}
_ESPEAK_PACKAGES = "misaki phonemizer-fork espeakng-loader"
_EXTRAS = {"j": ("misaki.ja", "misaki[ja]"), "z": ("misaki.zh", "misaki[zh]")}
_NOT_MISAKI = (
    f"English phonemes come from espeak-ng, because spaCy's {_SPACY_MODEL} is not installed and the bundle "
    "has no front end of its own; misaki's are nearer to those the model was trained on."
)

# espeak-ng keeps its state in globals of its library and misaki in the objects that are shared here, so one
# thread at a time creates and calls converters. Reentrant, because an import within may fork (see below).
_lock = threading.RLock()
_converters: dict[str, _Converter] = {}

if hasattr(os, "register_at_fork"):
    # A child forked while another thread converts would find the lock taken for good.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@dataclass(frozen=True)
class Conversion:
    """phonemes: one string for each text; notices: what the caller of the runtime should be warned of."""

    phonemes: list[str]
    notices: list[str]


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """While it is entered, no other thread uses espeak-ng or a converter of this module."""
    with _lock:
        yield


def convert(texts: Iterable[str], code: str) -> Conversion:
    """Phonemes of `texts` in the language of `code` (a letter of LANGUAGES); threads wait for each other.

    Raises:
        InputError: there is no such language, or its G2P is not installed.
    """
    with _lock:
        notices = []
        if code not in _converters:
            _converters[code] = _create(code)
            if code in "ab" and not _installed(_SPACY_MODEL):
                notices.append(_NOT_MISAKI)
        found = [_converters[code](text) for text in texts]
    lost = [word for _, words in found for word in words]
    if lost:
        notices.append(f"Left out, because misaki has no phonemes for it: {' '.join(lost)}")
    return Conversion([phonemes for phonemes, _ in found], notices)


def carries_meaning(text: str) -> bool:
    """Whether a token is more than punctuation and space: letters, digits, symbols."""
    return any(unicodedata.category(char)[0] in "LNS" for char in text)


def _create(code: str) -> _Converter:
    if code in "ab" and _installed(_SPACY_MODEL):
        return _misaki_english(british=code == "b")
    if code in _ESPEAK:
        return _espeak(_ESPEAK[code])
    if code in _EXTRAS:
        return _extra(code)
    raise InputError(f"There is no language '{code}'. Known: {', '.join(LANGUAGES)}.")


def _installed(distribution: str) -> bool:
    """Whether a package is installed; spaCy is not imported, and misaki has no chance to download it."""
    import importlib.metadata  # slow to import, and not needed to speak phonemes

    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _misaki_english(british: bool) -> _Converter:
    english = _import("misaki.en", "misaki[en]")
    espeak = _import("misaki.espeak", _ESPEAK_PACKAGES)
    g2p = english.G2P(trf=False, british=british, fallback=espeak.EspeakFallback(british=british), unk="")

    def speak(text: str) -> tuple[str, list[str]]:
        phonemes, tokens = g2p(text)
        lost = [token.text for token in tokens if not token.phonemes and carries_meaning(token.text)]
        return str(phonemes), lost

    return speak


def _espeak(language: str) -> _Converter:
    g2p = _import("misaki.espeak", _ESPEAK_PACKAGES).EspeakG2P(language=language)
    return lambda text: (str(g2p(text)[0]), [])


def _extra(code: str) -> _Converter:
    module, package = _EXTRAS[code]
    loaded = _import(module, package)
    try:
        g2p = loaded.JAG2P() if code == "j" else loaded.ZHG2P(version=None)
    except RuntimeError as error:  # MeCab's, whose dictionary is a download of its own
        raise InputError(
            f"{module} cannot start: {_last_line(error)}. For Japanese, run `python -m unidic download`, or "
            "`pip uninstall unidic` and `pip install unidic-lite`; or give phonemes instead (--phonemes)."
        ) from error
    return lambda text: (str(g2p(text)[0]), [])


def _import(module: str, packages: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"Turning this text into phonemes needs {module}, which cannot be imported ({error}). "
            f"Run `pip install {shlex.join(packages.split())}`, or give phonemes instead (--phonemes)."
        ) from error


def _last_line(error: BaseException) -> str:
    lines = [line.strip(" -") for line in str(error).splitlines()]
    return next((line for line in reversed(lines) if line), type(error).__name__)
