"""Streaming parser of a subset of SSML 1.1 (W3C, 2010).

Text in unknown elements is spoken, text of descriptions is not. A SpeechWarning names each of them once, and
attributes without effect.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.markup.inline import LONGEST_LINK, collapse_space
from kokoro_tvm.runtime.text.markup.items import Break, MarkupItem, MarkupVocabulary, SpeakingStyle, TextRun
from kokoro_tvm.runtime.text.markup.values import (
    check_symbols,
    convert_ipa,
    list_symbols,
    locate_errors,
    parse_duration,
    parse_pitch,
    parse_rate,
)
from kokoro_tvm.runtime.text.markup.xml import XmlStreamParser

BREAKS = {"none": None, "x-weak": 0.05, "weak": 0.2, "medium": 0.3, "strong": 0.4, "x-strong": 0.8}
"""Strength of `<break>` to seconds; None for no pause."""
_STRESSES = {"strong": 2.0, "moderate": 1.0, "none": None, "reduced": -1.0}
_SILENT = frozenset({"desc", "metadata"})  # not part of the text
_NEUTRAL_ATTRIBUTES = re.compile(r"(version|xmlns|xml|xsi)(:.*)?")  # attributes without effect
_MAX_DEPTH = 64  # of nested elements


def parse_ssml(portions: Iterator[str], vocabulary: MarkupVocabulary) -> Iterator[MarkupItem]:
    """Yield the items of an SSML document as it arrives.

    Raises:
        InputError: With line and column: the document is invalid.
    """
    elements = _SsmlHandler(vocabulary)
    document = XmlStreamParser(elements)
    for portion in portions:
        document.feed(portion, final=False)
        yield from elements.items
        elements.items.clear()
    document.feed("", final=True)
    yield from elements.items


@dataclass
class _OpenElement:
    """Open element, and the style and stress that apply again after it."""

    name: str
    line: int
    column: int
    style: SpeakingStyle
    stress: float | None


@dataclass
class _PendingText:
    """Text of an open <phoneme> or <sub>, and the link that replaces it."""

    link: Link
    text: SourceText


class _SsmlHandler:
    """Handler of XML events that collects items."""

    def __init__(self, vocabulary: MarkupVocabulary) -> None:
        self.items: list[MarkupItem] = []
        self._vocabulary = vocabulary
        self._open: list[_OpenElement] = []
        self._style = SpeakingStyle()
        self._stress: float | None = None
        self._pending: _PendingText | None = None
        self._silent = 0  # depth within an element of _SILENT
        self._noted: set[str] = set()

    @property
    def innermost(self) -> str:
        """The innermost open element with its place; "" if there is none."""
        if not self._open:
            return ""
        last = self._open[-1]
        return f"<{truncate(last.name)}> of line {last.line}, column {last.column}"

    def start(self, name: str, attributes: Mapping[str, str], line: int, column: int) -> None:
        """Begin an element; its style applies until it ends."""
        if not self._open and name != "speak":
            raise InputError(f"SSML begins with <speak>, not with <{truncate(name)}>.")
        if len(self._open) == _MAX_DEPTH:
            raise InputError(f"more than {_MAX_DEPTH} elements are open. Close some of them.")
        if self._pending is not None:
            raise InputError(f"<{self._open[-1].name}> holds text alone, no <{truncate(name)}>.")
        self._open.append(_OpenElement(name, line, column, self._style, self._stress))
        if self._silent or name in _SILENT:
            if not self._silent:
                self._note(f"<{name}> is left out")
            self._silent += 1
            return
        if name not in ELEMENTS:
            self._note(f"<{truncate(name)}> is not known; its text is spoken")
            return
        getattr(self, f"_{name}")(attributes)
        for other in attributes:
            if other not in ELEMENTS[name].attributes and not _NEUTRAL_ATTRIBUTES.fullmatch(other):
                self._note(f"{quoted(other)} of <{name}> changes nothing")

    def end(self, name: str, place: int) -> None:
        """End an element and restore the style before it."""
        if self._pending is not None:
            self._end_pending(self._pending, place)
        opened = self._open.pop()
        self._set_style(opened.style)
        self._stress = opened.stress
        if self._silent:
            self._silent -= 1
        elif name in ("p", "s"):
            self.items.append(Break("paragraph" if name == "p" else "sentence"))

    def text(self, source: SourceText) -> None:
        """Add characters to the items, or to the pending text."""
        if self._silent:
            return
        if self._pending is None:
            self._add_text(source)
            return
        before = self._pending.text
        if len(before.text) + len(source.text) > LONGEST_LINK:
            opened = self._open[-1]
            with locate_errors(opened.line, opened.column):
                raise InputError(f"<{opened.name}> has more than {LONGEST_LINK} characters.")
        self._pending.text = SourceText(
            before.text + source.text, before.starts + source.starts, before.ends + source.ends
        )

    def _note(self, what: str) -> None:
        if what not in self._noted:
            self._noted.add(what)
            warn(f"In line {self._open[-1].line} of the SSML, {what}.")

    def _add_text(self, source: SourceText) -> None:
        if self._stress is not None:
            words = re.finditer(r"\w+", source.text)
            links = tuple(Link(word.start(), word.end(), stress=self._stress) for word in words)
            source = replace(source, links=links)
        self.items.append(TextRun(source, self._style))

    def _set_style(self, style: SpeakingStyle) -> None:
        if style.voice != self._style.voice:
            self.items.append(Break())
        self._style = style

    def _end_pending(self, pending: _PendingText, place: int) -> None:
        """Add the pending text with its link; an empty element gets what is spoken as its text."""
        self._pending = None
        text = collapse_space(pending.text)
        if not text.text:
            replacement = pending.link.phonemes or pending.link.alias or ""
            text = SourceText(replacement, (place,) * len(replacement), (place,) * len(replacement))
        link = replace(pending.link, end=len(text.text))
        self.items.append(TextRun(replace(text, links=(link,) if text.text else ()), self._style))

    def _begin_pending(self, link: Link) -> None:
        self._pending = _PendingText(link, SourceText.of(""))

    def _speak(self, attributes: Mapping[str, str]) -> None:
        if len(self._open) > 1:
            self._note("<speak> stands within <speak>")

    def _p(self, attributes: Mapping[str, str]) -> None:
        self.items.append(Break("paragraph"))

    def _s(self, attributes: Mapping[str, str]) -> None:
        self.items.append(Break("sentence"))

    def _break(self, attributes: Mapping[str, str]) -> None:
        strength = attributes.get("strength", "medium")
        if strength not in BREAKS:
            raise InputError(f"{quoted(strength)} is no strength of <break>. Known: {', '.join(BREAKS)}.")
        length = BREAKS[strength]
        if "time" in attributes:
            length = parse_duration(attributes["time"], 'time="0.5s" or time="500ms"')
        if length is not None:
            self.items.append(Break(pause=length))

    def _phoneme(self, attributes: Mapping[str, str]) -> None:
        alphabet = attributes.get("alphabet", "misaki").lower()
        phonemes = attributes.get("ph", "").strip()
        if not phonemes:
            raise InputError('<phoneme> needs phonemes. Write them as ph="...".')
        self._check_length("ph", phonemes)
        if alphabet == "misaki":
            phonemes = check_symbols(phonemes, self._vocabulary.symbols)
        elif alphabet == "ipa":
            phonemes = self._from_ipa(phonemes)
        else:
            self._note(f"the alphabet {quoted(alphabet)} of <phoneme> is not known; its text is spoken")
            return
        if phonemes:
            self._begin_pending(Link(0, 0, phonemes=phonemes))

    def _from_ipa(self, phonemes: str) -> str:
        """Convert IPA to the model's symbols; marks that it does not know are left out with a note."""
        symbols: Collection[str] = {*self._vocabulary.symbols, " "}
        converted = " ".join(convert_ipa(phonemes, self._vocabulary.language(self._style.voice)).split())
        if unknown := list_symbols(symbol for symbol in converted if symbol not in symbols):
            self._note(
                f"the model does not know these phonemes of {quoted(phonemes)}: {unknown}; they are left out"
            )
        return "".join(symbol for symbol in converted if symbol in symbols).strip()

    def _sub(self, attributes: Mapping[str, str]) -> None:
        alias = " ".join(attributes.get("alias", "").split())
        if not alias:
            raise InputError('<sub> needs what is spoken. Write it as alias="...".')
        self._check_length("alias", alias)
        self._begin_pending(Link(0, 0, alias=alias))

    def _check_length(self, name: str, value: str) -> None:
        if len(value) > LONGEST_LINK:
            raise InputError(f"'{name}' has {len(value)} characters; {LONGEST_LINK} are the most.")

    def _prosody(self, attributes: Mapping[str, str]) -> None:
        style = self._style
        if "rate" in attributes:
            style = replace(style, rate=parse_rate(attributes["rate"]))
        if "pitch" in attributes:
            factor = parse_pitch(attributes["pitch"], style.pitch)
            if factor is None:
                self._note("a pitch in Hz changes nothing; write a change of it, such as +10%")
            else:
                style = replace(style, pitch=factor)
        self._set_style(style)

    def _emphasis(self, attributes: Mapping[str, str]) -> None:
        level = attributes.get("level", "moderate")
        if level not in _STRESSES:
            raise InputError(f"{quoted(level)} is no level of <emphasis>. Known: {', '.join(_STRESSES)}.")
        self._stress = _STRESSES[level]

    def _voice(self, attributes: Mapping[str, str]) -> None:
        name = attributes.get("name", "").strip()
        if not name:
            self._note("<voice> has no name, so the voice stays the same")
            return
        self._vocabulary.language(name)
        self._set_style(replace(self._style, voice=name))


@dataclass(frozen=True)
class SupportedElement:
    """Element that has an effect, with the attributes that have one."""

    about: str
    attributes: tuple[str, ...] = ()


ELEMENTS: Mapping[str, SupportedElement] = {
    "speak": SupportedElement("The document."),
    "p": SupportedElement("A paragraph, with a pause after it."),
    "s": SupportedElement("A sentence, with a pause after it."),
    "break": SupportedElement("A pause of `time`, or of `strength`.", ("time", "strength")),
    "phoneme": SupportedElement(
        "`ph` in the place of the text, of the `alphabet` ipa or misaki.", ("ph", "alphabet")
    ),
    "sub": SupportedElement("`alias` in the place of the text.", ("alias",)),
    "prosody": SupportedElement("Another `rate` or `pitch`.", ("rate", "pitch")),
    "emphasis": SupportedElement("More or less stress, by `level`.", ("level",)),
    "voice": SupportedElement("Another voice, of this `name`.", ("name",)),
    **dict.fromkeys(sorted(_SILENT), SupportedElement("Left out, with its text.")),
}
"""Elements that have an effect."""
IGNORED_ELEMENTS = ("audio", "lang", "mark", "say-as", "token", "w")
"""Other elements of SSML, whose text is spoken as that of unknown ones."""
