"""How `kokoro-tvm say` speaks: chunk by chunk, to a file, a loudspeaker, captions."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kokoro_tvm.common.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kokoro_tvm.runtime import Plan, Stream, Synthesizer, TimedWord
    from kokoro_tvm.runtime.documents.readers import Document
    from kokoro_tvm.runtime.documents.writers import Mark

__all__ = [
    "Receive",
    "SpeechInput",
    "SpeechOutput",
    "document_of",
    "marks_of",
    "piping",
    "playing",
    "speak",
]

_LONG = 400  # characters; what is longer shows its progress

Receive = Callable[["NDArray[np.float32]"], None]


@dataclass
class SpeechOutput:
    """What was spoken: samples, those that were computed now, words and marks, the start of every chunk as
    (character of the source, sample)."""

    samples: int = 0
    computed: int = 0
    timeline: list[TimedWord] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)


def document_of(text: str, file: Path | None) -> Document:
    """The file's text, or the argument's (`-` is standard input). Raises InputError."""
    from kokoro_tvm.runtime.documents.readers import read_document
    from kokoro_tvm.runtime.documents.readers.document import Chapter, Document

    if file is not None and text:
        raise InputError("TEXT and --input FILE exclude each other. Give one of them.")
    if file is not None:
        return read_document(file)
    return Document("", (Chapter("", _standard_input() if text == "-" else text),))


@dataclass(frozen=True)
class SpeechInput:
    """A document and how it is spoken.

    manner: voice, speed and seed, which a document that is a plan has itself; phonemes: its text is phonemes;
    markup: which is followed where it is not.
    """

    tts: Synthesizer
    document: Document
    manner: dict[str, Any]
    phonemes: bool
    markup: dict[str, Any]

    def plan(self) -> Plan:
        """The plan of it."""
        tts, document = self.tts, self.document
        if document.plan is not None:
            return tts.complete(document.plan)
        if document.slots:
            from kokoro_tvm.runtime.documents.slots import plan_slots

            return plan_slots(document.slots, lambda text: tts.plan(text, **self.markup, **self.manner))
        if self.phonemes:
            return tts.plan_phonemes(document.text, **self.manner)
        return tts.plan(document.text, **self.markup, **self.manner)

    def stream(self, skip: int) -> Stream:
        """The chunks of it; the first `skip` are not computed."""
        if self.document.plan is not None or self.document.slots:
            return self.tts.render_stream(self.plan(), skip=skip)
        if self.phonemes:
            return self.tts.stream_phonemes(self.document.text, skip=skip, **self.manner)
        return self.tts.stream(self.document.text, skip=skip, **self.markup, **self.manner)

    def digest(self) -> str:
        """Of all that decides about the samples."""
        import kokoro_tvm

        tts, document = self.tts, self.document
        slots = [[slot.start, slot.end, slot.text] for slot in document.slots]
        plan = document.plan.to_json() if document.plan is not None else None
        parts: list[Any] = [kokoro_tvm.__version__, tts.bundle.sha256, document.text, slots, plan]
        parts += [self.phonemes, self.manner, self.markup, tts.front_end.lexicon.entries, tts.voices.own]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def speak(stream: Stream, length: int, receivers: list[Receive]) -> SpeechOutput:
    """Hand the audio of every chunk to all receivers, and show how much of `length` characters is spoken."""
    spoken = SpeechOutput()
    with _progress(length) as shown:
        for chunk in stream:
            if chunk.rendered:
                spoken.computed += chunk.audio.size
                for receive in receivers:
                    receive(chunk.audio)
            spoken.timeline += chunk.timeline
            if chunk.piece.words:
                spoken.starts.append((chunk.piece.words[0].start, chunk.start))
                shown(chunk.piece.words[-1].end)
            spoken.samples = chunk.start + chunk.piece.samples(stream.plan.samples_per_frame)
    return spoken


def marks_of(document: Document, spoken: SpeechOutput) -> list[Mark]:
    """Where the chapters of a document lie in what was spoken."""
    from kokoro_tvm.runtime.documents.writers import Mark

    places = [
        min((sample for at, sample in spoken.starts if at >= start), default=spoken.samples)
        for start in document.starts
    ]
    ends = [*places[1:], spoken.samples]
    titles = (chapter.title or f"Part {n}" for n, chapter in enumerate(document.chapters, 1))
    return [Mark(t, a, b) for t, a, b in zip(titles, places, ends, strict=True) if b > a]


@contextmanager
def playing(wanted: bool, sample_rate: int) -> Iterator[list[Receive]]:
    """What plays audio, if that is wanted; when the block ends well, everything has been heard."""
    if not wanted:
        yield []
        return
    from kokoro_tvm.runtime.documents.playing import open_player

    player = open_player(sample_rate)
    finish = False
    try:
        yield [player.write]
        finish = True
    finally:
        player.close(finish)


@contextmanager
def piping(path: Path | None, sample_rate: int) -> Iterator[list[Receive]]:
    """What writes WAV to standard output, a pipe or a device, if there is one."""
    if path is None:
        yield []
        return
    from kokoro_tvm.common.output import open_stream
    from kokoro_tvm.runtime.documents.writers import begin_wav

    with open_stream(path) as stream:
        yield [begin_wav(stream, sample_rate)]


@contextmanager
def _progress(length: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error for long texts, where that is a terminal."""
    if length < _LONG or not sys.stderr.isatty():
        yield lambda place: None
        return
    with typer.progressbar(length=length, file=sys.stderr, label="speaking") as bar:
        yield lambda place: bar.update(place - bar.pos)


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"Standard input is not UTF-8 text ({error}). Convert it to UTF-8 first.") from error
