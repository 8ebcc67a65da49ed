"""Powers, operators, arrows and the other signs that are words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import any_of, rewrite
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["powers", "signs"]

_OPENING = "(\"“‘'[" + "−√∑∫∂≈"  # a sign has its own space behind it
_CLOSING = ".,;:!?)]}…\"”'’"
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_POWER = re.compile(
    rf"(?P<base>(?<!\w)(?:[A-Za-zα-ω]|\d{{1,15}})|\))"
    rf"(?P<power>(?P<sign>⁻)?(?P<raised>[{_RAISED}]{{1,9}})|\^(?P<to>[-−]?(?:\d{{1,9}}|[a-z](?!\w))))(?!\w)"
    r"|(?P<formula>(?<![\w])[A-Z]{2,4})(?=[₀-₉])"
)
_SIGNS = {
    "==": "equals", "!=": "does not equal", "×": "times",
    "÷": "divided by", "±": "plus or minus", "=": "equals", "≠": "does not equal",
    "≈": "is about", "≤": "is less than or equal to", "≥": "is greater than or equal to", "∞": "infinity",
    "√": "the square root of", "∑": "the sum of", "∈": "is in", "→": "to", "←": "from", "↔": "to and from",
    "⇒": "implies", "⇔": "is equivalent to", "©": "copyright", "®": "registered", "™": "trademark",
    "§": "section", "¶": "paragraph", "∆": "delta", "∫": "the integral of", "∂": "partial", "·": "times",
    "↑": "up", "↓": "down", "−": "minus", "‰": "per mille",
}  # fmt: skip
_SIGN = re.compile(
    rf"(?P<by>(?<=\d)(?<![^\d.,]0)(?<!^0)(?:[x×]| x )(?=\d))|(?P<times>(?<=\d)[x×](?!\w))"
    r"|(?P<heart>(?<!\S)<3(?![^\s.,!?]))"
    rf"|(?P<compared>(?:(?<=\w )|(?<!\S))(?P<less>[<>]=?)(?= ?[\w.$£€]))"
    rf"|(?P<star>(?<=\d) ?\* ?(?=\d))"
    rf"|(?P<paragraphs>§§)|(?P<sign>{any_of(_SIGNS)})"
    r"|(?P<greek>(?<![\w\u0370-\u03ff])[Α-ΡΣ-Ωα-ω](?![\w\u0370-\u03ff]))"
)
_LESS = {
    "<": "less than", ">": "greater than", "<=": "less than or equal to", ">=": "greater than or equal to"
}  # fmt: skip


def powers(text: str) -> Iterator[Edit]:
    """x² is x squared, 10^5 is 10 to the power of 5, CO₂ is C O 2."""
    for match in _POWER.finditer(text):
        if match["formula"]:
            yield Edit(*match.span("formula"), " ".join(match["formula"]) + " ")
        else:
            yield Edit(*match.span("power"), _power(match))


def signs(text: str) -> Iterator[Edit]:
    """5 × 3 is 5 times 3, 4×4 is 4 by 4, A → B is A to B, π is pi."""
    return rewrite(_SIGN, text, lambda match: _spaced(match, _sign(match)))


def _power(match: re.Match[str]) -> str:
    if match["to"]:
        power = match["to"].replace("−", "-")
    else:
        power = ("-" if match["sign"] else "") + "".join(str(unicodedata.digit(c)) for c in match["raised"])
    if power in ("2", "3"):
        return " squared" if power == "2" else " cubed"
    return f" to the power of {power.replace('-', 'minus ')}"


def _sign(match: re.Match[str]) -> str:
    if match["heart"]:
        return "heart"
    if match["by"]:
        return "times" if match.string.startswith("10 to the power", match.end()) else "by"
    if match["times"] or match["star"]:
        return "times"
    if match["compared"]:
        is_ = "is " if match.start() and not match.string.endswith(" is ", 0, match.start()) else ""
        return is_ + _LESS[match["less"]]
    if match["sign"] == "≈" and match.start() == 0:
        return "about"
    if match["greek"]:
        return unicodedata.name(match["greek"]).rpartition(" ")[2].lower()
    return "sections" if match["paragraphs"] else _SIGNS[match["sign"]]


def _spaced(match: re.Match[str], words: str) -> str:
    """With a space to its neighbours, where there is none."""
    text = match.string
    before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
    lead = " " if before and not before.isspace() and before not in _OPENING else ""
    return lead + words + ("" if not after or after.isspace() or after in _CLOSING else " ")
