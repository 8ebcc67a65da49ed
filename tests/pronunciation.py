"""Letter-to-sound by rules beside espeak-ng.

`python tests/pronunciation.py es` prints error rates, and what is wrong most often, with examples. Words are
the 24,000 most frequent of wordfreq (Robyn Speer; its data: CC-BY-SA 4.0), which are neither stored nor
shipped: 2,000 of them ("held") that rules are judged by, and the others, that they are written with.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kokoro_tvm.model.front_end.sound_rules import compile_sounds, list_sound_languages
from kokoro_tvm.runtime.text.frontend.espeak import EspeakLanguage
from kokoro_tvm.runtime.text.frontend.sounds import SoundRules
from kokoro_tvm.runtime.text.frontend.tokens import Utterance
from kokoro_tvm.validation.measure.phonemes import edit_distance

__all__ = ["CODES", "Pair", "error_rate", "espeak", "heard", "pairs", "words"]

CODES = {"e": "es", "f": "fr", "h": "hi", "i": "it", "p": "pt"}
"""The letter of a language, and its name in ISO 639-1."""
_ESPEAK = {"es": "es", "fr": "fr-fr", "hi": "hi", "it": "it", "pt": "pt-br"}
_LETTERS = {
    "es": "a-záéíóúüñ",
    "fr": "a-zàâæçéèêëîïôœùûüÿ",
    "hi": "\u0900-\u0963",
    "it": "a-zàèéìíòóù",
    "pt": "a-záâãàçéêíóôõúü",
}
_MOST, _HELD = 24_000, 2_000


class Pair(NamedTuple):
    """A text, what the rules make of it, and what espeak-ng does, without spaces."""

    text: str
    ours: str
    theirs: str


@cache
def espeak(language: str) -> EspeakLanguage:
    return EspeakLanguage(_ESPEAK[language])


@cache
def rules(language: str) -> SoundRules:
    return SoundRules(compile_sounds(language))


def heard(text: str, language: str) -> str:
    """The phonemes of a text by the rules of a language."""
    return Utterance(tuple(rules(language)(unicodedata.normalize("NFC", text)))).phonemes


def pairs(texts: Iterable[str], language: str) -> list[Pair]:
    """Texts by the rules and by espeak-ng."""
    return [Pair(text, _bare(heard(text, language)), _bare(espeak(language)(text))) for text in texts]


def _bare(phonemes: str) -> str:
    return "".join(char for char in phonemes if not char.isspace() and char != "\u00ad")


def error_rate(found: Iterable[Pair]) -> float:
    """Phonemes and stress marks that have to be changed, left out or put in, by those of espeak-ng."""
    found = list(found)
    return sum(edit_distance(b, a) for _, a, b in found) / sum(len(b) for _, _, b in found)


def words(language: str, held: bool) -> list[str]:
    """Frequent words in the letters of the language that espeak-ng does not take for another language's."""
    from wordfreq import top_n_list

    frequent = top_n_list(language, 2 * _MOST, wordlist="best")
    spelled = re.compile(f"[{_LETTERS[language]}]{{2,}}")
    own = [word for word in frequent if spelled.fullmatch(word)][:_MOST]
    foreign = set(_in_other_languages(own, language))
    chosen = [w for w in own if w not in foreign and (hashlib.sha256(w.encode()).digest()[0] < 26) is held]
    return chosen[:_HELD] if held else chosen


def _in_other_languages(texts: list[str], language: str) -> Iterator[str]:
    import espeakng_loader
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    backend = EspeakBackend(_ESPEAK[language], language_switch="keep-flags")
    return (t for t, found in zip(texts, backend.phonemize(texts), strict=True) if "(" in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("language", choices=list_sound_languages())
    parser.add_argument("--sentences", type=Path, help="a file of them, one a line, in the place of words")
    parser.add_argument("--held", action="store_true", help="the words that rules are judged by")
    parser.add_argument("--most", type=int, default=20, help="kinds of errors that are printed")
    options = parser.parse_args()
    texts = (
        options.sentences.read_text(encoding="utf-8").splitlines()
        if options.sentences
        else words(options.language, options.held)
    )
    found = pairs(texts, options.language)
    wrong = [pair for pair in found if pair.ours != pair.theirs]
    print(f"phonemes {error_rate(found):.2%}, texts {len(wrong) / len(found):.1%} of {len(found):,}")
    kinds: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], list[Pair]] = {}
    for pair in wrong:
        matcher = SequenceMatcher(None, pair.ours, pair.theirs, autojunk=False)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "equal":
                kinds[pair.ours[a:b], pair.theirs[c:d]] += 1
                examples.setdefault((pair.ours[a:b], pair.theirs[c:d]), []).append(pair)
    for change, count in kinds.most_common(options.most):
        shown = "; ".join(" ".join(pair) for pair in examples[change][:: max(1, count // 4)][:4])
        print(f"{count:6,}  {change[0] or '∅'} for {change[1] or '∅'}: {shown[:300]}")


if __name__ == "__main__":
    main()
