"""C that is written, not kept: Python's tables of characters, expressions and words, for what is in text/.

So C reads as the Python that wrote them: no table of Unicode and no expression stands anywhere twice.
"""

from __future__ import annotations

import html.entities
import importlib
import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kokoro_tvm.libkokoro.patterns import Sets, compile_pattern, ranges_of

__all__ = ["write_generated"]

_TEXT = "kokoro_tvm.runtime.text"
_EXPRESSIONS = {
    f"{_TEXT}.abbreviations": ("_LAST_WORD", "_NEXT_WORD"),
    f"{_TEXT}.passages": (
        *("_QUOTED_ON", "_HIRAGANA", "_WITHOUT_SPACES", "_END", "_BLANK_LINE", "_CLAUSE", "_UNFINISHED"),
    ),
    f"{_TEXT}.frontend.blocks": ("_BLOCK",),
    f"{_TEXT}.frontend.lexicon": ("_VERSUS", "_DOUBLED"),
    f"{_TEXT}.frontend.normalization.characters": (
        *("_DECOMPOSED", "_APOSTROPHE", "_DASH", "_WORD", "_REPEATED"),
    ),
    f"{_TEXT}.frontend.normalization.emoji": ("_EMOJI", "_MODIFIER"),
    f"{_TEXT}.frontend.normalization.markdown": ("_TAG", "_ENTITY", "_MARKS"),
    f"{_TEXT}.frontend.normalization.scanner": ("_WORD", "_FIGURES"),
    f"{_TEXT}.frontend.normalization.spellout": ("_PART",),
    f"{_TEXT}.frontend.normalization.templates": ("_PART", "_PIECE", "_PARTED"),
    f"{_TEXT}.frontend.paragraphs": ("_LEAD", "_CELL", "_BOX", "_NUMBER_END", "_HEADING_END"),
    f"{_TEXT}.frontend.pictures": ("_SPOKEN",),
    f"{_TEXT}.frontend.source": ("WORD",),
    f"{_TEXT}.frontend.subtokens": ("_PARTS",),
    f"{_TEXT}.frontend.tokenizer": ("_PART",),
    f"{_TEXT}.frontend.tokens": ("NUMBER",),
    f"{_TEXT}.phonemes": ("_BOUNDARIES",),
}
"""Modules, and the names that their expressions have in them: `_LEAD` of paragraphs is PARAGRAPHS_LEAD in C;
of several, the second is ..._1."""
_BARE = ("Cn", "Co", "Cs")  # categories of characters that are all alike
_HANGUL = range(0xAC00, 0xD7A4)
_BLOCK = 128  # characters of a page of the table
_WIDTH = 116  # of a line of numbers


def write_generated(folder: Path) -> list[Path]:
    """Writes the headers and the sources of the tables into a folder; the sources among them, to be compiled.

    Equal Pythons write equal files.
    """
    header, source = _patterns()
    (folder / "patterns.h").write_text(header, encoding="ascii")
    (folder / "patterns.c").write_text(source, encoding="ascii")
    (folder / "unicode_tables.h").write_text(_unicode(), encoding="ascii")
    (folder / "word_tables.h").write_text(_words(), encoding="ascii")
    (folder / "abbreviations.h").write_text(_abbreviations(), encoding="ascii")
    return [folder / "patterns.c"]


def _numbers(values: Iterable[int]) -> str:
    lines, line = [], ""
    for value in values:
        each = f"{value},"
        if len(line) + len(each) > _WIDTH:
            lines.append(line)
            line = ""
        line += each
    return "\n".join([*lines, line])


def _array(kind: str, name: str, values: Sequence[int]) -> str:
    return f"static const {kind} {name}[] = {{\n{_numbers(values or [0])}\n}};\n"


def _patterns() -> tuple[str, str]:
    sets, arrays, entries = Sets(), [], []
    names, groups = [], []
    for path, attributes in _EXPRESSIONS.items():
        module = importlib.import_module(path)
        for attribute in attributes:
            found = getattr(module, attribute)
            for number, expression in enumerate(found if isinstance(found, tuple) else [found]):
                suffix = f"_{number}" if number else ""
                name = f"{path.rpartition('.')[2]}_{attribute.strip('_')}{suffix}".upper()
                compiled = compile_pattern(expression.pattern, sets, expression.flags & ~re.UNICODE)
                names.append(name)
                groups += [f"{name}_{group.upper()} = {place}" for group, place in compiled.groups.items()]
                arrays.append(_array("int32_t", f"code_{name}", compiled.code))
                entries.append(f"{{code_{name}, sets}}")
    header = [
        "/* Expressions of the Python sources by their modules and names, and numbers of their groups. */",
        *("#ifndef KOKORO_PATTERNS_H", "#define KOKORO_PATTERNS_H", '#include "text/text.h"'),
        f"enum {{ {', '.join(names)} }};",
        f"enum {{ {', '.join(groups)} }};",
        *("extern const pattern PATTERNS[];", "#endif", ""),
    ]
    source = ['#include "patterns.h"', _array("int32_t", "sets", sets.words), *arrays]
    source.append(f"const pattern PATTERNS[] = {{{', '.join(entries)}}};\n")
    return "\n".join(header), "\n".join(source)


_FLAGS = {
    "ALPHA": str.isalpha,
    "ALNUM": str.isalnum,
    "UPPER": str.isupper,
    "LOWER": str.islower,
    "PRINTABLE": str.isprintable,
    "CASED": lambda char: _is_final(char + "Σ"),
    "IGNORED": lambda char: _is_final(f"a{char}Σ") and not _is_final(char + "Σ"),
    "DECOMPOSED": lambda char: unicodedata.normalize("NFKD", char) != char and ord(char) not in _HANGUL,
}


def _is_final(text: str) -> bool:
    return text.lower()[-1] == "ς"


class _Pool:
    """Strings as runs of code points, each behind its length."""

    def __init__(self) -> None:
        self.words = [0]
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self._places:
            self._places[text] = len(self.words)
            self.words += [len(text), *map(ord, text)]
        return self._places[text]


def _unicode() -> str:
    """Properties by character in pages, of which many are alike; decompositions and compositions."""
    pool = _Pool()
    records: dict[tuple[int, ...], int] = {}
    pages: dict[tuple[int, ...], int] = {}
    index: list[int] = []
    bare = {unicodedata.category(char): _record(char, pool) for char in "\u0378\ue000\ud800"}
    assert tuple(bare) == _BARE
    for start in range(0, sys.maxunicode + 1, _BLOCK):
        found = [
            bare.get(unicodedata.category(char)) or _record(char, pool)
            for char in map(chr, range(start, start + _BLOCK))
        ]
        page = tuple(records.setdefault(record, len(records)) for record in found)
        index.append(pages.setdefault(page, len(pages)))
    decomposed = []
    for c in range(sys.maxunicode + 1):
        char = chr(c)
        compatible = unicodedata.normalize("NFKD", char)
        if compatible != char and c not in _HANGUL:
            canonical = unicodedata.normalize("NFD", char)
            decomposed += [c, pool.place(canonical), pool.place(compatible)]
    flags = ", ".join(f"{name} = {1 << bit}" for bit, name in enumerate([*_FLAGS, "SPECIAL"]))
    rows = "\n".join(f"{{{','.join(map(str, r[:5]))}, {{{','.join(map(str, r[5:]))}}}}}," for r in records)
    return "\n".join(
        [
            f"enum {{ {flags} }};",
            _array("uint16_t", "page_of", index),
            _array("uint16_t", "pages", [each for page in pages for each in page]),
            f"static const record records[] = {{\n{rows}\n}};\n",
            _array("int32_t", "pool", pool.words),
            _array("int32_t", "decompositions", decomposed),
            _array("int32_t", "compositions", list(_compositions())),
        ]
    )


def _record(char: str, pool: _Pool) -> tuple[int, ...]:
    """Flags, category, decimal, digit, combining class; then small, large and title: the difference of the
    code points, or where it is more than one character (SPECIAL) places of all three in the pool."""
    flags = sum(1 << bit for bit, has in enumerate(_FLAGS.values()) if has(char))
    category = unicodedata.category(char)
    cases = char.lower(), char.upper(), char.capitalize()
    if any(len(case) != 1 for case in cases):
        flags |= 1 << len(_FLAGS)
        mapped = [pool.place(case) for case in cases]
    else:
        mapped = [ord(case) - ord(char) for case in cases]
    digit = unicodedata.digit(char, -1)
    return (
        *(flags, ord(category[0]) << 8 | ord(category[1]), unicodedata.decimal(char, -1), digit),
        *(unicodedata.combining(char), *mapped),
    )


def _compositions() -> Iterator[int]:
    """First and second character and what they are together, in order."""
    found = []
    for c in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(c):
                found.append((first, second, c))
    for each in sorted(found):
        yield from each


def _text(value: str) -> str:
    """A string of C, of UTF-8."""
    return (
        '"'
        + "".join(
            f"\\{byte:03o}" if not 32 <= byte < 127 or byte in b'"\\?' else chr(byte)
            for byte in value.encode()
        )
        + '"'
    )


def _strings(name: str, values: Iterable[str]) -> str:
    return f"static const char *const {name}[] = {{{', '.join(map(_text, values))}, 0}};\n"


def _structs(fields: str, name: str, values: Iterable[str]) -> str:
    return f"static const struct {{ {fields} }} {name}[] = {{\n{','.join(values)}}};\n"


def _words() -> str:
    """Names of pictures and entities, and what entities of low numbers are."""
    emoji = importlib.import_module(f"{_TEXT}.frontend.normalization.emoji")
    pictures = importlib.import_module(f"{_TEXT}.frontend.pictures")
    drawn = [c for a, b in ranges_of(f"(?:{pictures.PICTURE}|[♀♂⚕⚖])") for c in range(a, b + 1)]
    named = [f"{{{c}, {_text(emoji._of(chr(c)))}}}" for c in drawn if emoji._of(chr(c))]
    low = [f"{_text(html.unescape(f'&#{number};'))}" for number in range(0xA0)]
    entities = [
        f"{{{_text(name)}, {_text(html.entities.html5[name])}}}" for name in sorted(html.entities.html5)
    ]
    return "\n".join(
        [
            _structs("int32_t picture; const char *name;", "PICTURES", named),
            _structs("const char *name, *text;", "ENTITIES", entities),
            f"static const char *const LOW_ENTITIES[] = {{{', '.join(low)}}};\n",
        ]
    )


def _abbreviations() -> str:
    """Words of abbreviations.json, in order."""
    abbreviations = importlib.import_module(f"{_TEXT}.abbreviations")
    lists = json.loads(Path(abbreviations.__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return "\n".join(_strings(name.upper(), sorted(words)) for name, words in sorted(lists.items()))
