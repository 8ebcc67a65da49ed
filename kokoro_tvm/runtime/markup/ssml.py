"""The part of SSML 1.1 (W3C, 2010) that can be spoken, parsed as it comes by the standard library's expat.

A document type, and with it every entity of one's own, is refused. Text in unknown elements is spoken, and a
SpeechWarning names each of them once, as it does what else is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from xml.parsers import expat

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.frontend.source import Link, SourceText
from kokoro_tvm.runtime.markup.inline import LONGEST_LINK, in_one_line
from kokoro_tvm.runtime.markup.items import Break, Item, Known, Manner, Stretch
from kokoro_tvm.runtime.markup.values import at, check_symbols, from_ipa, pitch, rate, seconds
from kokoro_tvm.runtime.notices import warn

__all__ = ["parse_ssml"]

_BREAKS = {"none": None, "x-weak": 0.05, "weak": 0.2, "medium": 0.3, "strong": 0.4, "x-strong": 0.8}
_STRESSES = {"strong": 2.0, "moderate": 1.0, "none": None, "reduced": -1.0}
_ALPHABETS = ("ipa", "misaki")
_LANGUAGES = re.compile(r"(version|xmlns|xml|xsi)(:.*)?")  # attributes that say nothing about how to speak
_MOST_OPEN = 64  # elements within each other
_MOST_WAITING = 1 << 16  # bytes of a tag, or of what else expat does not hand out yet


def parse_ssml(portions: Iterator[str], known: Known) -> Iterator[Item]:
    """Stretches and breaks of an SSML document as it comes. Raises InputError with line and column."""
    reader = _Reader(known)
    for portion in portions:
        yield from reader.feed(portion, final=False)
    yield from reader.feed("", final=True)


@dataclass
class _Open:
    """An element that has begun: its name and place, and what holds again after it."""

    name: str
    line: int
    column: int
    manner: Manner
    stress: float | None


@dataclass
class _Held:
    """The text of an element that is spoken as its attributes say."""

    link: Link
    text: SourceText
    line: int
    column: int


class _Reader:
    def __init__(self, known: Known) -> None:
        self._known = known
        self._items: list[Item] = []
        self._open: list[_Open] = []
        self._manner = Manner()
        self._stress: float | None = None
        self._held: _Held | None = None
        self._noted: set[str] = set()
        # Bytes that expat has not handed out, the first of them by its place, and the first by character.
        self._bytes, self._base, self._seen, self._place = b"", 0, 0, 0
        self._cdata = False
        self._begun = False
        self._skipped = 1, 0  # lines and columns before the first character that is not space
        self._expat: Any = expat.ParserCreate("utf-8")
        if hasattr(self._expat, "SetReparseDeferralEnabled"):  # a tag is known as soon as it is there
            self._expat.SetReparseDeferralEnabled(False)
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartCdataSectionHandler = lambda: self._in_cdata(True)
        self._expat.EndCdataSectionHandler = lambda: self._in_cdata(False)
        self._expat.StartDoctypeDeclHandler = self._doctype

    def feed(self, portion: str, final: bool) -> list[Item]:
        """What a portion of the document completes."""
        if not self._begun:
            portion = self._begin(portion)
        try:
            data = portion.encode()
        except UnicodeEncodeError as error:
            raise InputError("The SSML is not valid UTF-8. Convert it to UTF-8 first.") from error
        self._base += self._seen
        self._bytes = self._bytes[self._seen :] + data
        self._seen = 0
        try:
            self._expat.Parse(data, final)
        except expat.ExpatError as error:
            raise self._malformed(error) from error
        if self._expat.CurrentByteIndex >= self._base:
            self._advance()
        if len(self._bytes) - self._seen > _MOST_WAITING:
            with self._here():
                raise InputError(f"what begins here has more than {_MOST_WAITING} bytes. Close the tag.")
        items, self._items = self._items, []
        return items

    def _begin(self, portion: str) -> str:
        """A portion without space before the document, where an XML declaration may have none."""
        rest = portion.lstrip("\ufeff \t\r\n")
        space = portion[: len(portion) - len(rest)]
        lines, column = self._skipped
        if "\n" in space:
            lines, column = lines + space.count("\n"), 0
        self._skipped = lines, column + len(space) - space.rfind("\n") - 1
        self._place += len(space)
        self._begun = bool(rest)
        return rest

    def _advance(self) -> int:
        """Go to the event that expat hands out; its place in the text."""
        index = self._expat.CurrentByteIndex - self._base
        self._place += len(self._bytes[self._seen : index].decode())
        self._seen = index
        return self._place

    def _position(self, line: int, column: int) -> tuple[int, int]:
        """Line and column from 1 on, in the text with the space before it."""
        lines, columns = self._skipped
        return line + lines - 1, column + 1 + (columns if line == 1 else 0)

    def _here(self) -> Any:
        return at(*self._position(self._expat.CurrentLineNumber, self._expat.CurrentColumnNumber))

    def _malformed(self, error: expat.ExpatError) -> InputError:
        line, column = self._position(error.lineno, error.offset)
        reason = expat.ErrorString(error.code)
        opened = ""
        if self._open:
            last = self._open[-1]
            opened = f" <{last.name}> of line {last.line}, column {last.column} is open there."
        hint = " Write & as &amp; and < as &lt;." if "token" in reason or "entity" in reason else ""
        return InputError(
            f"The SSML is not well-formed in line {line}, column {column}: {reason}.{opened}{hint}"
        )

    def _doctype(self, *_: object) -> None:
        with self._here():
            raise InputError("SSML with a document type is not read. Remove <!DOCTYPE ...> and its entities.")

    def _in_cdata(self, inside: bool) -> None:
        self._cdata = inside

    def _note(self, what: str) -> None:
        if what not in self._noted:
            self._noted.add(what)
            line, _ = self._position(self._expat.CurrentLineNumber, 0)
            warn(f"In line {line} of the SSML, {what}.")

    def _characters(self, text: str) -> None:
        start = self._advance()
        source = SourceText.of(text, start)
        if not self._cdata and self._bytes[self._seen : self._seen + 1] == b"&":
            end = self._bytes.index(b";", self._seen) + 1
            length = len(self._bytes[self._seen : end].decode())
            source = SourceText(text, (start,) * len(text), (start + length,) * len(text))
        elif text == "\n" and self._bytes[self._seen : self._seen + 2] == b"\r\n":
            source = SourceText(text, (start,), (start + 2,))
        if self._held is None:
            self._say(source)
        elif len(self._held.text.text) + len(text) > LONGEST_LINK:
            with at(self._held.line, self._held.column):
                raise InputError(f"<{self._open[-1].name}> has more than {LONGEST_LINK} characters.")
        else:
            before = self._held.text
            self._held.text = SourceText(
                before.text + text, before.starts + source.starts, before.ends + source.ends
            )

    def _say(self, source: SourceText) -> None:
        if self._stress is not None:
            words = re.finditer(r"\w+", source.text)
            links = tuple(Link(word.start(), word.end(), stress=self._stress) for word in words)
            source = replace(source, links=links)
        self._items.append(Stretch(source, self._manner))

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._advance()
        with self._here():
            if not self._open and name != "speak":
                raise InputError(f"SSML begins with <speak>, not with <{name}>.")
            if len(self._open) == _MOST_OPEN:
                raise InputError(f"more than {_MOST_OPEN} elements are open. Close some of them.")
            if self._held is not None:
                raise InputError(f"<{self._open[-1].name}> holds text alone, no <{name}>.")
            line, column = self._position(self._expat.CurrentLineNumber, self._expat.CurrentColumnNumber)
            self._open.append(_Open(name, line, column, self._manner, self._stress))
            begin = getattr(self, f"_begin_{name}", None) if name in _ELEMENTS else None
            if begin is None:
                self._note(f"<{name}> is not known; its text is spoken")
                return
            begin(attributes)
            for other in attributes:
                if other not in _ELEMENTS[name] and not _LANGUAGES.fullmatch(other):
                    self._note(f"'{other}' of <{name}> changes nothing")

    def _end(self, name: str) -> None:
        place = self._advance()
        if self._held is not None:
            self._release(self._held, place)
        opened = self._open.pop()
        self._speak_as(opened.manner)
        self._stress = opened.stress
        if name in ("p", "s"):
            self._items.append(Break("paragraph" if name == "p" else "sentence"))

    def _speak_as(self, manner: Manner) -> None:
        if manner.voice != self._manner.voice:
            self._items.append(Break())
        self._manner = manner

    def _release(self, held: _Held, place: int) -> None:
        """Hand out the text of <phoneme> and <sub>; of one without text, what is spoken."""
        self._held = None
        text = in_one_line(held.text)
        if not text.text:
            spoken = held.link.phonemes or held.link.alias or ""
            text = SourceText(spoken, (place,) * len(spoken), (place,) * len(spoken))
        link = replace(held.link, end=len(text.text))
        self._items.append(Stretch(replace(text, links=(link,) if text.text else ()), self._manner))

    def _hold(self, link: Link) -> None:
        opened = self._open[-1]
        self._held = _Held(link, SourceText.of(""), opened.line, opened.column)

    def _begin_speak(self, attributes: Mapping[str, str]) -> None:
        if len(self._open) > 1:
            self._note("<speak> stands within <speak>")

    def _begin_p(self, attributes: Mapping[str, str]) -> None:
        self._items.append(Break("paragraph"))

    def _begin_s(self, attributes: Mapping[str, str]) -> None:
        self._items.append(Break("sentence"))

    def _begin_break(self, attributes: Mapping[str, str]) -> None:
        strength = attributes.get("strength", "medium")
        if strength not in _BREAKS:
            raise InputError(f"'{strength:.40}' is no strength of <break>. Known: {', '.join(_BREAKS)}.")
        length = _BREAKS[strength]
        if "time" in attributes:
            length = seconds(attributes["time"], 'time="0.5s" or time="500ms"')
        if length is not None:
            self._items.append(Break(pause=length))

    def _begin_phoneme(self, attributes: Mapping[str, str]) -> None:
        alphabet = attributes.get("alphabet", "misaki")
        if alphabet not in _ALPHABETS:
            known = " and ".join(_ALPHABETS)
            raise InputError(f"The alphabet '{alphabet:.40}' of <phoneme> is not known. Known are {known}.")
        phonemes = attributes.get("ph", "").strip()
        if not phonemes:
            raise InputError('<phoneme> needs phonemes. Write them as ph="...".')
        self._check_length("ph", phonemes)
        if alphabet == "ipa":
            phonemes = from_ipa(phonemes, self._known.language(self._manner.voice))
        self._hold(Link(0, 0, phonemes=check_symbols(phonemes, self._known.symbols)))

    def _begin_sub(self, attributes: Mapping[str, str]) -> None:
        alias = " ".join(attributes.get("alias", "").split())
        if not alias:
            raise InputError('<sub> needs what is spoken. Write it as alias="...".')
        self._check_length("alias", alias)
        self._hold(Link(0, 0, alias=alias))

    def _check_length(self, name: str, value: str) -> None:
        if len(value) > LONGEST_LINK:
            raise InputError(f"'{name}' has {len(value)} characters; {LONGEST_LINK} are the most.")

    def _begin_prosody(self, attributes: Mapping[str, str]) -> None:
        manner = self._manner
        if "rate" in attributes:
            manner = replace(manner, rate=rate(attributes["rate"]))
        if "pitch" in attributes:
            factor = pitch(attributes["pitch"], manner.pitch)
            if factor is None:
                self._note("a pitch in Hz changes nothing; write a change of it, such as +10%")
            else:
                manner = replace(manner, pitch=factor)
        self._speak_as(manner)

    def _begin_emphasis(self, attributes: Mapping[str, str]) -> None:
        level = attributes.get("level", "moderate")
        if level not in _STRESSES:
            raise InputError(f"'{level:.40}' is no level of <emphasis>. Known: {', '.join(_STRESSES)}.")
        self._stress = _STRESSES[level]

    def _begin_voice(self, attributes: Mapping[str, str]) -> None:
        name = attributes.get("name", "").strip()
        if not name:
            self._note("<voice> has no name, so the voice stays the same")
            return
        self._known.language(name)
        self._speak_as(replace(self._manner, voice=name))


_ELEMENTS: Mapping[str, tuple[str, ...]] = {
    "speak": (),
    "p": (),
    "s": (),
    "break": ("time", "strength"),
    "phoneme": ("ph", "alphabet"),
    "sub": ("alias",),
    "prosody": ("rate", "pitch"),
    "emphasis": ("level",),
    "voice": ("name",),
}
"""Elements that are followed, with the attributes that are."""
