"""Write formulas so that they are read, and leave out citations, code, notes and formulas.

The result depends on the text alone, not on the runs it arrives in: text that may still become one of these
is held back, up to a bound. Characters keep their places in the source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.notices import warn
from kokoro_tvm.runtime.text.frontend.source import Edit, SourceText, skip_links
from kokoro_tvm.runtime.text.markup.formulas import ARGUMENT, FORMULA, write_formula
from kokoro_tvm.runtime.text.markup.items import MarkupItem, TextRun

_YEAR = r"(?:1[5-9]|20)\d\d[a-z]?"
_CITATION = re.compile(
    r"\[(?:\d{1,4}(?:[,;–-] ?\d{1,4}){0,19}|citation needed)\](?![(:\[])"
    rf"|\((?:[^()\d\n]{{2,80}}?,? {_YEAR}(?:, ?pp?\. ?\d[\d–-]{{0,9}})?(?:; ?|(?=\)))){{1,9}}\)"
)
_FENCED = re.compile(
    r"(?:(?<=\n)|\A)(?P<mark>```|~~~)[^\n]*\n(?:[^\n]*\n){0,2000}?(?:(?P=mark)[^\n]*|[^\n]*\Z)"
)
_CODE = re.compile(r"(?P<ticks>`{1,2})(?!`)[^`\n]{1,400}(?P=ticks)(?!`)")
_NOTE = re.compile(
    r"(?:(?<=\n)|\A)\[\^[\w-]{1,40}\]:[^\n]*(?:\n(?: {2,4}|\t)[^\n]*){0,50}|\[\^[\w-]{1,40}\]"
    r"|(?<=[^\W\d_][^\W\d_][^\W\d_])[⁰¹²³⁴-⁹]{1,3}(?!\w)|(?<=[.,;:!?”»)])[⁰¹²³⁴-⁹]{1,3}(?!\w)"
)
# What a text may be the beginning of.
_CITATION_BEGUN = re.compile(r"\[[^\[\]\n]{0,120}\Z|\([^()\n]{0,400}\Z")
_CODE_BEGUN = re.compile(r"(?:```|~~~)[\s\S]{0,65536}\Z|~{1,2}\Z|`{1,2}[^`\n]{0,400}`?\Z")
_FORMULA_BEGUN = re.compile(
    r"`{1,2}[^`\n]{0,400}`?\Z|\$(?![\s$])(?:[^$\\\n.!?]|\\.|[.!?](?!\s)){0,400}\\?\Z|\$\Z"
    r"|\$\$[\s\S]{0,2000}\Z|\\(?:[\[(]|begin\{)[\s\S]{0,2000}\Z"
    r"|\\[A-Za-z]{0,20}\Z|\\[A-Za-z]{2,20}[\[{_^][^\n]{0,400}\Z"
)
_NOTE_BEGUN = re.compile(r"\[(?:\^[\w-]{0,40}(?:\](?::[^\n]*)?)?)?\Z|[⁰¹²³⁴-⁹]{1,3}\Z")
# What is one already, and may go on.
_FORMULA_GOES_ON = re.compile(
    rf"\\[A-Za-z]{{1,20}}(?=(?P<whole>{ARGUMENT}{{0,4}}))(?P=whole)"
    r"(?:[_^]\\?|[_^]?\{[^\n]{0,400}|\[[^\]\n]{0,20})?\Z"
)
_NOTE_GOES_ON = re.compile(r"\[\^[\w-]{1,40}\](?::[^\n]*(?:\n(?: {2,4}|\t)[^\n]*){0,50}(?:\n[ \t]*)?)?\Z")


@dataclass(frozen=True)
class OmissionKind:
    """A kind of text that can be left out.

    Attributes:
        singular, plural: What it is, in a notice.
        openers: First characters of such a text.
        patterns: Expressions of such a text, in the order in which they are tried.
        begun: Expression of a text that more text may make one.
        goes_on: Expression of one that more text may lengthen; None: that is no more than what matched.
    """

    singular: str
    plural: str
    openers: str
    patterns: tuple[re.Pattern[str], ...]
    begun: re.Pattern[str]
    goes_on: re.Pattern[str] | None = None

    def describe(self, count: int) -> str:
        """Return a number of such texts as a phrase."""
        return f"{count} {self.plural if count > 1 else self.singular}"


OMISSIONS = {
    "citations": OmissionKind("citation", "citations", "[(", (_CITATION,), _CITATION_BEGUN),
    "code": OmissionKind("piece of code", "pieces of code", "`~", (_FENCED, _CODE), _CODE_BEGUN),
    "math": OmissionKind("formula", "formulas", "`$\\", (FORMULA,), _FORMULA_BEGUN, _FORMULA_GOES_ON),
    "notes": OmissionKind("note", "notes", "[⁰¹²³⁴⁵⁶⁷⁸⁹", (_NOTE,), _NOTE_BEGUN, _NOTE_GOES_ON),
}
"""Kinds of text that can be left out, in the order in which a match wins. Formulas are read otherwise."""
_CONTEXT = 3  # characters before a match that it depends on


def check_omissions(kinds: Collection[str]) -> frozenset[str]:
    """Return the kinds as a set.

    Raises:
        InputError: One is no key of `OMISSIONS`.
    """
    for kind in kinds:
        if kind not in OMISSIONS:
            raise InputError(f"There is no kind of text '{kind}' to skip. Known: {', '.join(OMISSIONS)}.")
    return frozenset(kinds)


def omit(items: Iterable[MarkupItem], skip: Collection[str] = ()) -> Iterator[MarkupItem]:
    """Yield the items with formulas written in a line, and without the kinds of text in `skip`.

    A SpeechWarning at the end tells how many of each kind were left out.

    Raises:
        InputError: A kind is unknown.
    """
    kinds = check_omissions(skip)
    counts: Counter[str] = Counter()
    pending = _PendingText(kinds, counts)
    for item in items:
        if not isinstance(item, TextRun):
            yield from pending.flush()
            yield item
            continue
        if pending.run is not None and pending.run.style != item.style:
            yield from pending.flush()
        yield from pending.add(item)
    yield from pending.flush()
    if counts:
        shown = (OMISSIONS[kind].describe(counts[kind]) for kind in sorted(counts))
        warn(f"Left out, as asked: {', '.join(shown)}.")


class _PendingText:
    """Text of one style that later text may change."""

    def __init__(self, skip: frozenset[str], counts: Counter[str]) -> None:
        self.run: TextRun | None = None
        self._skip = skip
        self._counts = counts
        self._before = ""  # characters before the run
        self._patterns = [
            (kind, pattern)
            for kind, record in OMISSIONS.items()
            for pattern in record.patterns
            if kind in skip | {"math"} or pattern is _CODE  # what is code is no formula
        ]
        active = [record for kind, record in OMISSIONS.items() if kind in skip | {"math"}]
        self._begun = [record.begun for record in active]
        self._opener = re.compile(f"[{re.escape(''.join(record.openers for record in active))}]")

    def add(self, run: TextRun) -> Iterator[TextRun]:
        """Append a run of the same style; yield what is certain."""
        if self.run is not None:
            run = TextRun(SourceText.concatenate((self.run.source, run.source)), run.style)
        yield from self._take(run, is_complete=False)

    def flush(self) -> Iterator[TextRun]:
        """Yield the rest; what follows stands in no relation to it."""
        if self.run is not None:
            yield from self._take(self.run, is_complete=True)
        self._before = ""

    def _take(self, run: TextRun, is_complete: bool) -> Iterator[TextRun]:
        text = self._before + run.source.text
        edits, end = self._scan(text, len(self._before), is_complete)
        shift = len(self._before)
        length = end - shift
        self._before = text[max(0, end - _CONTEXT) : end]
        source = run.source
        self.run = None
        if length < len(source.text):
            self.run = TextRun(source.join_slices([(length, len(source.text))]), run.style)
            source = source.join_slices([(0, length)]) if length else SourceText.of("")
        moved = (Edit(edit.start - shift, edit.end - shift, edit.text) for edit in edits)
        source = source.apply_edits(skip_links(moved, source.links))
        if source.text:
            yield TextRun(source, run.style)

    def _scan(self, text: str, start: int, is_complete: bool) -> tuple[list[Edit], int]:
        """Return the edits of a text from `start` on, and up to where it is certain."""
        edits: list[Edit] = []
        place = start
        while (opener := self._opener.search(text, place)) is not None:
            place = opener.start()
            kind, match = self._match(text, place)
            goes_on = OMISSIONS[kind].goes_on if kind else None
            is_whole = is_complete or goes_on is None or goes_on.match(text, place) is None
            if match is not None and is_whole and (is_complete or match.end() < len(text)):
                if kind in self._skip:
                    edits.append(Edit(_strip_spaces(text, start, place), match.end(), ""))
                    self._counts[kind] += 1
                elif kind == "math":
                    edits.append(Edit(place, match.end(), write_formula(match)))
                place = match.end()
            elif not is_complete and (match or any(begun.match(text, place) for begun in self._begun)):
                return edits, self._without_trailing(text, start, place)
            else:
                place += 1
        end = len(text)
        return edits, end if is_complete else self._without_trailing(
            text, max(start, place if edits else start), end
        )

    def _match(self, text: str, place: int) -> tuple[str, re.Match[str] | None]:
        for kind, pattern in self._patterns:
            if match := pattern.match(text, place):
                return kind, match
        return "", None

    def _without_trailing(self, text: str, start: int, end: int) -> int:
        """Return where the spaces before `end` begin: they go with what may be left out."""
        return _strip_spaces(text, start, end) if self._skip else end


def _strip_spaces(text: str, start: int, end: int) -> int:
    """Return where the spaces and tabs before `end` begin, `start` at the earliest."""
    while end > start and text[end - 1] in " \t":
        end -= 1
    return end
