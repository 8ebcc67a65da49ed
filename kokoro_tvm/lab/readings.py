"""Scores what the front end makes of written forms against somebody else's test cases.

`python -m kokoro_tvm.lab.readings FOLDER LANGUAGE --cldr DATA` reads the files of a folder, `written~spoken`
a line, with further readings behind further `~`; a line that begins with `~` is written, and the lines below
it are readings that are accepted (the format of NeMo-text-processing's tests). `--cldr` is a folder with the
packages of CLDR, unpacked.
"""

from __future__ import annotations

import argparse
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.model.front_end.text_rules import compiled
from kokoro_tvm.runtime.text.frontend.normalization.language import Language
from kokoro_tvm.runtime.text.frontend.normalization.scanner import Scanner
from kokoro_tvm.runtime.text.frontend.source import SourceText

__all__ = ["Case", "alike", "cases", "reader"]

_LETTERS_APART = re.compile(r"(?<!\S)[^\W\d](?: [^\W\d](?!\S))+")


@dataclass(frozen=True)
class Case:
    """What is written, and every reading that is accepted."""

    file: str
    written: str
    accepted: tuple[str, ...]


def cases(folder: Path) -> Iterator[Case]:
    """The cases of a folder's text files, in their order."""
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
    """What reads a text in words, by the file of a language and CLDR's in a folder."""
    scanner = Scanner(Language(compiled(language, cldr), code))

    def read(text: str) -> str:
        source = SourceText.of(unicodedata.normalize("NFC", text))
        return source.edited(scanner.scan(source).edits).text

    return read


def alike(one: str, other: str, spaced: bool, aside: Sequence[str]) -> bool:
    """Whether two readings have the same words, but for case, marks, words of `aside` and letters apart."""
    return _words(one, spaced, aside) == _words(other, spaced, aside)


def _words(text: str, spaced: bool, aside: Sequence[str]) -> str:
    text = unicodedata.normalize("NFKC", text).lower().replace("'", "").replace("’", "")
    text = re.sub(r"(?<!\w)(\w)\.(?=\w(?!\w))", r"\1", text)
    kept = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
    words = [word for word in kept.split() if word not in aside]
    if not spaced:
        return "".join(words)
    return _LETTERS_APART.sub(lambda letters: letters[0].replace(" ", ""), " ".join(words))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("language")
    parser.add_argument("--cldr", type=Path, required=True)
    parser.add_argument("--code", default="a", help="the letter of the language, where it has variants")
    parser.add_argument("--aside", default="and the of", help="words that do not count")
    parser.add_argument("--failures", action="store_true", help="print what is read otherwise")
    given = parser.parse_args()
    read = reader(given.language, given.cldr, given.code)
    spaced = given.language not in ("ja", "zh")
    passed: dict[str, list[bool]] = {}
    for case in cases(given.folder):
        found = read(case.written)
        good = any(alike(found, accepted, spaced, given.aside.split()) for accepted in case.accepted)
        passed.setdefault(case.file, []).append(good)
        if given.failures and not good:
            print(f"{case.file}: {case.written!r}\n    {found!r}\n    {case.accepted[0]!r}")
    for file, results in passed.items():
        print(f"{file:48} {sum(results):4} of {len(results):4}")
    every = [result for results in passed.values() for result in results]
    print(f"{'all':48} {sum(every):4} of {len(every):4}: {100 * sum(every) / len(every):.1f} %")


if __name__ == "__main__":
    main()
