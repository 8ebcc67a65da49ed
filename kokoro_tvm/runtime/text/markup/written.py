"""Write markup of any kind as brackets."""

from __future__ import annotations

from collections.abc import Iterable

from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.markup.items import Break, MarkupItem, SpeakingStyle


def write_brackets(items: Iterable[MarkupItem], voice: str | None) -> str:
    """Return a text that `parse_brackets` parses to the same items, except for pitches.

    Whitespace becomes one space, and blank lines separate paragraphs.

    Args:
        items: Of any parser.
        voice: Voice of the request; without it voices and rates are dropped.
    """
    paragraphs: list[list[str]] = [[]]
    style = SpeakingStyle()
    for item in items:
        if isinstance(item, Break):
            if item.pause is not None:
                paragraphs[-1].append(f" [pause:{item.pause:g}s] ")
            elif item.boundary == "paragraph":
                paragraphs.append([])
            else:
                paragraphs[-1].append(" ")
            continue
        if voice is not None:
            if item.style.voice != style.voice:
                paragraphs[-1].append(f" [voice:{item.style.voice or voice}] ")
            if item.style.rate != style.rate:
                paragraphs[-1].append(f"[rate:{item.style.rate:g}]")
            style = item.style
        paragraphs[-1].append(_linked(item.source))
    lines = (" ".join("".join(parts).split()) for parts in paragraphs)
    return "\n\n".join(line for line in lines if line)


def _linked(source: SourceText) -> str:
    parts, end = [], 0
    for link in source.links:
        parts += [source.text[end : link.start], _link(source.text[link.start : link.end], link)]
        end = link.end
    return "".join((*parts, source.text[end:]))


def _link(text: str, link: Link) -> str:
    if link.alias is not None:
        return link.alias
    request = f"/{link.phonemes}/" if link.phonemes else f"{link.stress:+g}"
    if link.phonemes and link.phonemes.isascii():
        request = f"/{link.phonemes} /"  # with a space, so that it is no path
    return text if set("[]()") & set(text + request) else f"[{text}]({request})"
