"""Money that misaki reads wrong: other currencies, scales in short, ranges, debts, signs behind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import NUMBER, any_of, grouped, rewrite
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["after", "amounts"]

# Sign or code -> one, several.
_CURRENCIES = {
    "$": ("dollar", "dollars"), "£": ("pound", "pounds"), "€": ("euro", "euros"), "¥": ("yen", "yen"),
    "₹": ("rupee", "rupees"), "₽": ("ruble", "rubles"), "₩": ("won", "won"), "₺": ("lira", "lira"),
    "₪": ("shekel", "shekels"), "₴": ("hryvnia", "hryvnias"), "₦": ("naira", "naira"), "₫": ("dong", "dong"),
    "฿": ("baht", "baht"), "₱": ("peso", "pesos"), "₿": ("bitcoin", "bitcoins"),
    "US$": ("U.S. dollar", "U.S. dollars"), "A$": ("Australian dollar", "Australian dollars"),
    "AU$": ("Australian dollar", "Australian dollars"), "C$": ("Canadian dollar", "Canadian dollars"),
    "CA$": ("Canadian dollar", "Canadian dollars"), "NZ$": ("New Zealand dollar", "New Zealand dollars"),
    "HK$": ("Hong Kong dollar", "Hong Kong dollars"), "R$": ("real", "reais"),
    "USD": ("U.S. dollar", "U.S. dollars"), "EUR": ("euro", "euros"), "GBP": ("pound", "pounds"),
    "JPY": ("yen", "yen"), "CNY": ("yuan", "yuan"), "INR": ("rupee", "rupees"),
    "CHF": ("Swiss franc", "Swiss francs"), "CAD": ("Canadian dollar", "Canadian dollars"),
    "AUD": ("Australian dollar", "Australian dollars"),
}  # fmt: skip
_READ = frozenset("$£€")  # signs that `figures.py` reads, cents and all
_SCALES = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million", "MM": "million",
    "bn": "billion", "B": "billion", "b": "billion", "tn": "trillion", "T": "trillion",
}  # fmt: skip
_NAMED = "thousand|million|billion|trillion"
_SCALE = rf"(?:\s?(?P<short>{any_of(_SCALES)})(?!\w)|[ -](?P<named>{_NAMED})(?!\w))?"
_BEFORE = re.compile(
    rf"(?<![\w$£€])(?P<minus>[-−])?(?P<sign>{any_of(_CURRENCIES)}) ?(?P<debt>[-−])?(?P<number>{NUMBER})"
    rf"(?:(?P<first>{any_of(_SCALES)})?\s?[–-]\s?(?P<again>{any_of(_CURRENCIES)})?(?P<until>{NUMBER}))?{_SCALE}(?![\d%])"
)
_AFTER = re.compile(
    rf"(?<![\w.,$£€])(?P<number>{NUMBER}|\d{{1,9}},\d\d){_SCALE}\s?"
    rf"(?P<sign>{any_of(sign for sign in _CURRENCIES if '$' not in sign or len(sign) == 1)})(?![\w])(?!\s?\d)"
)


def amounts(text: str) -> Iterator[Edit]:
    """$1.2M is 1.2 million dollars, $5-10 is 5 to 10 dollars; $2.50 is left to misaki's rule."""
    return rewrite(_BEFORE, text, _amount)


def after(text: str) -> Iterator[Edit]:
    """5 € is 5 euros, 5,50 € is written €5.50, which is read."""

    def amount(match: re.Match[str]) -> str:
        number, sign = match["number"], match["sign"]
        if re.fullmatch(r"\d+,\d\d", number):
            number = number.replace(",", ".")
        scale = match["named"] or _SCALES.get(match["short"] or "", "")
        if re.search(r"\.\d\d$", number) and sign in _READ and not scale:
            return sign + number
        return _spoken(number, "", scale, sign)

    return rewrite(_AFTER, text, amount)


def _amount(match: re.Match[str]) -> str | None:
    sign, minus = match["sign"], "minus " if match["minus"] or match["debt"] else ""
    scale = match["named"] or _SCALES.get(match["short"] or "", "")
    if sign in _READ and not match["until"] and not match["short"]:
        return f"minus {sign}{match[0].lstrip('-−' + sign + ' ')}" if minus else None
    if match["until"] and sign in _READ and "." in match["number"] + match["until"] and not scale:
        return f"{minus}{sign}{match['number']} to {sign}{match['until']}"
    spoken = _spoken(match["number"], match["until"] or "", scale, sign)
    first = _SCALES.get(match["first"] or "", "")
    return minus + (spoken.replace(" to ", f" {first} to ", 1) if first else spoken)


def _spoken(number: str, until: str, scale: str, sign: str) -> str:
    one, several = _CURRENCIES[sign]
    last = f" to {grouped(until)}" if until else ""
    unit = one if number == "1" and not until and not scale else several
    return f"{grouped(number)}{last}{' ' + scale if scale else ''} {unit}"
