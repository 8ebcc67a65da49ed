"""Mandarin by misaki's rules, word by word: jieba finds words, pypinyin and g2pM their syllables.

misaki.zh (0.9.4, as for the voices of version 1.0) first applies cn2an's numbers and its own punctuation.
This is done here step by step, so that words keep their places.

pypinyin reads the phrases of its list. Any other character of several readings is read by g2pM, which chooses
from the sentence. (Park and Lee, "g2pM: A neural grapheme-to-phoneme conversion package for Mandarin
Chinese based on a new open benchmark dataset", Interspeech 2020.)
"""

from __future__ import annotations

import logging
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from tempfile import TemporaryDirectory

from kokoro_tvm.runtime.text.frontend.source import Edit, SourceText
from kokoro_tvm.runtime.text.frontend.tokens import LATIN, NUMBER, Token, copy_spacing

_ZERO = {"〇": "零"}  # misaki has only the second
_WIDE = re.compile("[Ａ-Ｚａ-ｚ]")
_NUMBER = re.compile(r"(?<![-./%℃年月日])[-./%℃年月日]*[0-9][-./%℃年月日0-9]*")
_TOO_LONG = re.compile("[0-9]{17}")  # cn2an warns and leaves it
_FIGURES = re.compile("[0-9]+")
_CHINESE = "\u4e00-\u9fff"
_PARTS = re.compile(rf"(?P<chinese>[{_CHINESE}]+)|(?P<latin>{LATIN}+(?:['’-]{LATIN}+)*)|\s+|(?P<other>.)")
_AFTER = 2  # characters: length of cn2an's longest measure word, which tells a range from a sign
_NO_PART_OF_SOUND = "\u032f"  # below vowels that are no syllables


class Chinese:
    """Converter of Chinese text. Not thread-safe."""

    def __init__(self) -> None:
        """Load the packages.

        Raises:
            ImportError: They are not installed.
        """
        import cn2an
        import jieba
        import pypinyin
        from g2pM import G2pM
        from misaki import zh
        from pypinyin.seg import mmseg

        jieba.setLogLevel(logging.WARNING)  # else it prints its loading time
        self._numbers = cn2an
        self._words = jieba.Tokenizer()
        self._misaki = zh.ZHG2P
        self._pinyin = pypinyin
        self._phrases = mmseg.seg
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # it leaves its files to the garbage collector
            self._polyphones = G2pM()
        with TemporaryDirectory() as folder:
            # jieba would read a cache from the shared temporary folder, where anybody may have put one.
            self._words.tmp_dir = folder
            self._words.initialize()

    def __call__(self, text: str) -> list[Token]:
        """Return the words and marks of a text."""
        source = self._in_chinese(text)
        tokens: list[Token] = []
        joined = ""
        for start, end, phonemes, space, origin in self._sounds(source.text):
            joined += phonemes + space
            if not phonemes.isspace():
                first, last = source.span(start, end)
                tokens.append(Token(text[first:last], first, last, phonemes, origin=origin))
        return list(copy_spacing(tokens, joined.strip()))

    def _in_chinese(self, text: str) -> SourceText:
        """Write numbers and marks as misaki does."""
        source = SourceText.of(text)
        for step in (_narrow_edits, _group_edits, self._number_edits, self._figure_edits, self._mark_edits):
            source = source.apply_edits(step(source.text))
        return source

    def _number_edits(self, text: str) -> Iterator[Edit]:
        for match in _NUMBER.finditer(text):
            after = re.split(r"[-./%℃年月日0-9]", text[match.end() : match.end() + _AFTER])[0]
            if not _TOO_LONG.search(match[0]):
                words = self._numbers.transform(match[0] + after, "an2cn")
                words = re.sub("^-", "负", words[: len(words) - len(after)])  # remains in front of degrees
                yield from _number_parts(match[0], words, match.start())

    def _figure_edits(self, text: str) -> Iterator[Edit]:
        """Yield edits that read the remaining digits one by one."""
        for match in _FIGURES.finditer(text):
            yield Edit(match.start(), match.end(), self._numbers.an2cn(match[0], "direct"))

    def _mark_edits(self, text: str) -> Iterator[Edit]:
        for place, char in enumerate(text):
            mark = _ZERO.get(char) or self._misaki.map_punctuation(f"x{char}x")[1:-1]
            if mark != char:
                yield Edit(place, place + 1, mark)

    def _sounds(self, text: str) -> Iterator[tuple[int, int, str, str, str]]:
        """Yield (start, end, phonemes, space after it, origin) of every part of the text."""
        syllables = self._polyphones(text, char_split=True)
        for part in _PARTS.finditer(text):
            if part.lastgroup != "chinese":
                yield *part.span(), part[0], "", "latin" if part["latin"] else "mark"
                continue
            words = list(self._words.cut(part[0]))
            start = part.start()
            for number, word in enumerate(words, 1):
                end = start + len(word)
                phonemes = self._sound(word, syllables[start:end])
                yield start, end, phonemes, " " * (number < len(words)), "word"
                start = end

    def _sound(self, word: str, syllables: Sequence[str]) -> str:
        """Return the phonemes of a word, or "" if it is unknown.

        pypinyin reads phrases. `syllables`, which g2pM chose, are for other characters of several readings.
        """
        spelled: list[str] = []
        for phrase in self._phrases.cut(word):
            if len(phrase) == 1 and len(self._polyphones.cedict.get(phrase, ())) > 1:
                spelled.append(syllables[len(spelled)].replace("u:", "v"))
            else:
                spelled += self._pinyin.lazy_pinyin(
                    phrase, style=self._pinyin.Style.TONE3, neutral_tone_with_five=True
                )
        try:
            return "".join(map(self._misaki.py2ipa, spelled)).replace(_NO_PART_OF_SOUND, "")
        except ValueError:  # unknown to pypinyin or misaki
            return ""


def _narrow_edits(text: str) -> Iterator[Edit]:
    """Yield edits from full-width letters and digits of any script to ASCII; cn2an warns of other digits."""
    for place, char in enumerate(text):
        narrow = str(unicodedata.decimal(char, char))
        if _WIDE.match(char):
            narrow = unicodedata.normalize("NFKC", char)
        if narrow != char:
            yield Edit(place, place + 1, narrow)


def _group_edits(text: str) -> Iterator[Edit]:
    """Yield edits that remove commas within numbers."""
    for match in NUMBER.finditer(text):
        for place, char in enumerate(match[0], match.start()):
            if char == ",":
                yield Edit(place, place + 1, "")


def _number_parts(number: str, spoken: str, place: int) -> Iterator[Edit]:
    """Yield edits from a number at `place` to its words; in a date each field is its own edit."""
    parts, words = re.split("([年月日])", number), re.split("([年月日])", spoken)
    if parts[1::2] != words[1::2]:
        parts, words = [number], [spoken]
    for part, word in zip(parts, words, strict=True):
        if part != word:
            yield Edit(place, place + len(part), word)
        place += len(part)
