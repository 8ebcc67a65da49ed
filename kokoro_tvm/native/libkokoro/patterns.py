"""Compiler of Python's regular expressions to code for the interpreter in libkokoro, `text/pattern.c`.

Python's parser reads the expressions, and its engine lists the characters of a class, so C has neither a
parser nor a table of characters. Constructs that no expression of the front end uses are refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from kokoro_tvm.common.errors import BuildError

OPERATIONS = (
    *("match", "char", "set", "split", "jump", "save", "run", "lazy_run", "enter", "loop", "lazy_loop"),
    *("count", "ahead", "not_ahead", "behind", "not_behind", "at", "same", "switch"),
)
"""Operations by number; `text/pattern.c` lists their operands."""
PLACES = ("beginning", "end", "end_string", "boundary", "not_boundary")
"""Positions in a text by number."""

Ranges = tuple[tuple[int, int], ...]
"""Ranges of code points, first and last, in order."""

_ENDLESS = -1
_MAX_GROUPS, _MAX_SLOTS = 32, 128  # limits of the interpreter
_MAX_FIRST = 64  # first characters of an alternative that a switch can select by
_MIN_SWITCH = 4  # fewer alternatives are tried one after the other
_PLACES = {
    op.AT_BEGINNING: "beginning",
    op.AT_BEGINNING_STRING: "beginning",
    op.AT_END: "end",
    op.AT_END_STRING: "end_string",
    op.AT_BOUNDARY: "boundary",
    op.AT_NON_BOUNDARY: "not_boundary",
}
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
_SINGLE = frozenset({op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN})
_REPEATS = frozenset({op.MAX_REPEAT, op.MIN_REPEAT})


class Sets:
    """Classes of characters that code refers to, each stored once."""

    def __init__(self) -> None:
        self.words: list[int] = []
        """Per class: a bit for each of the first 128 characters (four words), the number of ranges, and first
        and last character of each range."""
        self._places: dict[Ranges, int] = {}

    def add(self, ranges: Ranges) -> int:
        """Store a class, once, and return its index in `words`."""
        if ranges not in self._places:
            self._places[ranges] = len(self.words)
            bits = sum(1 << c for first, last in ranges for c in range(first, min(last, 127) + 1))
            words = [bits >> 32 * i & 0xFFFFFFFF for i in range(4)]
            self.words += (word - (word >> 31 << 32) for word in words)
            self.words += [len(ranges), *(bound for bounds in ranges for bound in bounds)]
        return self._places[ranges]


@dataclass(frozen=True)
class CompiledPattern:
    """Code of an expression.

    Attributes:
        code: Number of groups, number of slots (two per group, one per loop), the class of first characters
            (-1:
            any, or none is needed), then operations.
        groups: Numbers of named groups.
    """

    code: tuple[int, ...]
    groups: dict[str, int]


def compile_pattern(pattern: str, sets: Sets, flags: int = 0) -> CompiledPattern:
    """Compile an expression and add its classes to `sets`.

    Raises:
        BuildError: The interpreter does not support the expression.
    """
    tree = parser.parse(pattern, flags)
    writer = _Writer(pattern, sets, tree.state.flags, tree.state.groups)
    writer.sequence(tree)
    writer.put("match")
    if tree.state.groups > _MAX_GROUPS or writer.slots > _MAX_SLOTS:
        raise BuildError(f"The expression {pattern} has too many groups for libkokoro.")
    first, may_be_empty = _first_characters(tree, tree.state.flags)
    head = [tree.state.groups, writer.slots, -1 if may_be_empty else sets.add(first)]
    return CompiledPattern((*head, *writer.code), dict(tree.state.groupdict))


@dataclass
class _Writer:
    pattern: str
    sets: Sets
    flags: int
    groups: int
    code: list[int] = field(default_factory=list)
    slots: int = 0

    def __post_init__(self) -> None:
        self.slots = 2 * self.groups

    def put(self, operation: str, *values: int) -> int:
        """Append an operation and return the place after it, to set its values later."""
        self.code += [OPERATIONS.index(operation), *values]
        return len(self.code)

    def sequence(self, tree: Iterable[Any]) -> None:
        """Append the code of a sequence."""
        for code, value in tree:
            self._put_part(code, value)

    def _put_part(self, code: Any, value: Any) -> None:
        """Append the code of one part of Python's parse tree. Raises BuildError for an unsupported part."""
        single = _single_character([(code, value)], self.flags)
        if single is not None and len(single) == 1 and single[0][0] == single[0][1]:
            self.put("char", single[0][0])
        elif single is not None:
            self.put("set", self.sets.add(single))
        elif code in _REPEATS:
            self._put_repeat(value, "" if code is op.MAX_REPEAT else "lazy_")
        elif code is op.SUBPATTERN and not value[1] and not value[2]:
            self._put_group(value[0], value[3])
        elif code is op.BRANCH:
            self._put_branch(value[1])
        elif code in (op.ASSERT, op.ASSERT_NOT):
            self._put_look(code is op.ASSERT, *value)
        elif code is op.AT:
            if self.flags & re.MULTILINE:
                raise self._error("lines")
            self.put("at", PLACES.index(_PLACES[value]))
        elif code is op.GROUPREF:
            self.put("same", value)
        else:
            raise self._error(str(code))

    def _error(self, what: str) -> BuildError:
        return BuildError(f"The expression {self.pattern} has {what}, which libkokoro does not know.")

    def _put_group(self, number: int | None, tree: Any) -> None:
        """Append the code of a group, which saves begin and end of its match if it has a number."""
        if number is not None:
            self.put("save", 2 * number)
        self.sequence(tree)
        if number is not None:
            self.put("save", 2 * number + 1)

    def _put_repeat(self, value: Any, lazy: str) -> None:
        """Append the code of a repetition: `run` of one character, `split` for `?`, else a counted loop.

        Raises BuildError.
        """
        least, most, tree = value
        most = _ENDLESS if most is op.MAXREPEAT else int(most)
        single = _single_character(tree, self.flags)
        if single is not None:
            self.put(f"{lazy}run", self.sets.add(single), least, most)
        elif (least, most) == (0, 1) and not lazy:
            behind = self.put("split", 0)
            self.sequence(tree)
            self.code[behind - 1] = len(self.code)
        else:
            if tree.getwidth()[0] == 0:
                raise self._error("a repetition of what may be empty")
            slot, self.slots = self.slots, self.slots + 1
            self.put("enter", slot)
            begin = len(self.code)
            behind = self.put(f"{lazy}loop", slot, least, most, 0)
            self.put("count", slot)
            self.sequence(tree)
            self.put("jump", begin)
            self.code[behind - 1] = len(self.code)

    def _put_look(self, is_positive: bool, direction: int, tree: Any) -> None:
        """Append the code of a look ahead or behind. Raises BuildError for one behind of varying width."""
        width, most = tree.getwidth()
        if direction < 0 and width != most:
            raise self._error("a look behind of no fixed width")
        name = ("" if is_positive else "not_") + ("ahead" if direction > 0 else "behind")
        behind = self.put(name, *([0] if direction > 0 else [width, 0]))
        self.sequence(tree)
        self.put("match")
        self.code[behind - 1] = len(self.code)

    def _put_branch(self, ways: Sequence[Any]) -> None:
        """Append the code of alternatives, which many select by the next character in a sorted table."""
        firsts = [_first_characters(way, self.flags) for way in ways]
        selectors = [None if empty or _count(chars) > _MAX_FIRST else chars for chars, empty in firsts]
        jumps: list[int] = []  # places of jumps to the end
        starts: list[list[int]] = [[] for _ in ways]  # places of jumps to each alternative
        if len(ways) < _MIN_SWITCH or all(chars is None for chars in selectors):
            self._put_splits(range(len(ways)), starts)
        else:
            chars = sorted({c for ranges in selectors if ranges for a, b in ranges for c in range(a, b + 1)})
            table = self.put("switch", len(chars), 0, *(word for c in chars for word in (c, 0)))
            table -= 2 * len(chars)
            others = [i for i, ranges in enumerate(selectors) if ranges is None]
            self.code[table - 1] = len(self.code)
            if others:
                self._put_splits(others, starts)
            else:
                self.put("set", self.sets.add(()))  # matches nothing
            chains: dict[tuple[int, ...], int] = {}
            for i, c in enumerate(chars):
                fitting = tuple(n for n, ranges in enumerate(selectors) if ranges is None or _has(ranges, c))
                if fitting not in chains:
                    chains[fitting] = len(self.code)
                    self._put_splits(fitting, starts)
                self.code[table + 2 * i + 1] = chains[fitting]
        for number, way in enumerate(ways):
            for place in starts[number]:
                self.code[place] = len(self.code)
            self.sequence(way)
            jumps.append(self.put("jump", 0) - 1)
        for place in jumps:
            self.code[place] = len(self.code)

    def _put_splits(self, numbers: Sequence[int], starts: list[list[int]]) -> None:
        """Append splits that try alternatives in order, and add the places of their jumps to `starts`."""
        for place, number in enumerate(numbers):
            split = self.put("split", 0) if place < len(numbers) - 1 else 0
            starts[number].append(self.put("jump", 0) - 1)
            if split:
                self.code[split - 1] = len(self.code)


def _single_character(tree: Sequence[Any], flags: int) -> Ranges | None:
    """Return the characters of an expression that matches exactly one character, else None."""
    if len(tree) != 1:
        return None
    code, value = tree[0]
    if code in _SINGLE:
        return _characters(code, value, flags)
    ways = [_single_character(way, flags) for way in value[1]] if code is op.BRANCH else [None]
    return None if None in ways else _union(*(way for way in ways if way is not None))


def _first_characters(tree: Iterable[Any], flags: int) -> tuple[Ranges, bool]:
    """Return the first characters of a match, and whether the match may be empty."""
    firsts: Ranges = ()
    for code, value in tree:
        if code in _SINGLE:
            return _union(firsts, _characters(code, value, flags)), False
        inner: list[tuple[Ranges, bool]] = []
        if code in _REPEATS:
            chars, empty = _first_characters(value[2], flags)
            inner = [(chars, empty or value[0] == 0)]
        elif code is op.SUBPATTERN:
            inner = [_first_characters(value[3], flags)]
        elif code is op.BRANCH:
            inner = [_first_characters(way, flags) for way in value[1]]
        elif code is op.GROUPREF:
            return ((0, sys.maxunicode),), True
        for chars, _ in inner:
            firsts = _union(firsts, chars)
        if inner and not any(empty for _, empty in inner):
            return firsts, False
    return firsts, True


def _union(*ranges: Ranges) -> Ranges:
    union: list[tuple[int, int]] = []
    for first, last in sorted(bounds for group in ranges for bounds in group):
        if union and first <= union[-1][1] + 1:
            union[-1] = union[-1][0], max(union[-1][1], last)
        else:
            union.append((first, last))
    return tuple(union)


def _count(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _has(ranges: Ranges, c: int) -> bool:
    return any(first <= c <= last for first, last in ranges)


def _characters(code: Any, value: Any, flags: int) -> Ranges:
    """Return the characters of a part that matches one character."""
    if code is op.ANY:
        return _EVERY if flags & re.DOTALL else _complement(((10, 10),))
    items = list(value) if code is op.IN else [(code, value)]
    if flags & re.IGNORECASE:
        return ranges_of(f"[{''.join(_format_class(items))}]", flags & (re.IGNORECASE | re.ASCII))
    negated = items[0][0] in (op.NEGATE, op.NOT_LITERAL)
    union = _union(*(_item_ranges(kind, item, flags) for kind, item in items))
    return _complement(union) if negated else union


_EVERY: Ranges = ((0, sys.maxunicode),)


def _item_ranges(code: Any, value: Any, flags: int) -> Ranges:
    """Return the characters of one item of a class in brackets."""
    if code is op.NEGATE:
        return ()
    if code is op.RANGE:
        return (tuple(value),)
    return ranges_of(_CATEGORIES[value], flags & re.ASCII) if code is op.CATEGORY else ((value, value),)


def _complement(ranges: Ranges) -> Ranges:
    """Return all characters that are not in the ranges."""
    starts = [0, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), sys.maxunicode]
    return tuple((first, last) for first, last in zip(starts, ends, strict=True) if first <= last)


def _format_class(items: Iterable[Any]) -> Iterator[str]:
    """Yield the parts of a class in brackets as Python's engine reads them."""
    for code, value in items:
        if code is op.NEGATE:
            yield "^"
        elif code is op.CATEGORY:
            yield _CATEGORIES[value]
        elif code is op.RANGE:
            yield f"\\U{value[0]:08x}-\\U{value[1]:08x}"
        else:
            yield f"{'^' if code is op.NOT_LITERAL else ''}\\U{value:08x}"


@lru_cache(None)
def ranges_of(one: str, flags: int = 0) -> Ranges:
    """Return the characters that an expression of one character matches, by asking Python's engine."""
    matches = re.compile(f"(?:{one})+", flags).finditer(_list_characters())
    return tuple((match.start(), match.end() - 1) for match in matches)


@cache
def _list_characters() -> str:
    """Return all characters. It takes 0.1 s, and most importers need none."""
    return "".join(map(chr, range(sys.maxunicode + 1)))
