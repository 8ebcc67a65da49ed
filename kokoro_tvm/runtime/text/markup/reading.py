"""How a text with markup is read: the utterances of its paragraphs, with their places, and the pauses."""

from __future__ import annotations

from dataclasses import replace

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.notices import quoted
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance
from kokoro_tvm.runtime.text.markup import Known, parse
from kokoro_tvm.runtime.text.markup.passages import marked_sections
from kokoro_tvm.runtime.text.reading import check_text, spoken_utterances

__all__ = ["read_marked"]


def read_marked(
    text: str, known: Known, front_end: FrontEnd, ssml: bool | None = None, markup: bool = True
) -> list[Utterance]:
    """Utterances of a text, one a paragraph, divided at breaks too; spans are places in the text.

    An utterance without tokens is a pause. A SpeechWarning names what was left out, and which words no
    lexicon has. Raises InputError for what cannot be spoken, and for markup that makes no sense.
    """
    utterances: list[Utterance] = []
    speakable = False
    for section in marked_sections(parse(text, known, ssml, markup)):
        found: list[Utterance] = []
        if section.own.speakable:
            speakable = True
            for utterance in spoken_utterances(section.own, known.language(section.voice), front_end):
                found.append(Utterance(tuple(_placed(t, section.source) for t in utterance.tokens)))
        if section.pause is not None:
            *before, last = found or [Utterance(())]
            found = [*before, replace(last, pause=section.pause)]
        utterances += found
    if not any(utterance.tokens for utterance in utterances):
        check_text(SourceText.of(text))
        raise InputError(
            f"There is nothing to speak: no phonemes came of {quoted(text)}."
            if speakable
            else "There is nothing to speak: outside of markup, the text has no letter or digit."
        )
    return utterances


def _placed(token: Token, source: SourceText) -> Token:
    start, end = source.span(token.start, token.end) if token.start < token.end else (0, 0)
    return replace(token, start=start, end=end)
