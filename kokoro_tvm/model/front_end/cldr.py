"""Data of Unicode CLDR: spellout rules, and names of units, currencies, months and days.

CLDR (https://cldr.unicode.org) is under the Unicode License v3. Babel has no spellout rules (RBNF), so the
JSON packages of npm are read.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import BuildError

_BASE = re.compile(r"(\d+)(?:/(\d+))?")
_FORMS = ("one", "other")


def files_of(language: str) -> tuple[str, ...]:
    """Return the paths of a language's files, each behind the name of its npm package."""
    return (
        f"cldr-rbnf/rbnf/{language}.json",
        f"cldr-numbers-full/main/{language}/currencies.json",
        f"cldr-units-full/main/{language}/units.json",
        f"cldr-dates-full/main/{language}/ca-gregorian.json",
    )


class Cldr:
    """Data of one language."""

    def __init__(self, folder: Path, language: str) -> None:
        """Read the files in a folder.

        Raises:
            BuildError: A file is missing or has another form.
        """
        try:
            rbnf, currencies, units, dates = (
                json.loads((folder / name).read_text(encoding="utf-8")) for name in files_of(language)
            )
            rules = rbnf["rbnf"]["rbnf"]
            self._rules = {
                name: rule_set
                for name, rule_set in rules.get("SpelloutRules", rules).items()
                if name.startswith("%")
            }
            self._currencies = currencies["main"][language]["numbers"]["currencies"]
            self._units = units["main"][language]["units"]["long"]
            self._dates = dates["main"][language]["dates"]["calendars"]["gregorian"]
        except (OSError, ValueError, KeyError) as error:
            raise BuildError(
                f"{folder} has no CLDR data of `{language}` that this version reads: {error!r}."
            ) from error

    def unit(self, name: str) -> dict[str, str]:
        """Return the plural forms and the gender of a unit, as far as CLDR has them. Raises KeyError."""
        unit = self._units[name]
        forms = {form: unit.get(f"unitPattern-count-{form}", "") for form in _FORMS}
        forms["gender"] = unit.get("gender", "")
        return {form: words.replace("{0}", "").strip() for form, words in forms.items() if words}

    def currency(self, code: str) -> dict[str, str]:
        """Return the plural forms of a currency."""
        currency = self._currencies[code]
        return {form: currency.get(f"displayName-count-{form}", currency["displayName"]) for form in _FORMS}

    def names(self, of: str) -> dict[str, str]:
        """Return the names of "months" or "days" by name and by short form, with and without a point."""
        names_by_form: dict[str, str] = {}
        for context in ("stand-alone", "format"):
            for width in ("abbreviated", "wide"):
                for key, short in self._dates[of][context][width].items():
                    name = self._dates[of]["format"]["wide"][key]
                    names_by_form |= {short: name, short.rstrip("."): name}
                    if width == "abbreviated" and short != name:
                        names_by_form[short.rstrip(".") + "."] = name
        return names_by_form

    def numbered(self) -> dict[str, str]:
        """Return the months by number, with and without a leading zero."""
        names = self._dates["months"]["format"]["wide"]
        return {key.zfill(width): name for key, name in names.items() for width in (1, 2)}

    def spellout(self, names: set[str], more: dict[str, dict[str, str]], hyphen: str) -> dict[str, Any]:
        """Return rule sets, and those that they use, as `normalization.spellout` reads them.

        Args:
            names: Of the rule sets.
            more: Additional rules by set and least number.
            hyphen: Replacement of the hyphen.

        Raises:
            KeyError: There is no set of a name.
        """
        sets: dict[str, Any] = {}
        queue = sorted(f"%{name}" for name in names)
        while queue:
            name = queue.pop()
            if name in sets:
                continue
            rules = {base: text for base, text in self._rules.get(name, ()) if _BASE.fullmatch(base)}
            rules |= more.get(name.removeprefix("%"), {})
            if not rules:
                raise KeyError(name)
            ordered = sorted(_rule(base, text, hyphen) for base, text in rules.items())
            # As text: large numbers are not exact for every JSON reader.
            sets[name] = [(str(least), str(divisor), text) for least, divisor, text in ordered]
            for _, _, text in ordered:
                queue += re.findall(r"%%?[\w-]+", text)
        return sets


def _rule(base: str, text: str, hyphen: str) -> tuple[int, int, str]:
    """Parse a rule of CLDR: least number, divisor, and text with `hyphen` in place of hyphens."""
    match = _BASE.fullmatch(base)
    assert match is not None
    least, radix = int(match[1]), int(match[2] or 10)
    divisor = 1
    while divisor * radix <= least:
        divisor *= radix
    words = text.removesuffix(";").removeprefix("'").replace("\u00ad", "")
    parts = re.split(r"(%%?[\w-]+)", words)  # keep hyphens of set names
    return (
        least,
        divisor,
        "".join(part if part.startswith("%") else part.replace("-", hyphen) for part in parts),
    )
