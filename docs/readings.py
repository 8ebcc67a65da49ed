"""Score how the front end reads written forms, on test cases of another project.

`python docs/readings.py FOLDER LANGUAGE --cldr DATA` reads the files of a folder,
`written~spoken` a line, with further readings behind further `~`; a line that begins with `~` is written,
and the lines below it are readings that are accepted (the format of NeMo-text-processing's tests). `--cldr`
is a folder with the packages of CLDR, unpacked. Two counts are printed: of readings with the same letters,
and of those with the same words, which may be spelled otherwise (`has_same_words`).
"""

from __future__ import annotations

import argparse
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.model.front_end.text_rules import compile_language
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.normalization.scanner import Verbalizer
from kokoro_tvm.runtime.text.frontend.source import SourceText

__all__ = ["Case", "cases", "has_same_letters", "has_same_words", "reader"]

# Japanese numbers and counters in kana, and the characters that they are a reading of.
_DAYS = {
    "ツイタチ": "一日", "フツカ": "二日", "ミッカ": "三日", "ヨッカ": "四日", "イツカ": "五日",
    "ムイカ": "六日", "ナノカ": "七日", "ヨーカ": "八日", "ココノカ": "九日", "トーカ": "十日",
    "ハツカ": "二十日",
}  # fmt: skip
_NUMBERS = {
    "イチ": "一", "イッ": "一", "ニ": "二", "サン": "三", "ヨン": "四", "ヨ": "四", "シチ": "七", "シ": "四",
    "ゴ": "五", "ロク": "六", "ロッ": "六", "ナナ": "七", "ハチ": "八", "ハッ": "八", "キュー": "九",
    "ク": "九", "ジュー": "十", "ジュッ": "十", "ゼロ": "零",
}  # fmt: skip
_COUNTERS = {
    "プン": "分", "フン": "分", "ネン": "年", "ガツ": "月", "ジ": "時", "ニチ": "日", "ニン": "人",
    "セーキ": "世紀", "テン": "点", "パイ": "杯", "カゲツ": "か月", "月": "月", "日": "日", "時": "時",
}  # fmt: skip
_KANA = re.compile(
    f"(?P<day>{'|'.join(_DAYS)})"
    f"|(?P<number>(?:{'|'.join(_NUMBERS)}){{1,4}}|(?<=[一二三四五六七八九十]))(?P<counter>{'|'.join(_COUNTERS)})"
)
_LEFT = re.compile(r"\s*[-–/]\s*")
_LETTERS_APART = re.compile(r"(?<!\S)[^\W\d](?: [^\W\d](?!\S))+")


@dataclass(frozen=True)
class Case:
    """A written form and its accepted readings."""

    file: str
    written: str
    accepted: tuple[str, ...]


def cases(folder: Path) -> Iterator[Case]:
    """Read the cases of a folder's text files."""
    for path in sorted(folder.glob("*.txt")):
        pending: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("~") and len(line) > 1:
                yield from _several(path.name, pending)
                pending = [line.lstrip("~")]
            elif pending and "~" not in line:
                pending.append(line)
            elif "~" in line:
                written, _, spoken = line.partition("~")
                if written.strip():
                    yield Case(path.name, written, tuple(spoken.split("~")))
        yield from _several(path.name, pending)


def _several(file: str, lines: Sequence[str]) -> Iterator[Case]:
    if len(lines) > 1:
        yield Case(file, lines[0], tuple(lines[1:]))


def reader(language: str, cldr: Path, code: str) -> Callable[[str], str]:
    """Return a function that reads a text in words, by the rules of a language and CLDR's data."""
    scanner = Verbalizer(LanguageRules(compile_language(language, cldr), code))

    def read(text: str) -> str:
        source = SourceText.of(unicodedata.normalize("NFC", text))
        return source.apply_edits(scanner.scan(source).edits).text

    return read


def has_same_letters(ours: str, other: str, spaced: bool, ignored: Sequence[str]) -> bool:
    """Compare two readings without case, marks, `ignored` words and spaces between single letters."""
    return _words(ours, spaced, ignored) == _words(other, spaced, ignored)


def has_same_words(ours: str, other: str, language: str, ignored: Sequence[str]) -> bool:
    """Compare two readings without their spelling.

    Italian accents do not count (ventitre, ventitré). Japanese numbers in kana count as characters
    (ヨネン, 四年).
    A sign that `other` keeps (2-5) counts as one word (two to five) or none.
    """
    if language == "it":
        ours, other = (_without_accents(text) for text in (ours, other))
    if language == "ja":
        ours, other = (_KANA.sub(_characters, text) for text in (ours, other))
    spaced = language not in ("ja", "zh")
    if has_same_letters(ours, other, spaced, ignored):
        return True
    parts = [_words(part, spaced, ignored) for part in _LEFT.split(other)]
    return len(parts) > 1 and (
        re.fullmatch(r"(?: (?:to|slash|dash))? ?".join(map(re.escape, parts)), _words(ours, spaced, ignored))
        is not None
    )


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def _characters(kana: re.Match[str]) -> str:
    if kana["day"]:
        return _DAYS[kana["day"]]
    number = re.sub("|".join(_NUMBERS), lambda match: _NUMBERS[match[0]], kana["number"])
    return number + _COUNTERS[kana["counter"]]


def _words(text: str, spaced: bool, ignored: Sequence[str]) -> str:
    text = unicodedata.normalize("NFKC", text).lower().replace("'", "").replace("’", "")
    text = re.sub(r"(?<!\w)(\w)\.(?=\w(?!\w))", r"\1", text)
    letters = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
    words = [word for word in letters.split() if word not in ignored]
    if not spaced:
        return "".join(words)
    return _LETTERS_APART.sub(lambda match: match[0].replace(" ", ""), " ".join(words))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("language")
    parser.add_argument("--cldr", type=Path, required=True)
    parser.add_argument("--code", default="a", help="the letter of the language, where it has variants")
    parser.add_argument("--aside", default="and the of", help="words that do not count")
    parser.add_argument("--failures", action="store_true", help="print what is read otherwise")
    options = parser.parse_args()
    read = reader(options.language, options.cldr, options.code)
    spaced, ignored = options.language not in ("ja", "zh"), options.aside.split()
    results: dict[str, list[tuple[bool, bool]]] = {}
    for case in cases(options.folder):
        ours = read(case.written)
        same = any(has_same_words(ours, accepted, options.language, ignored) for accepted in case.accepted)
        letters = any(has_same_letters(ours, accepted, spaced, ignored) for accepted in case.accepted)
        results.setdefault(case.file, []).append((letters, same))
        if options.failures and not same:
            print(f"{case.file}: {case.written!r}\n    {ours!r}\n    {case.accepted[0]!r}")
    results["all"] = [result for scores in results.values() for result in scores]
    print(f"{'of':>53} {'letters':>14} {'words':>14}")
    for file, scores in results.items():
        counts = [sum(column) for column in zip(*scores, strict=True)]
        shares = "".join(f" {count:6} {100 * count / len(scores):5.1f} %" for count in counts)
        print(f"{file:48} {len(scores):4}{shares}")


if __name__ == "__main__":
    main()
