"""Choose and verbalize the written forms of a text.

Wherever a word, a number or a sign begins, the rules of the language propose forms, in order. A proposal
costs what its context speaks against its kind (`Doubt`). The cheapest path from the beginning of the text to
its end is read; of equal ones, the one with the earlier rules. What no rule matches is a word, digits or a
sign by itself. Patterns have no unbounded repetition, so the time is linear.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from kokoro_tvm.runtime.text.frontend.normalization.language import (
    LETTER,
    Doubt,
    LanguageRules,
    WrittenFormRule,
)
from kokoro_tvm.runtime.text.frontend.normalization.templates import fill_template
from kokoro_tvm.runtime.text.frontend.source import Edit, SourceText

TagFunction = Callable[[str], Mapping[int, str]]
"""Function from a text to the part of speech of each word, by the place of its first character."""

_WORD = re.compile(rf"{LETTER}+(?:'{LETTER}+)*")
_FIGURES = re.compile("[0-9]+")
_JOINTS = frozenset(".,:/-–")  # a number continues after one
_APOSTROPHES = "’ʼ´`＇‘"
_MAX_DEPTH = 3  # of parts that are verbalized again


class Proposal(NamedTuple):
    """Form that may begin at a place.

    Attributes:
        end: Where it ends.
        rule: The rule that proposes it; None for the text as it is written.
        match: The match of the rule.
        doubts: What speaks against it.
        cost: What it costs.
    """

    end: int
    rule: WrittenFormRule | None = None
    match: re.Match[str] | None = None
    doubts: tuple[Doubt, ...] = ()
    cost: int = 0


@dataclass(frozen=True)
class Choice:
    """Proposals at a place, and the one that is read."""

    start: int
    proposals: list[Proposal]
    chosen: Proposal


@dataclass(frozen=True)
class FormEdits:
    """Result of a scan.

    Attributes:
        edits: Words for each written form, in order.
        changed: (word, word in letters of the language), for a notice.
        choices: What was proposed where a form may begin.
    """

    edits: list[Edit] = field(default_factory=list)
    changed: list[tuple[str, str]] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)


class Verbalizer:
    """Verbalizer of a language's written forms. Thread-safe."""

    def __init__(
        self, language: LanguageRules, unread: Collection[str] = (), tag: TagFunction | None = None
    ) -> None:
        """Create a verbalizer.

        Args:
            language: Rules of the language.
            unread: Kinds of forms whose rules are skipped.
            tag: Tagger; without it, no doubt about the next word's part of speech holds.
        """
        self._language = language
        self._unread = frozenset(unread)
        self._tag = tag or (lambda text: {})

    def scan(self, source: SourceText) -> FormEdits:
        """Return the edits of a text; characters of fixed links stay."""
        text = fold(source.text)
        flag_edits: list[Edit] = []
        for link in source.links:
            written = text[link.start : link.end]
            if link.flags and written.isdecimal():
                flag_edits.append(Edit(link.start, link.end, self._read_flagged(written, link.flags)))
            if link.is_fixed or (link.flags and written.isdecimal()):
                text = text[: link.start] + _LINKED * len(written) + text[link.end :]
        scan = FormEdits()
        self._scan(text, scan, 0)
        edits = sorted([*scan.edits, *flag_edits], key=lambda edit: edit.start)
        return FormEdits(self._add_spaces(edits, text), scan.changed, scan.choices)

    def _read_flagged(self, figures: str, flags: str) -> str:
        """Return a number as a link's flags ask for: "a hundred and five" with "a" and "&"."""
        full = self._language.says_and and ("&" in flags or "n" in flags)
        words = self._language.spell(figures, "full" if full else "cardinal")
        return "a " + words.removeprefix("one ") if "a" in flags and words.startswith("one ") else words

    def _read(self, text: str, scan: FormEdits, depth: int) -> str:
        """Verbalize a part of a form again."""
        inner = FormEdits(changed=scan.changed)
        self._scan(text, inner, depth + 1)
        words, done = "", 0
        for edit in self._add_spaces(inner.edits, text):
            words += text[done : edit.start] + edit.text
            done = edit.end
        return words + text[done:]

    def _scan(self, text: str, scan: FormEdits, depth: int) -> None:
        lattice = self._propose(text, depth)
        least = {len(text): 0}  # cost from a place to the end
        chosen: dict[int, Proposal] = {}
        for place, proposals in reversed(lattice.items()):
            best = proposals[0]
            if len(proposals) > 1:
                best = min(proposals, key=lambda proposal: proposal.cost + least[proposal.end])
            chosen[place], least[place] = best, best.cost + least[best.end]
        place = 0
        while place < len(text):
            proposal = chosen[place]
            if proposal.rule is None or proposal.match is None:
                self._keep(text, place, proposal.end, scan, depth)
            else:
                words = fill_template(
                    self._language,
                    proposal.rule,
                    proposal.match.groupdict(),
                    lambda part: self._read(part, scan, depth),
                )
                scan.edits.append(Edit(place, proposal.end, words))
            if lattice[place][0].rule is not None:
                scan.choices.append(Choice(place, lattice[place], proposal))
            place = proposal.end

    def _propose(self, text: str, depth: int) -> dict[int, list[Proposal]]:
        """Return the proposals at each place that a path may reach, in order."""
        context = _Context(self._language, text, self._tag if depth == 0 else lambda text: {})
        chars = frozenset(text)
        lattice: dict[int, list[Proposal]] = {}
        reached = {0}
        for place, char in enumerate(text):
            if place not in reached:
                continue
            if char == " " or char == _LINKED:
                proposals = [Proposal(place + 1)]
            else:
                kind = _kind(char)
                proposals = self._propose_forms(context, place, kind, chars) if depth < _MAX_DEPTH else []
                if not proposals or proposals[-1].doubts:
                    # To keep what a rule proposes as it is written costs as much as a small doubt.
                    proposals.append(
                        Proposal(self._end_of_text(text, place, kind), cost=min(len(proposals), 1))
                    )
            lattice[place] = proposals
            reached.update(proposal.end for proposal in proposals)
        _remove_doubts_about_neighbours(lattice)
        return lattice

    def _propose_forms(
        self, context: _Context, place: int, kind: str, chars: frozenset[str]
    ) -> list[Proposal]:
        """Return the forms that may begin at a place, up to the first one without a doubt."""
        text = context.text
        before = text[place - 1] if place else ""
        is_inside = (
            self._language.joint != ""
            and kind in "ld"
            and before not in ("", _LINKED)
            and _kind(before) in "ld"
        )
        continues_number = kind == "d" and before in _JOINTS and place > 1 and _kind(text[place - 2]) == "d"
        is_point = text[place] == "." and text[place + 1 : place + 2].isdecimal()
        proposals: list[Proposal] = []
        for rule in self._language.rules_beginning_with(text[place], "ps" if is_point else kind):
            if is_inside != (rule.where == "inside") or (continues_number and rule.where == "word"):
                continue
            if rule.kind in self._unread or any(map(chars.isdisjoint, rule.needs)):
                continue
            match = self._language.match(rule, text, place)
            if match is not None and _LINKED in match.group():  # an address that runs on into a link
                link = text.index(_LINKED, place)
                match = self._language.match(rule, text, place, link)
            if match is not None:
                doubts = context.find_doubts(rule.kind, place, match.end())
                cost = sum(doubt.cost for doubt in doubts)
                proposals.append(Proposal(match.end(), rule, match, doubts, cost))
                if not doubts:
                    break
        return proposals

    def _end_of_text(self, text: str, place: int, kind: str) -> int:
        """Return the end of the word, the digits or the sign at a place."""
        if kind == "d":
            return _end(_FIGURES, text, place)
        return _end(_WORD, text, place) if kind == "l" and self._language.joint else place + 1

    def _keep(self, text: str, place: int, end: int, scan: FormEdits, depth: int) -> None:
        """Read a word, digits or a sign by itself."""
        kind = _kind(text[place])
        if kind == "l":
            self._keep_word(text[place:end], place, scan)
        elif kind == "d":
            scan.edits.append(Edit(place, end, self._language.figures(text[place:end])))
        elif text[place] != _LINKED:
            self._read_sign(text, place, scan, depth)

    def _keep_word(self, word: str, place: int, scan: FormEdits) -> None:
        """Keep a word, with its letters replaced by those of the language."""
        replacement = self._transliterate(word)
        if replacement != word:
            replacement = replacement if any(map(str.isalpha, replacement)) else ""
            scan.edits.append(Edit(place, place + len(word), replacement))
            scan.changed.extend([(word, replacement)] if replacement else [])

    def _transliterate(self, word: str) -> str:
        """Return a word in letters of the language."""
        if word.isascii() or self._language.letters.fullmatch(word):
            return word
        replacement = ""
        for char in word:
            if char == "'" or self._language.letters.fullmatch(char):
                replacement += char
            else:
                replacement += self._language.replacements.get(char) or self._strip_accent(char)
        return replacement

    def _strip_accent(self, char: str) -> str:
        """Return a letter without accents if the language has it, else ""."""
        plain = unicodedata.normalize("NFKD", char)[0]
        return plain if self._language.letters.fullmatch(plain) else ""

    def _read_sign(self, text: str, place: int, scan: FormEdits, depth: int) -> None:
        char = text[place]
        words = self._language.signs.get(char)
        if words is None and not char.isascii() and unicodedata.category(char)[0] == "N":
            plain = fold(unicodedata.normalize("NFKC", char))
            words = self._read(plain, scan, depth) if plain != char and depth < _MAX_DEPTH else ""
            words = words if any(map(str.isalpha, words)) else ""
        if words is not None:
            scan.edits.append(Edit(place, place + 1, words))

    def _add_spaces(self, edits: list[Edit], text: str) -> list[Edit]:
        """Add spaces to edits whose words would touch others."""
        if not self._language.joint:
            return edits
        spaced: list[Edit] = []
        done, last = -1, ""  # where the words before end, and with what
        for edit in edits:
            words = edit.text
            if words:
                before = last if done == edit.start else text[edit.start - 1] if edit.start else " "
                after = text[edit.end] if edit.end < len(text) else " "
                if done == edit.start or _touches(words[0], before):
                    words = words if before == " " or words[0] == " " else " " + words
                words += " " if _touches(words[-1], after) else ""
                done, last = edit.end, words[-1]
            spaced.append(Edit(edit.start, edit.end, words))
        return spaced


class _Context:
    """Text around the forms of a scan."""

    def __init__(self, language: LanguageRules, text: str, tag: TagFunction) -> None:
        self.text = text
        self._language = language
        self._tag = tag
        self._tags: Mapping[int, str] | None = None
        self._found: dict[str, bool] = {}

    def find_doubts(self, kind: str, start: int, end: int) -> tuple[Doubt, ...]:
        """Return what speaks against a form of a kind."""
        return tuple(doubt for doubt in self._language.doubts.get(kind, ()) if self._holds(doubt, start, end))

    def _holds(self, doubt: Doubt, start: int, end: int) -> bool:
        language = self._language
        if doubt.after and not language.stands_before(doubt.after, self.text, start):
            return False
        if doubt.before and not language.stands_at(doubt.before, self.text, end):
            return False
        if (doubt.near and not self._has(doubt.near)) or (doubt.unless and self._has(doubt.unless)):
            return False
        return not doubt.next or self._next_tag(end) in doubt.next

    def _has(self, pattern: str) -> bool:
        if pattern not in self._found:
            self._found[pattern] = self._language.stands_in(pattern, self.text)
        return self._found[pattern]

    def _next_tag(self, place: int) -> str:
        """Return the part of speech of the word at a place or behind the space there, or ""."""
        if self._tags is None:
            self._tags = self._tag(self.text)
        return self._tags.get(place + (self.text[place : place + 1] == " "), "")


def _remove_doubts_about_neighbours(lattice: dict[int, list[Proposal]]) -> None:
    """Remove the doubts about forms that stand alone, from those that do not."""
    if not any(doubt.alone for proposals in lattice.values() for each in proposals for doubt in each.doubts):
        return
    first_end: dict[str, int] = {}  # of the forms of each kind
    last_start: dict[str, int] = {}
    for start, proposals in lattice.items():
        for proposal in proposals:
            if proposal.rule is not None:
                kind = proposal.rule.kind
                first_end[kind] = min(first_end.get(kind, proposal.end), proposal.end)
                last_start[kind] = start
    for start, proposals in lattice.items():
        for index, proposal in enumerate(proposals):
            doubts = tuple(
                doubt
                for doubt in proposal.doubts
                if not any(
                    first_end[kind] <= start or last_start[kind] >= proposal.end
                    for kind in doubt.alone
                    if kind in first_end
                )
            )
            if len(doubts) < len(proposal.doubts):
                cost = sum(doubt.cost for doubt in doubts)
                proposals[index] = proposal._replace(doubts=doubts, cost=cost)


_LINKED = "\ue000"


def fold(text: str) -> str:
    """Fold a text character by character to the forms that rules match.

    Digits of every script become 0 to 9. Spaces, apostrophes inside words, hyphens and minus signs become
    those of ASCII. Wide forms become narrow.
    """
    if text.isascii():
        return text.translate(_SPACES)
    chars = [_fold(char) for char in text]
    for place in range(1, len(chars) - 1):
        if chars[place] in _APOSTROPHES and chars[place - 1].isalpha() and chars[place + 1].isalpha():
            chars[place] = "'"
    return "".join(chars)


_SPACES = dict.fromkeys((9, 10, 11, 12, 13, 28, 29, 30, 31), " ")


@lru_cache(2048)
def _fold(char: str) -> str:
    if char.isspace():
        return " "
    if "\uff01" <= char <= "\uff5e":
        return chr(ord(char) - 0xFEE0)
    if char in "\u2010\u2011\u2212":
        return "-"
    figure = unicodedata.decimal(char, None)
    return char if figure is None else str(figure)


@lru_cache(2048)
def _kind(char: str) -> str:
    """Return "l" for a letter, "d" for a digit, "s" for a sign."""
    if char.isalpha():
        return "l"
    return "d" if char.isdecimal() else "l" if unicodedata.category(char) in ("Mn", "Mc") else "s"


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match and match.end() > place else place + 1


def _touches(char: str, other: str) -> bool:
    return _kind(char) != "s" and _kind(other) != "s" and not other.isspace()
