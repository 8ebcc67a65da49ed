"""Text of messages: the nearest valid word, lists of choices, shortened words, numbers, durations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

_MAX_CHOICES = 60  # that a message lists: all voices, but not all CPUs
_NEAR = 0.59  # difflib's ratio above which a word counts as a typo of another: `zen4` and `znver4` are 0.6

_MAX_BITS = 256  # of a number in a message


def hint(word: str, valid: Sequence[str]) -> str:
    """Return `; did you mean ...?`, or the list of choices if no word is near."""
    near = nearest(word, valid)
    if near is not None:
        return f"; did you mean `{near}`?"
    if not valid:
        return "; there is none to choose from"
    if len(valid) > _MAX_CHOICES:
        return f"; none of the {len(valid)} that there are is like it"
    return f"; the only one is {either(valid)}" if len(valid) == 1 else f"; it can be {either(valid)}"


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """Return the valid word most like `word`, ignoring case, or None if none is near.

    A word with one typo comes first, then difflib's ratio decides.
    """
    from difflib import SequenceMatcher  # only errors need it

    lower = word.lower()[:100]
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(lower)
    best, best_score = None, (False, _NEAR)
    for candidate in valid:
        matcher.set_seq1(candidate.lower())
        score = _has_at_most_one_typo(lower, candidate.lower()), matcher.ratio()
        if score > best_score:
            best, best_score = candidate, score
    return best


def either(words: Iterable[str]) -> str:
    """Return "`a`, `b` or `c`"."""
    quoted = [f"`{word}`" for word in words]
    if len(quoted) < 2:
        return "".join(quoted) or "nothing"
    return ", ".join(quoted[:-1]) + " or " + quoted[-1]


def shorten(word: str) -> str:
    """Return at most 40 characters of a word, all printable, to quote in a message."""
    word = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in word[:41])
    return truncate(word)


def truncate(text: str, most: int = 40) -> str:
    """Return the first `most` characters of a text, and "…" if there are more."""
    return text if len(text) <= most else f"{text[:most]}…"


def _has_at_most_one_typo(left: str, right: str) -> bool:
    """Return whether at most one letter is added, dropped, replaced or swapped with its neighbour."""
    start = _count_equal(left, right)
    left, right = left[start:], right[start:]
    end = _count_equal(left[::-1], right[::-1])
    left, right = left[: len(left) - end], right[: len(right) - end]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def _count_equal(left: str, right: str) -> int:
    """Count the letters with which both words begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def shorten_path(path: Path) -> Path:
    """Return a path relative to the working directory if it is below that."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def format_number(value: object) -> str:
    """Return a value for a message; for a huge whole number, its length."""
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"one of {value.bit_length()} bits"
    return repr(value)


def round_number(value: float) -> str:
    """Return a number with one decimal, or three digits if it is below 1: 91.4, 88, 0.0123."""
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 1 else f"{value:.3g}"


def format_seconds(seconds: float) -> str:
    """Return a duration: 0.4 s, 32 s, 3 min 50 s, 1 h 02 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
