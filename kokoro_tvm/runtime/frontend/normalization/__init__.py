"""Written forms to the words they are read as, before the front end: each transformation keeps its places."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from kokoro_tvm.runtime.frontend.normalization import (
    abbreviations,
    addresses,
    dates,
    emoji,
    fractions,
    markdown,
    maths,
    measures,
    money,
    phones,
    ranges,
    roman,
    streets,
    times,
)
from kokoro_tvm.runtime.frontend.source import Edit, SourceText, free

__all__ = ["FORMS", "normalize"]

_Pass = Callable[[str], Iterable[Edit]]

# What is no language: markup. The order matters: a tag may be written by an entity and is none then.
_MARKUP: tuple[_Pass, ...] = (markdown.tags, markdown.entities, markdown.marks)


def _english(dates_of: _Pass) -> tuple[_Pass, ...]:
    """Passes of an English. What claims more comes first: "10-20 km" is read before "10-20"."""
    return (
        *_MARKUP,
        addresses.web,
        addresses.mail,
        addresses.tags,
        emoji.names,
        dates_of,
        times.clocks,
        phones.numbers,
        money.amounts,
        money.after,
        measures.prices,
        measures.units,
        measures.feet,
        fractions.fractions,
        ranges.ranges,
        roman.numerals,
        streets.streets,
        abbreviations.titles,
        abbreviations.others,
        maths.powers,
        maths.signs,
    )


_PASSES = {"a": _english(dates.american), "b": _english(dates.british)}

FORMS: dict[str, Collection[_Pass]] = {
    "all": frozenset(edits for passes in _PASSES.values() for edits in passes) - frozenset(_MARKUP),
    "units": {measures.prices, measures.units, measures.feet},
    "web": {addresses.web},
    "mail": {addresses.mail},
    "phones": {phones.numbers},
    "signs": {addresses.tags, maths.powers, maths.signs},
}
"""Kinds of written forms that can be left unread, with their passes; markup is none of them."""


def normalize(source: SourceText, code: str, unread: Collection[str] = ()) -> SourceText:
    """The text as it is to be read in the language of `code` (a letter of LANGUAGES); links stay as they are.

    Languages other than English lose their markup alone. What is read right as it stands is not changed, nor
    are forms of the kinds `unread`, of FORMS.
    """
    left = {edits for kind in unread for edits in FORMS[kind]}
    source = source.edited(free(markdown.pictures(source), source.links))
    for edits in _PASSES.get(code, _MARKUP):
        if edits not in left:
            source = source.edited(free(edits(source.text), source.links))
    return source
