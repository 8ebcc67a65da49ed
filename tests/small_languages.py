"""Languages of a few rules, for tests of what chooses among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules

NUMBERS = {
    "decimal": ".",
    "decimals": "figures",
    "point": "point",
    "joint": " ",
    "singular": "1",
    "figures": [],
}
DIGITS = [[digit, 10, word] for digit, word in enumerate(("zero", "one", "two", "three", "four"))]


def rules(*written: tuple[str, str, str], doubts: tuple[Mapping[str, Any], ...] = ()) -> LanguageRules:
    """Return a language with rules (kind, pattern, template)."""
    lines = [
        {"kind": kind, "pattern": pattern, "say": say, "types": {}, "begins": "ld", "where": "word"}
        for kind, pattern, say in written
    ]
    return LanguageRules(
        {
            "lists": {},
            "types": {},
            "signs": {},
            "letters": "A-Za-z",
            "replacements": {},
            "rules": lines,
            "doubts": doubts,
            "numbers": NUMBERS,
            "spellout": {"sets": {"cardinal": DIGITS}, "names": {"cardinal": "cardinal"}},
        }
    )
