"""Values in markup: times, factors, phonemes. InputError says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.notices import quoted
from kokoro_tvm.runtime.prosody import FACTORS, LONGEST_PAUSE

_TIME = re.compile(r"\+?(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*(s|ms)", re.IGNORECASE | re.ASCII)
_FACTOR = re.compile(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(%?)", re.ASCII)
_HERTZ = re.compile(r"[-+]?[\d.]+\s*hz", re.ASCII)
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
    """Add the place in the text to the InputErrors of a block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"The text has a mistake in line {line}, column {column}: {error}") from error


def parse_duration(value: str, example: str) -> float:
    """Parse a time such as "0.5s" or "500ms" to seconds; errors show `example`."""
    match = _TIME.fullmatch(value.strip())
    if match is None:
        raise InputError(f"{quoted(value)} is no length of a pause. Write {example}.")
    result = float(match[1]) / (1000 if match[2].lower() == "ms" else 1)
    if result > LONGEST_PAUSE:
        raise InputError(f"A pause of {quoted(value)} is too long; {LONGEST_PAUSE} s is the longest.")
    return result


def parse_rate(value: str) -> float:
    """Parse a factor on the speed: "1.2", "120%", "+20%", or a name of SSML."""
    value = value.strip()
    if value in RATES:
        return RATES[value]
    if factor := _FACTOR.fullmatch(value):
        return _check_limits(float(factor[1]) / (100 if factor[2] else 1), "speed", value)
    if (change := _CHANGE.fullmatch(value)) and change[2] == "%":
        return _check_limits(1 + float(change[1]) / 100, "speed", value)
    raise InputError(f"{quoted(value)} is no speed. Write a factor or a percentage, 1.2 or 120%.")


def parse_pitch(value: str, around: float) -> float | None:
    """Parse a factor on the pitch: a name of SSML, or a change of `around`, "+10%" or "-2st".

    Returns:
        None for a pitch in Hz, which is not supported.
    """
    value = value.strip()
    if value in _PITCHES:
        return _PITCHES[value]
    if change := _CHANGE.fullmatch(value):
        number = float(change[1])
        factor = 1 + number / 100 if change[2] == "%" else 2.0 ** (min(max(number, -99), 99) / 12)
        return _check_limits(around * factor, "pitch", value)
    if _HERTZ.fullmatch(value.lower()):
        return None
    raise InputError(
        f"{quoted(value)} is no pitch. Write a change such as +10% or -2st, or a name such as high."
    )


def check_symbols(phonemes: str, symbols: Collection[str]) -> str:
    """Return the phonemes with single spaces.

    Raises:
        InputError: One is not among `symbols`.
    """
    phonemes = " ".join(phonemes.split())
    if unknown := list_symbols(symbol for symbol in phonemes if symbol not in symbols and symbol != " "):
        raise InputError(
            f"The model does not know these phonemes of {quoted(phonemes)}: {unknown}. Write them in "
            "misaki's alphabet. `kokoro-tvm phonemize` shows it for other words."
        )
    return phonemes


def list_symbols(symbols: Iterable[str]) -> str:
    """Return the first eight symbols for a message; "" if there is none."""
    return ", ".join(f"{symbol!r} (U+{ord(symbol):04X})" for symbol in sorted(set(symbols))[:8])


def convert_ipa(phonemes: str, code: str) -> str:
    """Convert the International Phonetic Alphabet to the alphabet of a language's voices.

    Symbols that are in both stay, syllable marks are dropped.
    """
    variant = {"a": (*_IPA_ENGLISH, *_IPA_AMERICAN), "b": (*_IPA_ENGLISH, *_IPA_BRITISH)}.get(
        code, _IPA_OTHERS
    )
    for symbols, replacement in (*_IPA, *variant):
        phonemes = phonemes.replace(symbols, replacement)
    return phonemes


def _check_limits(factor: float, what: str, value: str) -> float:
    low, high = FACTORS
    if not low <= factor <= high:
        raise InputError(f"{quoted(value)} is no {what}: the factor should lie within {low} and {high}.")
    return factor
