"""What is read of Unicode CLDR (https://cldr.unicode.org, Unicode License v3): spellout rules, names of
units, currencies, months and days."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import BuildError

__all__ = ["Cldr", "files_of"]

_BASE = re.compile(r"(\d+)(?:/(\d+))?")
_FORMS = ("one", "other")


def files_of(language: str) -> tuple[str, ...]:
    """Files of the packages that are read for a language, each behind the name of its package."""
    return (
        f"cldr-rbnf/rbnf/{language}.json",
        f"cldr-numbers-full/main/{language}/currencies.json",
        f"cldr-units-full/main/{language}/units.json",
        f"cldr-dates-full/main/{language}/ca-gregorian.json",
    )


class Cldr:
    """The data of one language, from a folder with its files."""

    def __init__(self, folder: Path, language: str) -> None:
        """Raises BuildError where a file is missing or of another form."""
        try:
            rbnf, currencies, units, dates = (
                json.loads((folder / name).read_text(encoding="utf-8")) for name in files_of(language)
            )
            rules = rbnf["rbnf"]["rbnf"]
            self._rules = {n: r for n, r in rules.get("SpelloutRules", rules).items() if n.startswith("%")}
            self._currencies = currencies["main"][language]["numbers"]["currencies"]
            self._units = units["main"][language]["units"]["long"]
            self._dates = dates["main"][language]["dates"]["calendars"]["gregorian"]
        except (OSError, ValueError, KeyError) as error:
            raise BuildError(
                f"{folder} has no CLDR data of `{language}` that this version reads: {error!r}."
            ) from error

    def unit(self, name: str) -> dict[str, str]:
        """Its forms and its gender. Raises KeyError."""
        unit = self._units[name]
        found = {form: unit.get(f"unitPattern-count-{form}", "") for form in _FORMS}
        found["gender"] = unit.get("gender", "")
        return {form: words.replace("{0}", "").strip() for form, words in found.items() if words}

    def currency(self, code: str) -> dict[str, str]:
        """Its forms. Raises KeyError."""
        currency = self._currencies[code]
        return {form: currency.get(f"displayName-count-{form}", currency["displayName"]) for form in _FORMS}

    def names(self, of: str) -> dict[str, str]:
        """Names of the "months" or "days", by themselves and by their short forms, with a point or not."""
        found: dict[str, str] = {}
        for context in ("stand-alone", "format"):
            for width in ("abbreviated", "wide"):
                for key, short in self._dates[of][context][width].items():
                    name = self._dates[of]["format"]["wide"][key]
                    found |= {short: name, short.rstrip("."): name}
                    if width == "abbreviated" and short != name:
                        found[short.rstrip(".") + "."] = name
        return found

    def numbered(self) -> dict[str, str]:
        """Months by their numbers, with and without a leading zero."""
        names = self._dates["months"]["format"]["wide"]
        return {key.zfill(width): name for key, name in names.items() for width in (1, 2)}

    def spellout(self, names: set[str], more: dict[str, dict[str, str]], hyphen: str) -> dict[str, Any]:
        """The sets of rules of these names and those they use, as `normalization.spellout` reads them.

        more: rules added, by set and least number; hyphen: what stands in its place.

        Raises KeyError for a name that is none.
        """
        found: dict[str, Any] = {}
        waiting = sorted(f"%{name}" for name in names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            rules = {base: text for base, text in self._rules.get(name, ()) if _BASE.fullmatch(base)}
            rules |= more.get(name.removeprefix("%"), {})
            if not rules:
                raise KeyError(name)
            ordered = sorted(_rule(base, text, hyphen) for base, text in rules.items())
            # As text, because numbers of JSON are not exact there for every reader.
            found[name] = [(str(least), str(divisor), text) for least, divisor, text in ordered]
            for _, _, text in ordered:
                waiting += re.findall(r"%%?[\w-]+", text)
        return found


def _rule(base: str, text: str, hyphen: str) -> tuple[int, int, str]:
    match = _BASE.fullmatch(base)
    assert match is not None
    least, radix = int(match[1]), int(match[2] or 10)
    divisor = 1
    while divisor * radix <= least:
        divisor *= radix
    words = text.removesuffix(";").removeprefix("'").replace("\u00ad", "")
    parts = re.split(r"(%%?[\w-]+)", words)  # names of sets keep their hyphens
    return least, divisor, "".join(p if p.startswith("%") else p.replace("-", hyphen) for p in parts)
