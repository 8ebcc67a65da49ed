"""Patterns of language files: what they may contain, and what their matches begin with and need."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kokoro_tvm.runtime.text.frontend.normalization.language import expand_macros

_parser: Any = __import__("sre_parse") if sys.version_info < (3, 11) else re._parser  # type: ignore[attr-defined]
_REFUSED = re.compile(r"\\[wWsSbBDAZzpP]|(?<!\\)\(\?(?:[aiLmsux#(]|P[=>])|\\[0-9]")
_MAX_REPEATS = 512
_MAX_SETS = 3  # more needed characters skip no more rules


class PatternError(ValueError):
    """Invalid pattern, or one that may take more than linear time."""


def check_pattern(pattern: str, lists: Any, types: Any) -> re.Pattern[str]:
    """Compile a pattern.

    Raises:
        PatternError: It is invalid, has a character class without the marks of scripts, or an unbounded
            repetition.
    """
    if (match := _REFUSED.search(pattern)) is not None:
        raise PatternError(f"`{match[0]}` is not for written forms; use {{:L}}, {{:W}} or characters")
    try:
        written = expand_macros(pattern, lists, types)
    except KeyError as error:
        raise PatternError(f"there is no list or type `{error.args[0]}`") from error
    try:
        compiled = re.compile(written)
        _check_bounds(_parser.parse(written))
    except re.error as error:
        raise PatternError(f"no regular expression: {error}") from error
    return compiled


def _check_bounds(items: Iterable[Any]) -> None:
    """Raise PatternError for a repetition of more than _MAX_REPEATS, at any depth of a parse tree."""
    for name, value in items:
        if str(name) in ("MAX_REPEAT", "MIN_REPEAT"):
            if value[1] > _MAX_REPEATS:
                raise PatternError(
                    f"repeats without a bound, or more than {_MAX_REPEATS} times; write {{1,{_MAX_REPEATS}}}"
                )
            _check_bounds(value[2])
        else:
            for inner in _inner(str(name), value):
                _check_bounds(inner)


def _inner(name: str, value: Any) -> list[Any]:
    """Return the parse trees inside a node that is not a repetition."""
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "BRANCH":
        return list(value[1])
    return [value[1]] if name in ("ASSERT", "ASSERT_NOT") else []


def check_spoken(written: re.Pattern[str], spoken: Collection[str]) -> None:
    """Check that all letters and digits of a match are in groups that the template says.

    Raises:
        PatternError: Some would be lost.
    """
    _check_spoken(
        _parser.parse(written.pattern), {number: n for n, number in written.groupindex.items()}, spoken
    )


def _check_spoken(items: Iterable[Any], names: Mapping[int, str], spoken: Collection[str]) -> None:
    """Raise PatternError for a class of digits or letters outside of the groups `spoken`."""
    for name, value in ((str(name), value) for name, value in items):
        if name == "IN" and any(map(_is_open, value)):
            raise PatternError("takes figures or letters that the template does not say; name their group")
        if name == "SUBPATTERN" and names.get(value[0]) in spoken:
            continue
        inner = [value[2]] if name == "MAX_REPEAT" else _inner(name, value) if "ASSERT" not in name else []
        for part in inner:
            _check_spoken(part, names, spoken)


def _is_open(item: Any) -> bool:
    """Return whether an item of a class stands for many digits or letters."""
    name, value = str(item[0]), item[1]
    return name in ("NEGATE", "CATEGORY") or (name == "RANGE" and chr(value[0]).isalnum())


def find_beginnings(written: re.Pattern[str]) -> tuple[str, str]:
    """Return the characters, and the kinds of characters, that a match may begin with.

    Kinds are "l" letters, "d" digits, "p" a point before a digit, "s" signs.
    """
    chars: set[str] = set()
    kinds: set[str] = set()
    _collect(list(_parser.parse(written.pattern)), chars, kinds)
    if "l" in kinds:
        chars = {char for char in chars if not char.isalpha() and not unicodedata.combining(char)}
    return "".join(sorted(chars)), "".join(sorted(kinds))


def begins_with_group(written: re.Pattern[str]) -> bool:
    """Return whether every match begins with the pattern's first group."""
    return str(_parser.parse(written.pattern)[0][0]) == "SUBPATTERN"


def find_needed_characters(written: re.Pattern[str]) -> list[str]:
    """Return sets of characters, rarest first, one of each of which is in every match."""
    sets = sorted(_needed(_parser.parse(written.pattern)), key=_commonness)
    return list(dict.fromkeys("".join(sorted(chars)) for chars in sets))[:_MAX_SETS]


def _commonness(chars: set[str]) -> tuple[int, int]:
    """Return a sort key by which the characters that are rarest in text come first."""
    return sum(char.islower() for char in chars), len(chars)


def _needed(items: Iterable[Any]) -> list[set[str]]:
    """Return sets of characters; each match of the items has a character of each."""
    sets: list[set[str]] = []
    for name, value in ((str(name), value) for name, value in items):
        if name == "LITERAL":
            sets.append({chr(value)})
        elif name == "IN":
            chars: set[str] = set()
            kinds: set[str] = set()
            _collect_class(value, chars, kinds)
            sets += [] if kinds else [chars]
        elif name == "BRANCH":
            branches = [min(_needed(branch), key=_commonness, default=None) for branch in value[1]]
            sets += [] if None in branches else [set().union(*filter(None, branches))]
        elif name == "MAX_REPEAT":
            sets += _needed(value[2]) if value[0] else []
        elif name in ("SUBPATTERN", "ASSERT"):
            sets += _needed(value[-1])
    return [chars for chars in sets if " " not in chars]


def _collect(items: list[Any], chars: set[str], kinds: set[str]) -> bool:
    """Add what the items may begin with; return whether they may be empty. Raises PatternError."""
    for place, (name, value) in enumerate((str(name), value) for name, value in items):
        if name in ("ASSERT", "ASSERT_NOT", "AT"):
            continue
        if name == "LITERAL" and chr(value) == "." and _is_figure(items[place + 1 : place + 2]):
            kinds.add("p")
        elif name == "LITERAL":
            chars.add(chr(value))
        elif name == "IN":
            _collect_class(value, chars, kinds)
        elif name in ("ANY", "NOT_LITERAL"):
            kinds.update("lds")
        elif name == "SUBPATTERN":
            if _collect(list(value[3]), chars, kinds):
                continue
        elif name == "BRANCH":
            may_be_empty = [_collect(list(branch), chars, kinds) for branch in value[1]]
            if any(may_be_empty):
                continue
        elif name == "MAX_REPEAT":
            if _collect(list(value[2]), chars, kinds) or value[0] == 0:
                continue
        else:
            raise PatternError(f"begins with {name}, which is not known here")
        return False
    return True


def _is_figure(items: list[Any]) -> bool:
    """Return whether a match of the items begins with a digit."""
    if items and str(items[0][0]) == "MAX_REPEAT":
        return items[0][1][0] > 0 and _is_figure(list(items[0][1][2]))
    return bool(items) and str(items[0][0]) == "IN" and "CATEGORY_DIGIT" in str(items[0][1][0][1])


def _collect_class(items: list[Any], chars: set[str], kinds: set[str]) -> None:
    """Add the characters of a class to `chars`, or its kinds to `kinds` if it has many."""
    for name, value in ((str(name), value) for name, value in items):
        if name == "NEGATE":
            kinds.update("l" if any(str(n) == "CATEGORY" for n, _ in items) else "lds")
            return
        if name == "LITERAL":
            chars.add(chr(value))
        elif name == "RANGE":
            low, high = value
            if (low, high) == (48, 57):
                kinds.add("d")
            elif high - low > 300:
                kinds.update("ls")
            else:
                chars.update(map(chr, range(low, high + 1)))
        elif "DIGIT" in str(value):
            kinds.add("d")
        else:
            kinds.update("ld")
