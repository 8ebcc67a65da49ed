"""Generated C sources: Python's tables of characters, expressions and words for the front end in `text/`.

C reads texts as the Python that wrote these tables, so no Unicode table and no expression exists twice.
"""

from __future__ import annotations

import html.entities
import importlib
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from functools import lru_cache
from typing import Any
from xml.parsers import expat

from kokoro_tvm.native.libkokoro.patterns import Sets, compile_pattern, ranges_of

_TEXT = "kokoro_tvm.runtime.text"
_EXPRESSIONS = {
    f"{_TEXT}.abbreviations": ("_LAST_WORD", "_NEXT_WORD"),
    f"{_TEXT}.passages": (
        *("_QUOTED_ON", "_HIRAGANA", "_WITHOUT_SPACES", "_END", "_BLANK_LINE", "_CLAUSE", "_UNFINISHED"),
    ),
    f"{_TEXT}.frontend.blocks": ("_BLOCK",),
    f"{_TEXT}.frontend.lexicon": ("_VERSUS", "_DOUBLED"),
    f"{_TEXT}.frontend.normalization.characters": (
        *("_DECOMPOSED", "_LIGATURE", "_NUMERAL", "_APOSTROPHE", "_DASH", "_WORD", "_REPEATED"),
    ),
    f"{_TEXT}.frontend.normalization.emoji": ("_EMOJI", "_MODIFIER"),
    f"{_TEXT}.frontend.normalization.markdown": ("_TAG", "_ENTITY", "_MARKS"),
    f"{_TEXT}.frontend.normalization.scanner": ("_WORD", "_FIGURES"),
    f"{_TEXT}.frontend.normalization.spellout": ("_PART",),
    f"{_TEXT}.frontend.normalization.templates": ("_PART", "_PIECE", "_GROUP", "_PARTED"),
    f"{_TEXT}.frontend.paragraphs": ("_LEAD", "_CELL", "_BOX", "_NUMBER_END", "_HEADING_END"),
    f"{_TEXT}.frontend.pictures": ("_SPOKEN",),
    f"{_TEXT}.frontend.sounds": ("_PART", "_LATIN"),
    f"{_TEXT}.frontend.source": ("WORD",),
    f"{_TEXT}.frontend.subtokens": ("_PARTS",),
    f"{_TEXT}.frontend.tokenizer": ("_PART",),
    f"{_TEXT}.frontend.tokens": ("NUMBER",),
    f"{_TEXT}.markup": ("_SSML",),
    f"{_TEXT}.markup.inline": ("_SETTING", "_BEGUN"),
    f"{_TEXT}.markup.values": ("_TIME", "_FACTOR", "_CHANGE", "_HERTZ"),
    f"{_TEXT}.markup.formulas": ("FORMULA", "_TOKEN", "_SIMPLE", "_INTEGER", "_POWER"),
    f"{_TEXT}.markup.omissions": (
        *("_CITATION", "_CODE", "_FENCED", "_NOTE", "_FORMULA_GOES_ON", "_NOTE_GOES_ON", "_UNFINISHED"),
    ),
    f"{_TEXT}.phonemes": ("_BOUNDARIES",),
}
"""Modules and their expressions: `_LEAD` of paragraphs is PARAGRAPHS_LEAD in C.

The second expression of a tuple ends in _1.
"""
_RUNTIME = "kokoro_tvm.runtime"
_NUMBERS = {
    f"{_RUNTIME}.prosody": ("MARKS", "LONGEST_PAUSE", "FACTORS"),
    f"{_RUNTIME}.speech.checks": ("SPEEDS",),
    f"{_RUNTIME}.speech.division": ("DIVISION", "MIN_PART", "STOPS"),
    f"{_RUNTIME}.speech.joins": ("ATTACK", "RELEASE", "FADE", "PAUSES"),
    f"{_RUNTIME}.speech.piece": ("LAST_SOUND", "PAUSING_SOUND", "CUT_FRAMES", "HALO_FRAMES"),
    f"{_RUNTIME}.speech.words": ("EARLY_FRAMES",),
    f"{_TEXT}.passages": ("_OPENING", "_WIDE", "_MAX_PASSAGE", "_MAX_GAP", "_MAX_OPENING", "_MAX_WORD"),
    f"{_TEXT}.frontend.blocks": ("LOOKAHEAD",),
    f"{_TEXT}.markup": ("_PORTION", "_HEAD"),
    f"{_TEXT}.markup.inline": ("LONGEST_LINK", "_NOT_ENGLISH", "_VOWELS"),
    f"{_TEXT}.markup.passages": ("_CLOSING_MARKS",),
    f"{_TEXT}.markup.ssml": ("BREAKS", "_MAX_DEPTH"),
    f"{_TEXT}.markup.values": (
        *("RATES", "_PITCHES", "_IPA", "_IPA_ENGLISH", "_IPA_BRITISH", "_IPA_AMERICAN", "_IPA_OTHERS"),
    ),
    f"{_TEXT}.markup.xml": ("_MAX_PENDING",),
}
"""Modules and their numbers, texts and tables of numbers, which have the same names in C."""
MODULES = (*dict.fromkeys((*_EXPRESSIONS, *_NUMBERS)), f"{_RUNTIME}.bundle.languages", f"{_TEXT}.scripts")
"""Modules whose values are compiled in."""
_BARE = ("Cn", "Co", "Cs")  # categories whose characters are all alike
_BLOCK = 128  # characters per page of the table
_WIDTH = 116  # characters per line of numbers


@lru_cache(None)
def tables() -> Mapping[str, str]:
    """Return the content of generated headers and sources by name; equal Pythons return equal ones."""
    # The runtime is imported late: most importers of this package compile nothing.
    header, source = _write_patterns()
    languages = importlib.import_module("kokoro_tvm.runtime.bundle.languages").KOKORO
    scripts = importlib.import_module(f"{_TEXT}.scripts").RANGES
    return {
        "patterns.h": header,
        "patterns.c": source,
        "unicode_tables.h": _unicode(),
        "word_tables.h": _define_words(),
        "abbreviations.h": _list_abbreviations(),
        "numbers.h": _numbers_of_python(),
        "formula_tables.h": _define_formulas(),
        "names.h": _names_of_xml(),
        "languages.h": _define_structs(
            "char letter; const char *name;",
            "LANGUAGES",
            [f"{{'{letter}', {_quote(language.name)}}}" for letter, language in languages.items()],
        ),
        "scripts.h": _define_structs(
            "int32_t first, last; const char *name;",
            "SCRIPTS",
            [f"{{{first}, {last}, {_quote(name)}}}" for first, last, name in scripts],
        ),
    }


def expressions() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the name in C and the expression."""
    for path, attributes in _EXPRESSIONS.items():
        module = importlib.import_module(path)
        for attribute in attributes:
            name = f"{path.rpartition('.')[2]}_{attribute.strip('_')}".upper()
            value = getattr(module, attribute)
            for number, expression in enumerate(value if isinstance(value, tuple) else (value,)):
                yield f"{name}_{number}" if number else name, expression


def _wrap_numbers(values: Iterable[int]) -> str:
    """Return numbers for a C array, in lines of at most _WIDTH characters."""
    lines, line = [], ""
    for value in values:
        item = f"{value},"
        if len(line) + len(item) > _WIDTH:
            lines.append(line)
            line = ""
        line += item
    return "\n".join([*lines, line])


def _define_array(kind: str, name: str, values: Sequence[int]) -> str:
    """Define a C array; an empty one gets one 0, because C has none without elements."""
    return f"static const {kind} {name}[] = {{\n{_wrap_numbers(values or [0])}\n}};\n"


def _write_patterns() -> tuple[str, str]:
    """Return patterns.h and patterns.c: the code of every expression, and the numbers of its groups."""
    sets, arrays, entries = Sets(), [], []
    names, groups = [], []
    for name, expression in expressions():
        compiled = compile_pattern(expression.pattern, sets, expression.flags & ~re.UNICODE)
        names.append(name)
        groups += [f"{name}_{group.upper()} = {place}" for group, place in compiled.groups.items()]
        arrays.append(_define_array("int32_t", f"code_{name}", compiled.code))
        entries.append(f"{{code_{name}, sets}}")
    header = [
        "/* Expressions of the Python sources by their modules and names, and numbers of their groups. */",
        *("#ifndef KOKORO_PATTERNS_H", "#define KOKORO_PATTERNS_H", '#include "text/characters.h"'),
        f"enum {{ {', '.join(names)} }};",
        f"enum {{ {', '.join(groups)} }};",
        *("extern const pattern PATTERNS[];", "#endif", ""),
    ]
    source = ['#include "patterns.h"', _define_array("int32_t", "sets", sets.words), *arrays]
    source.append(f"const pattern PATTERNS[] = {{{', '.join(entries)}}};\n")
    return "\n".join(header), "\n".join(source)


_FLAGS = ("ALPHA", "ALNUM", "UPPER", "LOWER", "PRINTABLE", "CASED", "IGNORED", "DECOMPOSED", "SPECIAL")
_TESTS = (str.isalpha, str.isalnum, str.isupper, str.islower, str.isprintable)


_CASED, _IGNORED, _DECOMPOSED, _SPECIAL = (1 << bit for bit in range(len(_TESTS), len(_FLAGS)))


def _before_sigma(lead: str) -> list[bool]:
    """Return for every character whether a sigma after `lead` and that character ends a word."""
    chars = (" " if char.isspace() else char for char in map(chr, range(sys.maxunicode + 1)))
    return [word.endswith("ς") for word in "\n".join(f"{lead}{char}Σ" for char in chars).lower().split("\n")]


class _Pool:
    """Strings as runs of code points, each after its length."""

    def __init__(self) -> None:
        self.words = [0]
        self._places: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Store a string, once, and return its index."""
        if text not in self._places:
            self._places[text] = len(self.words)
            self.words += [len(text), *map(ord, text)]
        return self._places[text]


def _unicode() -> str:
    """Return properties by character in shared pages, decompositions and compositions."""
    pool = _Pool()
    cased = _before_sigma("")
    ignored = [behind and not alone for behind, alone in zip(_before_sigma("a"), cased, strict=True)]
    records: dict[tuple[int, ...], int] = {}
    pages: dict[tuple[int, ...], int] = {}
    index: list[int] = []
    bare = {unicodedata.category(char): _record(char, pool, 0) for char in "\u0378\ue000\ud800"}
    assert tuple(bare) == _BARE
    marked = [
        _CASED * is_cased + _IGNORED * is_ignored for is_cased, is_ignored in zip(cased, ignored, strict=True)
    ]
    for start in range(0, sys.maxunicode + 1, _BLOCK):
        page_records = [
            bare.get(unicodedata.category(chr(c))) or _record(chr(c), pool, marked[c])
            for c in range(start, start + _BLOCK)
        ]
        page = tuple(records.setdefault(record, len(records)) for record in page_records)
        index.append(pages.setdefault(page, len(pages)))
    decomposed = []
    for c in range(sys.maxunicode + 1):
        char = chr(c)
        if unicodedata.decomposition(char):
            compatible = unicodedata.normalize("NFKD", char)
            canonical = unicodedata.normalize("NFD", char)
            decomposed += [c, pool.add(canonical), pool.add(compatible)]
    flags = ", ".join(f"{name} = {1 << bit}" for bit, name in enumerate(_FLAGS))
    rows = "\n".join(f"{{{','.join(map(str, r[:5]))}, {{{','.join(map(str, r[5:]))}}}}}," for r in records)
    return "\n".join(
        [
            f"enum {{ {flags} }};",
            _define_array("uint16_t", "page_of", index),
            _define_array("uint16_t", "pages", [record for page in pages for record in page]),
            f"static const record records[] = {{\n{rows}\n}};\n",
            _define_array("int32_t", "pool", pool.words),
            _define_array("int32_t", "decompositions", decomposed),
            _define_array("int32_t", "compositions", list(_list_compositions())),
        ]
    )


def _record(char: str, pool: _Pool, marked: int) -> tuple[int, ...]:
    """Return flags, category, decimal, digit, combining class, and the three cases of a character.

    Lower, upper and title case are differences of code points, or with SPECIAL places in the pool.
    """
    flags = marked + sum(1 << bit for bit, has in enumerate(_TESTS) if has(char))
    flags |= _DECOMPOSED if unicodedata.decomposition(char) else 0
    category = unicodedata.category(char)
    cases = char.lower(), char.upper(), char.capitalize()
    if any(len(case) != 1 for case in cases):
        flags |= _SPECIAL
        mapped = [pool.add(case) for case in cases]
    else:
        mapped = [ord(case) - ord(char) for case in cases]
    digit = unicodedata.digit(char, -1)
    return (
        *(flags, ord(category[0]) << 8 | ord(category[1]), unicodedata.decimal(char, -1), digit),
        *(unicodedata.combining(char), *mapped),
    )


def _list_compositions() -> Iterator[int]:
    """Yield first and second character and their composition, in order."""
    compositions = []
    for c in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(c):
                compositions.append((first, second, c))
    for composition in sorted(compositions):
        yield from composition


def _quote(value: str) -> str:
    """Return a C string literal of UTF-8."""
    return (
        '"'
        + "".join(
            f"\\{byte:03o}" if not 32 <= byte < 127 or byte in b'"\\?' else chr(byte)
            for byte in value.encode()
        )
        + '"'
    )


def _define_strings(name: str, values: Iterable[str]) -> str:
    """Define a C array of strings that ends with a null pointer."""
    return f"static const char *const {name}[] = {{{', '.join(map(_quote, values))}, 0}};\n"


def _define_structs(fields: str, name: str, values: Iterable[str]) -> str:
    """Define a C array of structs from initializers."""
    return f"static const struct {{ {fields} }} {name}[] = {{\n{','.join(values)}}};\n"


def _define_words() -> str:
    """Return the names of pictures and entities, and the texts of entities with low numbers."""
    emoji = importlib.import_module(f"{_TEXT}.frontend.normalization.emoji")
    pictures = importlib.import_module(f"{_TEXT}.frontend.pictures")
    drawn = [c for a, b in ranges_of(f"(?:{pictures.EMOJI}|[♀♂⚕⚖])") for c in range(a, b + 1)]
    named = [f"{{{c}, {_quote(name)}}}" for c in drawn if (name := emoji.describe_emoji(chr(c)))]
    low = [f"{_quote(html.unescape(f'&#{number};'))}" for number in range(0xA0)]
    entities = [
        f"{{{_quote(name)}, {_quote(html.entities.html5[name])}}}" for name in sorted(html.entities.html5)
    ]
    return "\n".join(
        [
            _define_structs("int32_t picture; const char *name;", "PICTURES", named),
            _define_structs("const char *name, *text;", "ENTITIES", entities),
            f"static const char *const LOW_ENTITIES[] = {{{', '.join(low)}}};\n",
        ]
    )


def numbers() -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the numbers that every language of the project shares."""
    for path, names in _NUMBERS.items():
        module = importlib.import_module(path)
        for name in names:
            value = getattr(module, name)
            yield name.strip("_"), "".join(sorted(value)) if isinstance(value, frozenset) else value


def _numbers_of_python() -> str:
    """Return `numbers` as constants: `PAUSES.comma` of Python is PAUSES_COMMA; None is -1."""
    lines = ["#ifndef KOKORO_NUMBERS_H", "#define KOKORO_NUMBERS_H"]
    lines.append("typedef struct named_number { const char *name; double value; } named_number;")
    lines.append("typedef struct replacement { const char *symbols, *replacement; } replacement;")
    for name, value in numbers():
        if isinstance(value, str):
            lines.append(f"#define {name} {_quote(value)}")
        elif isinstance(value, dict):
            rows = [
                f"{{{_quote(key)}, {-1 if number is None else number!r}}}" for key, number in value.items()
            ]
            lines.append(f"static const named_number {name}[] = {{{', '.join(rows)}}};")
        elif isinstance(value, tuple) and isinstance(value[0], tuple):
            rows = [f"{{{_quote(old)}, {_quote(new)}}}" for old, new in value]
            lines.append(f"static const replacement {name}[] = {{{', '.join(rows)}}};")
        elif isinstance(value, tuple):
            lines += [
                f"#define {name}_{end} {bound!r}" for end, bound in zip(("LOW", "HIGH"), value, strict=True)
            ]
        elif is_dataclass(value) and not isinstance(value, type):
            lines += [f"#define {name}_{key.upper()} {number!r}" for key, number in asdict(value).items()]
        else:
            lines.append(f"#define {name} {value!r}")
    return "\n".join([*lines, "#endif", ""])


def _names_of_xml() -> str:
    """Return the characters of names in XML by expat: those that begin one, and those within one."""

    def accepts(document: str) -> bool:
        try:
            expat.ParserCreate("utf-8").Parse(document, True)
        except (expat.ExpatError, UnicodeEncodeError):
            return False
        return True

    def ranges(template: str) -> str:
        matches = "".join("x" if accepts(template.format(chr(c))) else " " for c in range(0x10000))
        return ", ".join(f"{{{m.start()}, {m.end() - 1}}}" for m in re.finditer("x+", matches))

    templates = {"NAME_FIRST": "<{}/>", "NAME_MORE": "<a{}b/>"}
    lines = (f"static const int32_t {name}[][2] = {{{ranges(t)}}};" for name, t in templates.items())
    return "\n".join([*lines, ""])


def _define_formulas() -> str:
    """Return C tables of LaTeX's signs, functions, spaces and text commands."""
    formulas = importlib.import_module(f"{_TEXT}.markup.formulas")
    signs = [f"{{{_quote(name)}, {_quote(sign)}}}" for name, sign in formulas._SIGNS.items()]
    lists = {"FUNCTIONS": formulas._FUNCTIONS, "SPACES": formulas._SPACES, "TEXTS": formulas._TEXTS}
    return "\n".join(
        [
            f"#define FORMULA_OPERATORS {_quote(''.join(sorted(formulas._OPERATORS)))}",
            _define_structs("const char *name, *sign;", "FORMULA_SIGNS", signs),
            *(_define_strings(f"FORMULA_{name}", sorted(names)) for name, names in lists.items()),
        ]
    )


def _list_abbreviations() -> str:
    """Return the words of abbreviations.json in order."""
    lists: dict[str, list[str]] = importlib.import_module(f"{_TEXT}.abbreviations")._WORDS
    return "\n".join(_define_strings(name.upper(), sorted(words)) for name, words in sorted(lists.items()))
