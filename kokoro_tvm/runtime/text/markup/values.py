"""Values that markup gives: times, factors, phonemes. InputError says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.notices import quoted
from kokoro_tvm.runtime.prosody import FACTORS, LONGEST_PAUSE

__all__ = [
    "RATES",
    "check_symbols",
    "convert_ipa",
    "list_symbols",
    "locate_errors",
    "parse_duration",
    "pitch",
    "rate",
]

_TIME = re.compile(r"\+?(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*(s|ms)", re.IGNORECASE | re.ASCII)
_FACTOR = re.compile(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(%?)", re.ASCII)
_CHANGE = re.compile(r"([-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))(%|st)", re.ASCII)
# The factors that Azure's documentation gives for these names.
RATES = {"x-slow": 0.5, "slow": 0.64, "medium": 1.0, "default": 1.0, "fast": 1.55, "x-fast": 2.0}
_PITCHES = {"x-low": 0.55, "low": 0.8, "medium": 1.0, "default": 1.0, "high": 1.2, "x-high": 1.45}

_IPA = (
    ("\u0361", ""), ("\u035c", ""), ("tʃ", "ʧ"), ("dʒ", "ʤ"), ("g", "ɡ"), ("'", "ˈ"), (".", ""), ("‿", ""),
)  # fmt: skip
_IPA_ENGLISH = (
    ("eɪ", "A"), ("aɪ", "I"), ("aʊ", "W"), ("oʊ", "O"), ("ɔɪ", "Y"), ("ɚ", "əɹ"), ("r", "ɹ"),
)  # fmt: skip
_IPA_BRITISH = (("əʊ", "Q"),)
_IPA_AMERICAN = (("əʊ", "O"), ("ɝː", "ɜɹ"), ("ɝ", "ɜɹ"), ("ɜːɹ", "ɜɹ"), ("ɜː", "ɜɹ"), ("ː", ""))
_IPA_OTHERS = (("ts", "ʦ"), ("dz", "ʣ"))


@contextmanager
def locate_errors(line: int, column: int) -> Iterator[None]:
    """Errors within name the place in the text."""
    try:
        yield
    except InputError as error:
        raise InputError(f"The text has a mistake in line {line}, column {column}: {error}") from error


def parse_duration(value: str, example: str) -> float:
    """A time such as "0.5s" or "500ms" in seconds; `example` is how to write one."""
    found = _TIME.fullmatch(value.strip())
    if found is None:
        raise InputError(f"{quoted(value)} is no length of a pause. Write {example}.")
    result = float(found[1]) / (1000 if found[2].lower() == "ms" else 1)
    if result > LONGEST_PAUSE:
        raise InputError(f"A pause of {quoted(value)} is too long; {LONGEST_PAUSE} s is the longest.")
    return result


def rate(value: str) -> float:
    """A factor on the speed: "1.2", "120%", "+20%", or a name of SSML."""
    value = value.strip()
    if value in RATES:
        return RATES[value]
    if found := _FACTOR.fullmatch(value):
        return _limited(float(found[1]) / (100 if found[2] else 1), "speed", value)
    if (change := _CHANGE.fullmatch(value)) and change[2] == "%":
        return _limited(1 + float(change[1]) / 100, "speed", value)
    raise InputError(f"{quoted(value)} is no speed. Write a factor or a percentage, 1.2 or 120%.")


def pitch(value: str, around: float) -> float | None:
    """A factor on the pitch: a name of SSML, or a change of the one `around`, "+10%" or "-2st".

    None for what cannot be done, a pitch in Hz.
    """
    value = value.strip()
    if value in _PITCHES:
        return _PITCHES[value]
    if change := _CHANGE.fullmatch(value):
        number = float(change[1])
        factor = 1 + number / 100 if change[2] == "%" else 2.0 ** (min(max(number, -99), 99) / 12)
        return _limited(around * factor, "pitch", value)
    if re.fullmatch(r"[-+]?[\d.]+\s*hz", value.lower(), re.ASCII):
        return None
    raise InputError(
        f"{quoted(value)} is no pitch. Write a change such as +10% or -2st, or a name such as high."
    )


def check_symbols(phonemes: str, symbols: Collection[str]) -> str:
    """The phonemes, with one space for all whitespace; all of them are among the symbols."""
    phonemes = " ".join(phonemes.split())
    if unknown := list_symbols(symbol for symbol in phonemes if symbol not in symbols and symbol != " "):
        raise InputError(
            f"The model does not know these phonemes of {quoted(phonemes)}: {unknown}. Write them in "
            "misaki's alphabet. `kokoro-tvm phonemize` shows it for other words."
        )
    return phonemes


def list_symbols(symbols: Iterable[str]) -> str:
    """The first eight of some symbols as a message lists them; "" where there is none."""
    return ", ".join(f"{symbol!r} (U+{ord(symbol):04X})" for symbol in sorted(set(symbols))[:8])


def convert_ipa(phonemes: str, code: str) -> str:
    """Phonemes of the International Phonetic Alphabet in the one that the voices of a language know.

    Where both are the same, nothing changes; marks of syllables are left out.
    """
    own = {"a": (*_IPA_ENGLISH, *_IPA_AMERICAN), "b": (*_IPA_ENGLISH, *_IPA_BRITISH)}.get(code, _IPA_OTHERS)
    for symbols, ours in (*_IPA, *own):
        phonemes = phonemes.replace(symbols, ours)
    return phonemes


def _limited(factor: float, what: str, value: str) -> float:
    low, high = FACTORS
    if not low <= factor <= high:
        raise InputError(f"{quoted(value)} is no {what}: the factor should lie within {low} and {high}.")
    return factor
