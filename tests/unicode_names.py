"""Writes frontend/names.js of the page: names that Python's standard library has and JavaScript's has not."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from html.entities import html5

from kokoro_tvm.javascript import WEB
from kokoro_tvm.runtime.text.frontend.pictures import PICTURE

__all__ = ["FILE", "text"]

FILE = WEB / "frontend" / "names.js"
_HEAD = """/**
 * Names that Python's standard library has and JavaScript's has not; tests/unicode_names.py writes them.
 *
 * References of HTML to their characters; code points in hexadecimal to the names of the pictures from there
 * on, in small letters, as Unicode {version} has them.
 */

"""
_TAIL = """
const NAMES = new Map(
  Object.entries(PICTURES).flatMap(([first, names]) =>
    names.split("|").map((name, place) => [String.fromCodePoint(parseInt(first, 16) + place), name]),
  ),
);

/** The name of a picture; "" for one that has none. @param {string} picture */
export const nameOf = (picture) => NAMES.get(picture) ?? "";
"""


def text() -> str:
    """The file, by the tables of this Python."""
    return "".join(
        (
            _HEAD.format(version=unicodedata.unidata_version),
            f"export const ENTITIES = new Map(Object.entries({_object(html5)}));\n\n",
            f"const PICTURES = {_object(dict(_runs()))};\n",
            _TAIL,
        )
    )


def _object(entries: dict[str, str]) -> str:
    lines = (f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in entries.items())
    return "{\n" + "".join(lines) + "}"


def _runs() -> Iterator[tuple[str, str]]:
    """Pictures that follow each other: the first, and their names."""
    named: list[str] = []
    for code in range(0x2000, 0x20000):
        name = unicodedata.name(chr(code), "").lower() if re.match(PICTURE, chr(code)) else ""
        if name:
            named.append(name)
        elif named:
            yield f"{code - len(named):x}", "|".join(named)
            named = []


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
