"""Regular expressions of Python as code for the interpreter in libkokoro, `text/pattern.c`.

Python's own parser reads them, and its engine says which characters a class has: so C has neither a parser
nor a table of characters. What no expression of the front end needs is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from kokoro_tvm.common.errors import BuildError

__all__ = ["OPERATIONS", "PLACES", "CompiledPattern", "Sets", "compile_pattern", "ranges_of"]

OPERATIONS = (
    *("match", "char", "set", "split", "jump", "save", "run", "lazy_run", "enter", "loop", "lazy_loop"),
    *("count", "ahead", "not_ahead", "behind", "not_behind", "at", "same", "switch"),
)
"""What the interpreter does, by number; `text/pattern.c` says what follows each in the code."""
PLACES = ("beginning", "end", "end_string", "boundary", "not_boundary")
"""Where a text may be at, by number."""

Ranges = tuple[tuple[int, int], ...]
"""Code points, first and last of each range, in order."""

_ALL = "".join(map(chr, range(sys.maxunicode + 1)))
_ENDLESS = -1
_MOST_GROUPS, _MOST_SLOTS = 32, 128  # of the interpreter
_MOST_FIRST = 64  # characters that an alternative may begin with to be chosen by them
_FEW = 4  # alternatives that are tried one after the other
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
    """Classes of characters, each once, as what code refers to."""

    def __init__(self) -> None:
        self.words: list[int] = []
        """Of every class: a bit for each of the first 128 characters, four words of 32; the number of ranges,
        first and last character of each."""
        self._places: dict[Ranges, int] = {}

    def place(self, ranges: Ranges) -> int:
        """Where a class is."""
        if ranges not in self._places:
            self._places[ranges] = len(self.words)
            bits = sum(1 << c for first, last in ranges for c in range(first, min(last, 127) + 1))
            words = [bits >> 32 * i & 0xFFFFFFFF for i in range(4)]
            self.words += (word - (word >> 31 << 32) for word in words)
            self.words += [len(ranges), *(each for bounds in ranges for each in bounds)]
        return self._places[ranges]


@dataclass(frozen=True)
class CompiledPattern:
    """code: groups, slots (two of a group, then one of a loop), the class of first characters (-1: any, or
    none is needed), then operations. groups: numbers of those that have names."""

    code: tuple[int, ...]
    groups: dict[str, int]


def compile_pattern(pattern: str, sets: Sets, flags: int = 0) -> CompiledPattern:
    """The code of an expression, whose classes are put into `sets`.

    Raises BuildError where it has what the interpreter does not know.
    """
    tree = parser.parse(pattern, flags)
    writer = _Writer(pattern, sets, tree.state.flags, tree.state.groups)
    writer.sequence(tree)
    writer.put("match")
    if tree.state.groups > _MOST_GROUPS or writer.slots > _MOST_SLOTS:
        raise BuildError(f"The expression {pattern} has too many groups for libkokoro.")
    first, may_be_empty = _first(tree, tree.state.flags)
    head = [tree.state.groups, writer.slots, -1 if may_be_empty else sets.place(first)]
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
        """The place behind what is put, from which the values can be set again."""
        self.code += [OPERATIONS.index(operation), *values]
        return len(self.code)

    def sequence(self, tree: Iterable[Any]) -> None:
        for code, value in tree:
            self._part(code, value)

    def _part(self, code: Any, value: Any) -> None:
        single = _single([(code, value)], self.flags)
        if single is not None and len(single) == 1 and single[0][0] == single[0][1]:
            self.put("char", single[0][0])
        elif single is not None:
            self.put("set", self.sets.place(single))
        elif code in _REPEATS:
            self._repeat(value, "" if code is op.MAX_REPEAT else "lazy_")
        elif code is op.SUBPATTERN and not value[1] and not value[2]:
            self._group(value[0], value[3])
        elif code is op.BRANCH:
            self._branch(value[1])
        elif code in (op.ASSERT, op.ASSERT_NOT):
            self._look(code is op.ASSERT, *value)
        elif code is op.AT:
            if self.flags & re.MULTILINE:
                raise self._refused("lines")
            self.put("at", PLACES.index(_PLACES[value]))
        elif code is op.GROUPREF:
            self.put("same", value)
        else:
            raise self._refused(str(code))

    def _refused(self, what: str) -> BuildError:
        return BuildError(f"The expression {self.pattern} has {what}, which libkokoro does not know.")

    def _group(self, number: int | None, tree: Any) -> None:
        if number is not None:
            self.put("save", 2 * number)
        self.sequence(tree)
        if number is not None:
            self.put("save", 2 * number + 1)

    def _repeat(self, value: Any, lazy: str) -> None:
        least, most, tree = value
        most = _ENDLESS if most is op.MAXREPEAT else int(most)
        single = _single(tree, self.flags)
        if single is not None:
            self.put(f"{lazy}run", self.sets.place(single), least, most)
        elif (least, most) == (0, 1) and not lazy:
            behind = self.put("split", 0)
            self.sequence(tree)
            self.code[behind - 1] = len(self.code)
        else:
            if tree.getwidth()[0] == 0:
                raise self._refused("a repetition of what may be empty")
            slot, self.slots = self.slots, self.slots + 1
            self.put("enter", slot)
            begin = len(self.code)
            behind = self.put(f"{lazy}loop", slot, least, most, 0)
            self.put("count", slot)
            self.sequence(tree)
            self.put("jump", begin)
            self.code[behind - 1] = len(self.code)

    def _look(self, wanted: bool, direction: int, tree: Any) -> None:
        width, most = tree.getwidth()
        if direction < 0 and width != most:
            raise self._refused("a look behind of no fixed width")
        name = ("" if wanted else "not_") + ("ahead" if direction > 0 else "behind")
        behind = self.put(name, *([0] if direction > 0 else [width, 0]))
        self.sequence(tree)
        self.put("match")
        self.code[behind - 1] = len(self.code)

    def _branch(self, ways: Sequence[Any]) -> None:
        firsts = [_first(way, self.flags) for way in ways]
        known = [None if empty or _count(chars) > _MOST_FIRST else chars for chars, empty in firsts]
        jumps: list[int] = []  # places of what leads behind the alternatives
        starts: list[list[int]] = [[] for _ in ways]  # places of what leads to each
        if len(ways) < _FEW or all(each is None for each in known):
            self._one_of(range(len(ways)), starts)
        else:
            chars = sorted({c for each in known if each for a, b in each for c in range(a, b + 1)})
            table = self.put("switch", len(chars), 0, *(word for c in chars for word in (c, 0)))
            table -= 2 * len(chars)
            others = [i for i, each in enumerate(known) if each is None]
            self.code[table - 1] = len(self.code)
            if others:
                self._one_of(others, starts)
            else:
                self.put("set", self.sets.place(()))  # which takes nothing
            chains: dict[tuple[int, ...], int] = {}
            for i, c in enumerate(chars):
                fitting = tuple(n for n, each in enumerate(known) if each is None or _has(each, c))
                if fitting not in chains:
                    chains[fitting] = len(self.code)
                    self._one_of(fitting, starts)
                self.code[table + 2 * i + 1] = chains[fitting]
        for number, way in enumerate(ways):
            for place in starts[number]:
                self.code[place] = len(self.code)
            self.sequence(way)
            jumps.append(self.put("jump", 0) - 1)
        for place in jumps:
            self.code[place] = len(self.code)

    def _one_of(self, numbers: Sequence[int], starts: list[list[int]]) -> None:
        for place, number in enumerate(numbers):
            split = self.put("split", 0) if place < len(numbers) - 1 else 0
            starts[number].append(self.put("jump", 0) - 1)
            if split:
                self.code[split - 1] = len(self.code)


def _single(tree: Sequence[Any], flags: int) -> Ranges | None:
    """The characters that an expression takes which takes one and no more; None for another."""
    if len(tree) != 1:
        return None
    code, value = tree[0]
    if code in _SINGLE:
        return _characters(code, value, flags)
    ways = [_single(way, flags) for way in value[1]] if code is op.BRANCH else [None]
    return None if None in ways else _union(*(way for way in ways if way is not None))


def _first(tree: Iterable[Any], flags: int) -> tuple[Ranges, bool]:
    """Characters that a match begins with, and whether it may have none."""
    found: Ranges = ()
    for code, value in tree:
        if code in _SINGLE:
            return _union(found, _characters(code, value, flags)), False
        inner: list[tuple[Ranges, bool]] = []
        if code in _REPEATS:
            chars, empty = _first(value[2], flags)
            inner = [(chars, empty or value[0] == 0)]
        elif code is op.SUBPATTERN:
            inner = [_first(value[3], flags)]
        elif code is op.BRANCH:
            inner = [_first(way, flags) for way in value[1]]
        elif code is op.GROUPREF:
            return ((0, sys.maxunicode),), True
        for chars, _ in inner:
            found = _union(found, chars)
        if inner and not any(empty for _, empty in inner):
            return found, False
    return found, True


def _union(*ranges: Ranges) -> Ranges:
    found: list[tuple[int, int]] = []
    for first, last in sorted(bounds for each in ranges for bounds in each):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return tuple(found)


def _count(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _has(ranges: Ranges, c: int) -> bool:
    return any(first <= c <= last for first, last in ranges)


def _characters(code: Any, value: Any, flags: int) -> Ranges:
    """Those that a part of an expression which is one character takes."""
    if code is op.ANY:
        return _EVERY if flags & re.DOTALL else _others(((10, 10),))
    items = list(value) if code is op.IN else [(code, value)]
    if flags & re.IGNORECASE:
        return ranges_of(f"[{''.join(_written(items))}]", flags & (re.IGNORECASE | re.ASCII))
    negated = items[0][0] in (op.NEGATE, op.NOT_LITERAL)
    found = _union(*(_of_item(kind, each, flags) for kind, each in items))
    return _others(found) if negated else found


_EVERY: Ranges = ((0, sys.maxunicode),)


def _of_item(code: Any, value: Any, flags: int) -> Ranges:
    if code is op.NEGATE:
        return ()
    if code is op.RANGE:
        return (tuple(value),)
    return ranges_of(_CATEGORIES[value], flags & re.ASCII) if code is op.CATEGORY else ((value, value),)


def _others(ranges: Ranges) -> Ranges:
    """All other characters."""
    starts = [0, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), sys.maxunicode]
    return tuple((first, last) for first, last in zip(starts, ends, strict=True) if first <= last)


def _written(items: Iterable[Any]) -> Iterator[str]:
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
    """Characters that an expression of one takes: Python's engine is asked about all."""
    return tuple((m.start(), m.end() - 1) for m in re.compile(f"(?:{one})+", flags).finditer(_ALL))
