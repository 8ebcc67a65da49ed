"""How many steps a backtracking matcher takes for a regular expression on the worst of its own repetitions.

The matcher goes over the tree that Python's own parser makes, a step for each character that it looks at: so
what is counted does not depend on a machine. A pattern is linear where twice the text takes about twice the
steps, whatever the text repeats.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from examples import night

try:
    from re import _constants as op
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as op  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

__all__ = ["TooManyStepsError", "steps", "worst"]

_LEAST, _MOST = 16, 32  # repetitions of what is repeated
_BOUNDED = 256  # a repetition of at most as many costs a factor that is constant
_SHRUNK = 3  # and is tried with so many
_BUDGET = 400  # steps for a character, which no linear pattern needs
_MANY = 8  # steps for a character that twice the text may take whatever half of it does
_FEW = _MANY // 4  # steps that cannot become more than those, unless they grow by more than the cube
_IGNORECASE, _MULTILINE, _DOTALL, _ASCII = map(int, (re.I, re.M, re.S, re.A))  # flags of re are slow
_SEEDS = "aZx0_ \n\t\u00a0.,-/#é一あ²\x01"

_PAIRS = tuple(itertools.product(range(4), repeat=2))  # turns of two bodies that follow each other

_Then = Callable[[int], bool]
_Match = Callable[[int, _Then], bool]


class TooManyStepsError(Exception):
    """The matcher has taken more steps than a linear one would for a text that is much longer."""


class _Matcher:
    """A pattern as closures over the places of a text."""

    def __init__(self, tree: Any, flags: int) -> None:
        self._flags = flags
        self._text = ""
        self._groups: dict[int, tuple[int, int]] = {}
        self._steps = self._most = 0
        self._start = self._sequence(tree)
        self._anchored = bool(tree) and tree[0] == (op.AT, op.AT_BEGINNING_STRING)

    def search(self, text: str) -> int:
        """The steps of a search that goes through all of a text, match after match; of what begins with \\A,
        at its beginning alone."""
        self._text, self._groups, self._steps = text, {}, 0
        self._most = _BUDGET * (len(text) + 1)
        ends: list[int] = []

        def note(place: int) -> bool:
            ends.append(place)
            return True

        place = 0
        while place <= (0 if self._anchored else len(text)):
            self._step()
            place = max(place + 1, ends.pop()) if self._start(place, note) else place + 1
        return self._steps

    def _step(self) -> None:
        self._steps += 1
        if self._steps > self._most:
            raise TooManyStepsError

    def _sequence(self, tree: Any) -> _Match:
        parts = [self._part(*each) for each in tree]

        def match(place: int, then: _Then, number: int = 0) -> bool:
            if number == len(parts):
                return then(place)
            return parts[number](place, lambda end: match(end, then, number + 1))

        return match

    def _part(self, code: Any, value: Any) -> _Match:
        if code in _CHARACTERS:
            return self._character(code, value)
        if code in (op.MAX_REPEAT, op.MIN_REPEAT):
            return self._repeat(value, greedy=code is op.MAX_REPEAT)
        if code is op.SUBPATTERN:
            return self._group(value)
        if code is op.BRANCH:
            ways = [self._sequence(way) for way in value[1]]
            return lambda place, then: any(way(place, then) for way in ways)
        if code in (op.ASSERT, op.ASSERT_NOT):
            return self._look(value, wanted=code is op.ASSERT)
        if code is op.AT:
            return lambda place, then: self._at(value, place) and then(place)
        if code is op.GROUPREF:
            return lambda place, then: self._same(value, place, then)
        raise NotImplementedError(f"no steps are known of {code}")

    def _character(self, code: Any, value: Any) -> _Match:
        known: dict[str, bool] = {}

        def match(place: int, then: _Then) -> bool:
            self._step()
            if place == len(self._text):
                return False
            char = self._text[place]
            if char not in known:
                known[char] = takes(code, value, char, self._flags)
            return known[char] and then(place + 1)

        return match

    def _repeat(self, value: Any, greedy: bool) -> _Match:
        least, most, body = value
        if most <= _BOUNDED:
            least, most = min(least, _SHRUNK), min(most, _SHRUNK)
        once = self._sequence(body)

        def match(place: int, then: _Then, count: int = 0) -> bool:
            def again(end: int) -> bool:
                return (end > place or count < least) and match(end, then, count + 1)

            self._step()
            if not greedy and count >= least and then(place):
                return True
            if count < most and once(place, again):
                return True
            return greedy and count >= least and then(place)

        return match

    def _group(self, value: Any) -> _Match:
        number, *_, body = value
        inner = self._sequence(body)

        def match(place: int, then: _Then) -> bool:
            def closed(end: int) -> bool:
                before = self._groups.get(number)
                self._groups[number] = place, end
                if then(end):
                    return True
                if before is None:
                    del self._groups[number]
                else:
                    self._groups[number] = before
                return False

            return inner(place, then if number is None else closed)

        return match

    def _look(self, value: Any, wanted: bool) -> _Match:
        direction, body = value
        inner = self._sequence(body)
        width = body.getwidth()[0] if direction < 0 else 0

        def match(place: int, then: _Then) -> bool:
            start = place - width
            found = start >= 0 and inner(start, lambda end: direction > 0 or end == place)
            return found is wanted and then(place)

        return match

    def _same(self, number: int, place: int, then: _Then) -> bool:
        self._step()
        start, end = self._groups.get(number, (0, -1))
        same = start <= end and self._text.startswith(self._text[start:end], place)
        return same and then(place + end - start)

    def _at(self, where: Any, place: int) -> bool:
        text, last = self._text, len(self._text)
        if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            line = where is op.AT_BEGINNING and self._flags & _MULTILINE
            return place == 0 or bool(line and text[place - 1] == "\n")
        if where is op.AT_END_STRING:
            return place == last
        if where is op.AT_END:
            line = place < last and text[place] == "\n"
            return place == last or (line and bool(place == last - 1 or self._flags & _MULTILINE))
        inside = [0 <= each < last and bool(re.match(r"\w", text[each])) for each in (place - 1, place)]
        return (inside[0] != inside[1]) is (where is op.AT_BOUNDARY)


_CHARACTERS = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)


def takes(code: Any, value: Any, char: str, flags: int) -> bool:
    """Whether a part of a pattern that is one character takes this one."""
    if code is op.ANY:
        return char != "\n" or bool(flags & _DOTALL)
    if code is op.NOT_LITERAL:
        return not takes(op.LITERAL, value, char, flags)
    if code is op.IN:
        negated = value[0][0] is op.NEGATE
        return any(takes(*each, char, flags) for each in value[negated:]) is not negated
    cases = {char, char.lower(), char.upper()} if flags & _IGNORECASE else {char}
    if code is op.LITERAL:
        return chr(value) in cases
    if code is op.RANGE:
        return any(value[0] <= ord(each) <= value[1] for each in cases if len(each) == 1)
    assert code is op.CATEGORY, code
    name, limits = str(value), re.ASCII if flags & _ASCII else 0
    kind = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.rpartition("_")[2]]
    return bool(re.match(kind, char, limits)) is ("NOT" not in name)


def _inner(code: Any, value: Any) -> list[Any]:
    """The sequences that a part of a pattern has."""
    if code in (op.MAX_REPEAT, op.MIN_REPEAT):
        return [value[2]]
    if code is op.SUBPATTERN:
        return [value[3]]
    if code is op.BRANCH:
        return list(value[1])
    return [value[1]] if code in (op.ASSERT, op.ASSERT_NOT) else []


def _parts(tree: Any) -> Iterator[tuple[Any, Any]]:
    for code, value in tree:
        yield code, value
        for inner in _inner(code, value):
            yield from _parts(inner)


def _alphabet(tree: Any, flags: int) -> list[str]:
    """A character for each set of the pattern's characters that take the same ones."""
    singles = [part for part in _parts(tree) if part[0] in _CHARACTERS]
    chars = set(_SEEDS)
    for code, value in singles:
        for kind, each in value if code is op.IN else [(code, value)]:
            chars |= {chr(each)} if kind in (op.LITERAL, op.NOT_LITERAL) else set()
            chars |= set(map(chr, each)) if kind is op.RANGE else set()
    chars = {char for char in chars if unicodedata.category(char) != "Cs"}
    kept: dict[tuple[bool, ...], str] = {}
    for char in sorted(chars, key=lambda char: (_SEEDS.find(char) % len(_SEEDS), char)):
        kept.setdefault(tuple(takes(*single, char, flags) for single in singles), char)
    return list(kept.values())


class _Samples:
    """Texts that parts of a pattern match, lookaround aside."""

    def __init__(self, tree: Any, flags: int) -> None:
        self._flags = flags
        self.alphabet = _alphabet(tree, flags)
        self._groups: dict[int, str] = {}
        self._taken: dict[tuple[Any, int], list[str]] = {}  # by a part's place in memory

    def of(self, tree: Any, turn: int = 0) -> str:
        """A text of a sequence; another turn takes other characters, branches and counts."""
        return "".join(self._part(code, value, turn) for code, value in tree)

    def _part(self, code: Any, value: Any, turn: int) -> str:
        if code in _CHARACTERS:
            part = code, id(value)
            if part not in self._taken:
                self._taken[part] = [char for char in self.alphabet if takes(code, value, char, self._flags)]
            taken = self._taken[part]
            return taken[turn % len(taken)] if taken else ""
        if code in (op.MAX_REPEAT, op.MIN_REPEAT):
            count = min(value[1], value[0] + turn % 2)
            return "".join(self.of(value[2], turn + each) for each in range(min(count, _SHRUNK)))
        if code is op.SUBPATTERN:
            made = self.of(value[3], turn)
            self._groups[value[0]] = made
            return made
        if code is op.BRANCH:
            return self.of(value[1][turn % len(value[1])], turn // len(value[1]))
        return self._groups.get(value, "") if code is op.GROUPREF else ""


def _repetitions(samples: _Samples, tree: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """(what may stand before it, its body) of every repetition."""
    for code, value in tree:
        if code in (op.MAX_REPEAT, op.MIN_REPEAT) and value[1] > _BOUNDED:
            yield before, value[2]
        for inner in _inner(code, value):
            yield from _repetitions(samples, inner, before)
        before += samples.of([(code, value)])


def _texts(samples: _Samples, tree: Any) -> Iterator[tuple[str, str, str]]:
    """(beginning, what is repeated, end) of texts that a pattern could take long for."""
    turns = range(max(2, min(len(samples.alphabet), 16)))
    ends = ["", "\x01", *(samples.alphabet[:2] if night() else ())]
    whole = {samples.of(tree, turn) for turn in turns}
    found = {("", char) for char in samples.alphabet} | {("", each) for each in whole}
    for before, body in _repetitions(samples, tree):
        bodies = {samples.of(body, turn) for turn in turns}
        bodies |= {samples.of(body, one) + samples.of(body, two) for one, two in _PAIRS}
        found |= {(before, each) for each in bodies}
        found |= {("", before + each) for each in bodies} | {("", before)}
    if any(code is op.AT for code, _ in _parts(tree)):  # what begins the text may be taken in another way
        found |= {("\x01" + before, repeated) for before, repeated in found}
    for (before, repeated), end in itertools.product(sorted(found), dict.fromkeys(ends)):
        if repeated:
            yield before, repeated, end


def _parsed(pattern: str, flags: int) -> tuple[Any, int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        tree = parser.parse(pattern, flags)
    return tree, tree.state.flags


def steps(pattern: str, text: str, flags: int = 0) -> int:
    """The steps of a search through a text; raises TooManyStepsError."""
    return _Matcher(*_parsed(pattern, flags)).search(text)


def worst(pattern: str, flags: int = 0) -> str | None:
    """What a text repeats that takes more than linear time; None where nothing was found that does."""
    tree, flags = _parsed(pattern, flags)
    matcher = _Matcher(tree, flags)
    for before, repeated, end in _texts(_Samples(tree, flags), tree):
        few, many = (before + repeated * count + end for count in (_LEAST, _MOST))
        try:
            taken = matcher.search(few)
            if taken <= _FEW * len(few):
                continue
            more = matcher.search(many)
        except TooManyStepsError:
            return f"{before!r} {repeated!r}... {end!r}"
        if more * len(few) > 1.5 * taken * len(many) and more > _MANY * len(many):
            return f"{before!r} {repeated!r}... {end!r}"
    return None
