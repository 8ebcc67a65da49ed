"""Japanese by misaki's Cutlet, word by word: MeCab finds words, their kana become phonemes.

misaki.ja imports pyopenjtalk, which it does not use here and which needs a compiler. Cutlet's normalization
before MeCab is done here step by step, so that words keep their places.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from kokoro_tvm.runtime.text.frontend.source import Edit, SourceText
from kokoro_tvm.runtime.text.frontend.tokens import LATIN, NUMBER, Token, copy_spacing

_RANGE = re.compile(r"[〜～](?=\d)")
_MISAKI_FIGURES = 9
_MOST_FIGURES = 16
_UNITS = ((10**12, "ちょう"), (10**8, "おく"))
# Characters that Unicode composes are normalized together: marks with their base, letters of Hangul.
_CLUSTER = re.compile(r"[\u1100-\u11ff\u3131-\u318e\uac00-\ud7ff\uffa0-\uffdc]+|.", re.DOTALL)
_SOUND_MARKS = "\uff9e\uff9f"  # half-width dakuten and handakuten
# Words that UniDic gives a formal or a rare reading.
_READINGS = {"日本": "ニホン", "私": "ワタシ", "階": "カイ", "上手": "ジョウズ"}
_WHAT = "何"  # ナン before a counter and before t, d and n, else ナニ
_BEFORE_NAN = frozenset("たちつてとだぢづでどなにぬねの") - {"に"}


class Japanese:
    """Converter of Japanese text. Not thread-safe."""

    def __init__(self) -> None:
        """Load the packages.

        Raises:
            ImportError: They are not installed.
            RuntimeError: MeCab's dictionary is not installed.
        """
        import jaconv
        import mojimoji
        from misaki import cutlet

        class Listening(cutlet.Cutlet):
            """Cutlet that records the words of its phonemes, because it joins some that MeCab divides."""

            def __init__(self) -> None:
                super().__init__()
                self.surfaces: list[str] = []

            def _romaji_word(self, word: Any) -> str:
                self.surfaces.append(word.surface)
                try:
                    return "" if word.surface.isdigit() else str(super()._romaji_word(word))
                except KeyError:  # a small kana after a kana that takes none
                    return ""

        self._cutlet = Listening()
        self._word = cutlet.Word
        self._hiragana = jaconv.kata2hira
        self._extensions = cutlet.Katakana_Phonetic_Extensions
        self._kana_of = cutlet.Convert
        self._widths = mojimoji

    def __call__(self, text: str) -> list[Token]:
        """Return the words and marks of a text."""
        source = self._normalize(text)
        nodes = list(self._cutlet.tagger(source.text))
        words = [
            self._word(node.surface, self._hiragana(_reading(node, before, after)), _kind(node))
            for before, node, after in zip([None, *nodes], nodes, [*nodes[1:], None], strict=False)
        ]
        self._cutlet.surfaces.clear()
        sounds = [str(sound) for sound in self._cutlet._romaji_tokens(words)]
        places = iter(_places(nodes))
        tokens = []
        for surface, sound in zip(self._cutlet.surfaces, sounds, strict=True):
            first, last = next(places)
            length = last - first
            while length < len(surface):
                begin, last = next(places)
                length += last - begin
            start, end = source.span(first, last)
            phonemes = sound.replace("(", "«").replace(")", "»")
            tokens.append(Token(text[start:end], start, end, phonemes, origin=_origin(surface)))
        return list(copy_spacing(tokens, _join_sounds(sounds)))

    def _normalize(self, text: str) -> SourceText:
        """Normalize a text as Cutlet._normalize_text does, with places."""
        source = SourceText.of(text)
        source = source.apply_edits(Edit(m.start(), m.end(), "から") for m in _RANGE.finditer(source.text))
        source = source.apply_edits(
            Edit(start, end, normal)
            for start, end in _clusters(source.text)
            if (normal := self._normal(source.text[start:end])) != source.text[start:end]
        )
        return source.apply_edits(
            Edit(m.start(), m.end(), " " + self._number(m[0].replace(",", "")))
            for m in NUMBER.finditer(source.text)
        )

    def _number(self, figures: str) -> str:
        """Return a number in kana; above nine digits misaki's function would return an English message."""
        value = int(figures) if len(figures) <= _MOST_FIGURES else None
        if value is None:
            return " ".join(map(self._kana_of, figures))
        for unit, name in _UNITS:
            if value >= unit and len(figures) > _MISAKI_FIGURES:
                high, low = divmod(value, unit)
                rest = f" {self._number(str(low))}" if low else ""
                return f"{self._number(str(high))} {name}{rest}"
        return str(self._kana_of(figures))

    def _normal(self, cluster: str) -> str:
        """Normalize characters as Cutlet does, and digits of any script to ASCII."""
        cluster = "".join(self._extensions.get(char, char) for char in cluster)
        half = self._widths.zen_to_han(unicodedata.normalize("NFKC", cluster), kana=False)
        full = self._widths.han_to_zen(half, digit=False, ascii=False)
        return "".join(str(unicodedata.decimal(char, char)) for char in full)


def _clusters(text: str) -> list[tuple[int, int]]:
    clusters: list[tuple[int, int]] = []
    for match in _CLUSTER.finditer(text):
        char = match[0][0]
        if clusters and (unicodedata.category(char)[0] == "M" or char in _SOUND_MARKS):
            clusters[-1] = clusters[-1][0], match.end()
        else:
            clusters.append(match.span())
    return clusters


def _places(words: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Yield the spans of MeCab's words in its input."""
    place = 0
    for word in words:
        place += len(word.white_space)
        yield place, place + len(word.surface)
        place += len(word.surface)


def _join_sounds(sounds: list[str]) -> str:
    """Join phonemes of words as Cutlet does."""
    phonemes = re.sub(r"\s+", " ", "".join(sounds).strip()).replace("(", "«").replace(")", "»")
    return re.sub(r'(?<![!",.:;?»—…”]) (?=ʔ)|(?<=ʔ) (?!["«“])', "", phonemes)


def _reading(word: Any, before: Any | None, after: Any | None) -> str:
    """Return the kana of one of MeCab's words between its neighbors."""
    if word.surface in _READINGS:
        return _READINGS[word.surface]
    if word.surface == _WHAT and word.feature.pos1 == "代名詞":
        return "ナン" if after is not None and after.surface[0] in _BEFORE_NAN else "ナニ"
    if before is not None and before.feature.pos1 == "名詞":
        if word.surface == "川":
            return "ガワ"
        if word.surface == "人" and before.feature.pos2 == "固有名詞":
            return "ジン"
    return str(word.feature.pron or word.feature.kana or word.surface)


def _kind(word: Any) -> int:
    """Return MeCab's kind of characters; words of its dictionary count as kana and kanji (6)."""
    return 6 if word.char_type == 7 or not word.is_unk else int(word.char_type)


def _origin(surface: str) -> str:
    if re.fullmatch(rf"{LATIN}[-'’.&{LATIN[1:]}*", surface):
        return "latin"
    return "word" if any(map(str.isalnum, surface)) else "mark"
