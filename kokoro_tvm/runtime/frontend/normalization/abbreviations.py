"""Words in short: titles before names, parts of books before numbers, and the usual others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import any_of, rewrite
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["others", "titles"]

_TITLES = {
    "Prof": "Professor", "Gen": "General", "Col": "Colonel", "Sgt": "Sergeant", "Lt": "Lieutenant",
    "Capt": "Captain", "Maj": "Major", "Sen": "Senator", "Rep": "Representative", "Gov": "Governor",
    "Rev": "Reverend", "Hon": "Honorable", "Cpl": "Corporal", "Cmdr": "Commander", "Adm": "Admiral",
    "Pres": "President", "Supt": "Superintendent", "Mt": "Mount", "Ft": "Fort",
}  # fmt: skip
_NUMBERED = {
    "p": "page", "pp": "pages", "fig": "figure", "figs": "figures", "vol": "volume", "vols": "volumes",
    "ch": "chapter", "chap": "chapter", "sec": "section", "art": "article", "eq": "equation",
    "eqs": "equations", "nos": "numbers", "tel": "telephone", "ext": "extension", "ca": "circa",
    "c": "circa", "op": "opus", "pt": "part", "app": "appendix",
}  # fmt: skip
_WORDS = {
    "e.g": "for example", "i.e": "that is", "approx": "approximately", "dept": "department",
    "govt": "government", "cf": "compare", "incl": "including", "excl": "excluding", "est": "established",
}  # fmt: skip
_NAMED = {"Inc": "Incorporated", "Ltd": "Limited", "Corp": "Corporation", "Jr": "Junior", "Sr": "Senior",
          "Bros": "Brothers"}  # fmt: skip
_TITLE = re.compile(rf"(?<!\w)(?P<short>{any_of(_TITLES)})\.(?= [A-Z])")
_OTHER = re.compile(
    rf"(?<![\w.])(?:(?P<numbered>{any_of(_NUMBERED)})\. ?(?=\d|[IVX]+\b)"
    rf"|(?P<word>{any_of(_WORDS)})\.(?!\w)"
    r"|(?P<without>w/o\b)|(?P<with>w/(?=\s)))",
    re.IGNORECASE,
)
# What a pattern takes for the letters s and i where upper and lower case are alike.
_ALIKE = str.maketrans({"ſ": "s", "ı": "i", "\u0307": None})
_NAME = re.compile(rf"(?<=[\w,] )(?P<short>{any_of(_NAMED)})\.(?!\w)(?P<ends>$|(?= [A-Z]))?")


def titles(text: str) -> Iterator[Edit]:
    """Prof. Hall is Professor Hall, Smith Jr. is Smith Junior; Mr. and Dr. are left to misaki's rules."""
    found = [
        *rewrite(_TITLE, text, lambda match: _TITLES[match["short"]]),
        *rewrite(_NAME, text, _name),
    ]
    return iter(sorted(found, key=lambda edit: edit.start))


def others(text: str) -> Iterator[Edit]:
    """Fig. 3 is figure 3, e.g. is for example; etc. and vs. are left to misaki's rules."""
    return rewrite(_OTHER, text, _other)


def _name(match: re.Match[str]) -> str:
    return _NAMED[match["short"]] + ("." if match.end() == len(match.string) else "")


def _other(match: re.Match[str]) -> str:
    if match["with"] or match["without"]:
        return "with" if match["with"] else "without"
    if match["numbered"]:
        return _cased(_NUMBERED[_plain(match["numbered"])], match[0]) + " "
    ends = "." if match.end() == len(match.string) else ""
    return _cased(_WORDS[_plain(match["word"])], match[0]) + ends


def _plain(written: str) -> str:
    return written.lower().translate(_ALIKE)


def _cased(word: str, written: str) -> str:
    return word.capitalize() if written[0].isupper() else word
