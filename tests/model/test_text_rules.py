"""Language files of written forms: errors with their place, and data of CLDR."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.common.errors import BuildError, RecipeError
from kokoro_tvm.model.front_end import sources
from kokoro_tvm.model.front_end.cldr import Cldr, files_of
from kokoro_tvm.model.front_end.patterns import check_pattern, find_beginnings
from kokoro_tvm.model.front_end.text_rules import LanguageFile, list_languages, read_language_file
from kokoro_tvm.recipe.front_end import NpmFilesSource
from kokoro_tvm.recipe.validate import read_document
from kokoro_tvm.runtime.text.frontend.normalization.spellout import spell_out

FILE = """\
cldr: xx
spellout: {names: {cardinal: spellout-cardinal}}
numbers: {decimal: ".", decimals: figures, point: point, singular: "1"}
letters: a-z
types: {number: {match: '\\d{1,9}', say: number}}
lists: {unit: {km: {one: kilometre, other: kilometres}}}
rules:
  - {kind: measure, match: '{n:number} {u:unit}', say: "{n} {u|form:n}"}
"""
EURO = {"displayName": "euros", "displayName-count-one": "euro"}
METRE = {
    "unitPattern-count-one": "{0} metre",
    "unitPattern-count-other": "{0} metres",
    "gender": "masculine",
}
MADE = {
    "cldr-rbnf/rbnf/xx.json": {
        "rbnf": {
            "rbnf": {
                "SpelloutRules": {
                    "%spellout-cardinal": [
                        ["-x", "minus →→;"],
                        ["0", "zero;"],
                        ["1", "one;"],
                        ["2", "two;"],
                        ["20", "twen\u00adty[-→→];"],
                        ["100", "←← hundred[→%%and→];"],
                        ["1000", "=#,##0=;"],
                    ],
                    "%%and": [["1", "' and =%spellout-cardinal=;"]],
                }
            }
        }
    },
    "cldr-numbers-full/main/xx/currencies.json": {
        "main": {"xx": {"numbers": {"currencies": {"EUR": EURO}}}}
    },
    "cldr-units-full/main/xx/units.json": {
        "main": {
            "xx": {
                "units": {
                    "long": {"length-meter": METRE}
                }
            }
        }
    },
    "cldr-dates-full/main/xx/ca-gregorian.json": {
        "main": {
            "xx": {
                "dates": {
                    "calendars": {
                        "gregorian": {
                            "months": {
                                context: {"abbreviated": {"1": "jan."}, "wide": {"1": "january"}}
                                for context in ("format", "stand-alone")
                            }
                        }
                    }
                }
            }
        }
    },
}  # fmt: skip


@pytest.fixture
def cldr(tmp_path: Path) -> Cldr:
    for name, content in MADE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    return Cldr(tmp_path, "xx")


def test_language_files_are_valid() -> None:
    assert "en" in list_languages()
    for language in list_languages():
        read_language_file(language)


@pytest.mark.parametrize(
    ("doubt", "place", "why"),
    [
        ("{kind: measures, cost: 1}", "10:5", "no rule has the kind `measures`; did you mean `measure`?"),
        ("{kind: measure, cost: 1, near: 'a+'}", "10:5", "repeats without a bound"),
        ("{kind: measure, cost: 1, alone: [spoon]}", "10:5", "no rule has the kind `spoon`"),
        ("{kind: measure, cost: 0}", "10:27", "0 is too small"),
    ],
)
def test_language_file_doubt_errors_have_a_place(tmp_path: Path, doubt: str, place: str, why: str) -> None:
    path = tmp_path / "xx.yaml"
    path.write_text(FILE + "doubts:\n  - {kind: measure, cost: 1, after: 'no '}\n", encoding="utf-8")
    read_document(path, LanguageFile)
    path.write_text(f"{FILE}doubts:\n  - {doubt}\n", encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        read_document(path, LanguageFile)
    assert str(caught.value).startswith(f"{path}:{place}: ") and why in str(caught.value)


@pytest.mark.parametrize(
    ("written", "instead", "place", "why"),
    [
        ("{u:unit}", "{u:units}", "8:28", "there is no list or type `units`"),
        ("'{n:number} ", r"'\w{n:number} ", "8:28", r"`\w` is not for written forms"),
        ("'{n:number} ", "'a+{n:number} ", "8:28", "repeats without a bound"),
        ("'{n:number} ", "'({n:number} ", "8:28", "no regular expression: missing )"),
        ("'{n:number} {u:unit}'", "'{n:number}? ?{u:unit}?'", "8:28", "it fits where nothing stands"),
        ("{n} {u|form:n}", "some {u}", "8:28", "takes figures or letters that the template does not say"),
        ("{n} {u|form:n}", "{n} {m}", "8:28", "the template asks for `m`, which the pattern does not have"),
        ("{n} {u|form:n}", "{n|cardnal} {u}", "8:28", "there is no verb `cardnal`; did you mean `cardinal`?"),
        ("{n} {u|form:n}", "{n|pieces:unot}", "8:28", "there is no list `unot`; did you mean `unit`?"),
        ("kind: measure, match", "kind: measure, mach", "8:21", "unknown key `mach`"),
        ('decimal: "."', 'decimal: ";"', "3:20", "unknown value `;`"),
    ],
)
def test_language_file_errors_have_a_place(
    tmp_path: Path, written: str, instead: str, place: str, why: str
) -> None:
    path = tmp_path / "xx.yaml"
    path.write_text(FILE, encoding="utf-8")
    read_document(path, LanguageFile)
    assert written in FILE
    path.write_text(FILE.replace(written, instead), encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        read_document(path, LanguageFile)
    shown = str(caught.value)
    assert shown.startswith(f"{path}:{place}: "), shown
    assert why in shown


def test_find_beginnings() -> None:
    def begins(pattern: str) -> tuple[str, str]:
        return find_beginnings(check_pattern(pattern, {"unit": {"km": "", "m": ""}}, {}))

    assert begins(r"(?:a|\d)x") == ("a", "d")
    assert begins("{u:unit}") == ("km", "")
    assert begins("a?b{0,3}c") == ("abc", "")
    assert begins("(?!z){:L}")[1] == "l"
    assert begins(r"\d|\.\d{1,3}") == ("", "dp")
    assert begins(r"\.\d{0,3}|\.[a-z]") == (".", "")
    assert begins("[^x]") == ("", "dls")


def test_spell_out_follows_cldr(cldr: Cldr) -> None:
    written = cldr.spellout({"spellout-cardinal"}, {"spellout-cardinal": {"3": "three;"}}, " ")
    rules = {name: [(int(a), int(b), text) for a, b, text in result] for name, result in written.items()}
    words = [spell_out(number, rules, "%spellout-cardinal") for number in (0, 3, 21, 100, 202, 5000)]
    assert words == ["zero", "three", "twenty one", "one hundred", "two hundred and two", None]
    with pytest.raises(KeyError):
        cldr.spellout({"spellout-ordinal"}, {}, " ")


def test_cldr_names(cldr: Cldr) -> None:
    assert cldr.unit("length-meter") == {"one": "metre", "other": "metres", "gender": "masculine"}
    assert cldr.currency("EUR") == {"one": "euro", "other": "euros"}
    assert cldr.names("months") == {"jan.": "january", "jan": "january", "january": "january"}
    assert cldr.numbered() == {"1": "january", "01": "january"}


def test_cldr_refuses_other_data(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"has no CLDR data of `xx` that this version reads: .*\.$"):
        Cldr(tmp_path, "xx")


def test_obtain_unpacks_npm_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each archive is fetched once; missing files are named."""
    names = files_of("xx")

    def pack(package: str, version: str, folder: Path, log: Any) -> Path:
        assert version == "48.2.0"
        file = tmp_path / "content.json"
        file.write_text(package, encoding="utf-8")
        with tarfile.open(folder / "archive.tgz", "w:gz") as tar:
            for name in names:
                if name.startswith(f"{package}/"):
                    tar.add(file, f"package/{name.partition('/')[2]}")
        return folder / "archive.tgz"

    monkeypatch.setattr(sources.npm, "pack", pack)
    source = NpmFilesSource(kind="npm", version="48.2.0")
    for folder in ("work", "more"):
        (tmp_path / folder).mkdir()
    out = tmp_path / "out"
    with pytest.raises(BuildError, match=r"SHA-256|sha256"):
        sources.obtain(source, tmp_path / "work", dict.fromkeys(names, "0" * 64), out, tmp_path, print)
    assert [(out / name).read_text() for name in names] == [name.partition("/")[0] for name in names]
    with pytest.raises(BuildError, match=r"archive.tgz lacks a file: package/rbnf/yy.json"):
        sources.obtain(source, tmp_path / "more", {"cldr-rbnf/rbnf/yy.json": "0" * 64}, out, tmp_path, print)
