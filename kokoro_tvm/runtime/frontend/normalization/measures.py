"""Units of measure after a number: 10 km/h, -5 °C, 6'2"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import NUMBER, any_of, grouped
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["feet", "prices", "units"]

_LENGTHS = {
    "km": "kilometer", "m": "meter", "cm": "centimeter", "mm": "millimeter", "µm": "micrometer",
    "μm": "micrometer", "nm": "nanometer", "mi": "mile", "ft": "foot", "yd": "yard",
}  # fmt: skip
_UNITS = _LENGTHS | {
    "kg": "kilogram", "mg": "milligram", "µg": "microgram", "μg": "microgram", "g": "gram", "lb": "pound",
    "lbs": "pound", "oz": "ounce", "L": "liter", "l": "liter", "mL": "milliliter", "ml": "milliliter",
    "cl": "centiliter", "dl": "deciliter", "dL": "deciliter", "h": "hour", "hr": "hour", "hrs": "hour",
    "min": "minute", "mins": "minute", "sec": "second", "secs": "second", "ms": "millisecond",
    "µs": "microsecond", "μs": "microsecond", "ns": "nanosecond", "kB": "kilobyte", "KB": "kilobyte",
    "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "PB": "petabyte", "kbit": "kilobit",
    "Mbit": "megabit",
    "Gbit": "gigabit", "W": "watt", "kW": "kilowatt", "MW": "megawatt", "GW": "gigawatt", "Wh": "watt hour",
    "kWh": "kilowatt hour", "MWh": "megawatt hour", "V": "volt", "kV": "kilovolt", "mV": "millivolt",
    "mA": "milliamp", "Ah": "amp hour", "mAh": "milliamp hour", "Ω": "ohm", "\u2126": "ohm", "kΩ": "kilohm",
    "dB": "decibel", "Pa": "pascal", "kPa": "kilopascal", "hPa": "hectopascal", "J": "joule",
    "kJ": "kilojoule", "cal": "calorie", "kcal": "kilocalorie", "ha": "hectare", "kn": "knot", "px": "pixel",
    "s": "second", "N": "newton", "mol": "mole", "in": "inch",
}  # fmt: skip
# Read as they stand, whatever the number; a slash and a power do not follow.
_WHOLE = {
    "mph": ("mile per hour", "miles per hour"), "kph": ("kilometer per hour", "kilometers per hour"),
    "km/h": ("kilometer per hour", "kilometers per hour"), "fps": ("frame per second", "frames per second"),
    "kbps": ("kilobit per second", "kilobits per second"),
    "Mbps": ("megabit per second", "megabits per second"),
    "Gbps": ("gigabit per second", "gigabits per second"), "Hz": ("hertz", "hertz"),
    "kHz": ("kilohertz", "kilohertz"), "MHz": ("megahertz", "megahertz"), "GHz": ("gigahertz", "gigahertz"),
    "°C": ("degree Celsius", "degrees Celsius"), "℃": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"), "℉": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"), "‰": ("per mille", "per mille"), "¢": ("cent", "cents"),
    "sq ft": ("square foot", "square feet"), "sq mi": ("square mile", "square miles"),
    "sq km": ("square kilometer", "square kilometers"),
}  # fmt: skip
_PERIODS = "second|minute|hour|day|night|week|month|year|person|head|mile|gallon|ounce|pound|unit"
_POWERS = {"²": "square ", "³": "cubic ", "": ""}
_UNIT = re.compile(
    rf"(?<![\w.,])(?P<number>{NUMBER})(?:"
    rf"(?P<gap>\s?|-)(?:(?P<whole>{any_of(_WHOLE)})|(?P<length>{any_of(_LENGTHS)})(?P<power>[²³])"
    rf"|(?P<unit>{any_of(_UNITS)}))(?:/(?P<per>{any_of(_UNITS)})(?P<per_power>[²³])?)?"
    r"(?:(?P<dot>\.)(?= [a-z])|(?![\w²³°&]|/[^\W\d]))"
    rf"|(?P<period>/)(?={_PERIODS}\b))"
)
_PRICE = re.compile(
    rf"(?:[$£€]{NUMBER}|(?<= )(?:dollars?|euros?|pounds?|yen|rupees|cents?))"
    rf"(?P<each>/(?:(?P<unit>{any_of(_UNITS)}|mo|yr)(?!\w)|(?={_PERIODS}\b)))"
)
_FEET = re.compile(
    r"(?<![\w.,'’])(?P<feet>\d{1,4})(?:(?P<mark>['′’])"
    r"(?:\s?(?P<inches>\d{1,2}(?:\.\d)?)(?:\"|″|”|''))?|(?P<only>[\"″”]))(?![\w'’\"])"
)
_QUOTED = re.compile(r"(?<!\w)['‘]\w|[\"“”](?!\d)(?=\w)|(?<!\d)[\"”]")


def units(text: str) -> Iterator[Edit]:
    """The unit alone is put in words, one or several; its number is left to misaki's rules."""
    for match in _UNIT.finditer(text):
        if match["period"]:
            yield Edit(*match.span("period"), " per ")
        elif (spoken := _unit(match)) is not None:
            number = grouped(match["number"])
            if number != match["number"]:
                yield Edit(*match.span("number"), number)
            yield Edit(match.end("number"), match.end(), f" {spoken}")


def prices(text: str) -> Iterator[Edit]:
    """$3/kg is $3 per kilogram."""
    for match in _PRICE.finditer(text):
        unit = {"mo": "month", "yr": "year"}.get(match["unit"]) or _UNITS.get(match["unit"], "")
        yield Edit(*match.span("each"), f" per {unit}")


def feet(text: str) -> Iterator[Edit]:
    """6'2" is 6 feet 2 inches; a mark alone is a unit only where nothing is quoted in the text."""
    quoted = _QUOTED.search(text) is not None
    for match in _FEET.finditer(text):
        written = match["feet"]
        if match["only"]:
            if match["only"] == "″" or not quoted:
                yield Edit(*match.span(), f"{written} {_plural('inch', written)}")
        elif match["inches"]:
            inches = match["inches"]
            spoken = f"{written} {_plural('foot', written)} {inches} {_plural('inch', inches)}"
            yield Edit(*match.span(), spoken)
        elif match["mark"] == "′" or not quoted:
            yield Edit(*match.span(), f"{written} {_plural('foot', written)}")


def _unit(match: re.Match[str]) -> str | None:
    singular = match["number"] == "1" or match["gap"] == "-"
    if match["whole"]:
        if match["per"]:
            return None
        return _WHOLE[match["whole"]][0 if singular else 1]
    unit = match["unit"] or match["length"]
    if not match["gap"] and unit in ("s", "V", "N", "W", "h", "J", "L", "l"):
        return None  # 80s, 5W: more often something else
    if unit == "in" and match["gap"] and not match["dot"]:
        return None  # 5 in the morning
    name = _UNITS[unit]
    spoken = _POWERS[match["power"] or ""] + (name if singular else _plural(name, "2"))
    if match["per"]:
        spoken += f" per {_POWERS[match['per_power'] or '']}{_UNITS[match['per']]}"
        if match["per_power"] and match["per"] == "s":
            spoken = spoken.replace("per square second", "per second squared")
    return spoken


def _plural(name: str, number: str) -> str:
    if number == "1":
        return name
    return {"foot": "feet", "inch": "inches"}.get(name, name + "s")
