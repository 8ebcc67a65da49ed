"""Words in messages: the nearest valid one, a list of choices, what fits on a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

__all__ = ["as_typed", "either", "hint", "nearest", "shorten", "show_number", "shown_seconds", "truncate"]

_LISTED = 60  # choices at most that a message lists: all voices, but not all CPUs
_NEAR = 0.59  # difflib's ratio above which two words count as one with a typo: `zen4` and `znver4` are 0.6

_LONGEST_BITS = 256  # of a number that is shown


def hint(word: str, valid: Sequence[str]) -> str:
    """`; did you mean ...?`, or all there is to choose from when nothing is near."""
    near = nearest(word, valid)
    if near is not None:
        return f"; did you mean `{near}`?"
    if not valid:
        return "; there is none to choose from"
    if len(valid) > _LISTED:
        return f"; none of the {len(valid)} that there are is like it"
    return f"; the only one is {either(valid)}" if len(valid) == 1 else f"; it can be {either(valid)}"


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """The valid word most like `word`, upper and lower case being alike; None when none is near.

    A word one slip of the finger away comes first, then difflib's ratio decides.
    """
    from difflib import SequenceMatcher  # for an error alone

    wanted = word.lower()[:100]
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    best, best_score = None, (False, _NEAR)
    for candidate in valid:
        matcher.set_seq1(candidate.lower())
        score = _one_slip(wanted, candidate.lower()), matcher.ratio()
        if score > best_score:
            best, best_score = candidate, score
    return best


def either(words: Iterable[str]) -> str:
    """`a`, `b` or `c`."""
    quoted = [f"`{word}`" for word in words]
    if len(quoted) < 2:
        return "".join(quoted) or "nothing"
    return ", ".join(quoted[:-1]) + " or " + quoted[-1]


def shorten(word: str) -> str:
    """The word on one line, at most 40 characters of it: what a message can quote."""
    word = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in word[:41])
    return truncate(word)


def truncate(text: str, most: int = 40) -> str:
    """Return the first `most` characters of a text, and "…" if there are more."""
    return text if len(text) <= most else f"{text[:most]}…"


def _one_slip(left: str, right: str) -> bool:
    """Whether one letter added, dropped, replaced or swapped with its neighbour makes one word the other."""
    start = _alike(left, right)
    left, right = left[start:], right[start:]
    end = _alike(left[::-1], right[::-1])
    left, right = left[: len(left) - end], right[: len(right) - end]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def _alike(left: str, right: str) -> int:
    """How many letters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def as_typed(path: Path) -> Path:
    """As one would type it from here: relative to the working directory if it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def show_number(value: object) -> str:
    """A value as messages have it; of a whole number that is too long to be read, its length."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return f"one of {value.bit_length()} bits"
    return repr(value)


def shown_seconds(seconds: float) -> str:
    """0.4 s, 32 s, 3 min 50 s, 1 h 02 min; sizes are `rich.filesize.decimal`'s."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
