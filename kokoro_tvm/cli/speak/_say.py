"""Speaks for `kokoro-tvm say`: chunk by chunk, to a file, a loudspeaker, captions."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.cli._output import progress_bar
from kokoro_tvm.common.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kokoro_tvm.runtime import Plan, Stream, Synthesizer, TimedWord
    from kokoro_tvm.runtime.documents.readers import Document
    from kokoro_tvm.runtime.documents.writers import Mark
    from kokoro_tvm.runtime.speech.division import Division


_MAX_NAME = 80  # characters of a chapter's title in the name of its file
_LONG = 400  # characters of a text that gets a progress bar

Receive = Callable[["NDArray[np.float32]"], None]


@dataclass
class SpeechOutput:
    """The result of a synthesis.

    Attributes:
        samples: Number of samples.
        computed: Number of samples that were computed by this run.
        timeline: Words and their times.
        starts: Character of the source and sample at which each chunk starts.
    """

    samples: int = 0
    computed: int = 0
    timeline: list[TimedWord] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)


def open_document(text: str, file: Path | None) -> Document:
    """Return the document of a file, or of the text (`-`: of standard input). Raises InputError for both."""
    from kokoro_tvm.runtime.documents.readers import read_document
    from kokoro_tvm.runtime.documents.readers.document import Chapter, Document

    if file is not None and text:
        raise InputError("TEXT and --input FILE exclude each other. Give one of them.")
    if file is not None:
        return read_document(file)
    return Document("", (Chapter("", _standard_input() if text == "-" else text),))


@dataclass(frozen=True)
class SpeechInput:
    """A document, and how to speak it.

    Attributes:
        tts: The synthesizer.
        document: A text, slots of subtitles, or a plan, which has its own voice, speed and seed.
        manner: Voice, speed and seed.
        phonemes: Whether the text is phonemes.
        markup: The markup to follow if it is not.
        division: Into pieces, of a text.
    """

    tts: Synthesizer
    document: Document
    manner: dict[str, Any]
    phonemes: bool
    markup: dict[str, Any]
    division: Division

    def plan(self) -> Plan:
        """Return the plan."""
        tts, document = self.tts, self.document
        if document.plan is not None:
            return tts.complete(document.plan)
        if document.slots:
            from kokoro_tvm.runtime.documents.slots import plan_slots

            return plan_slots(document.slots, lambda text: tts.plan(text, **self.markup, **self.manner))
        if self.phonemes:
            return tts.plan_phonemes(document.text, **self.manner)
        return tts.plan(document.text, **self.markup, **self.manner, division=self.division)

    def stream(self, skip: int) -> Stream:
        """Return the stream of chunks, of which the first `skip` are not computed."""
        if self.document.plan is not None or self.document.slots:
            return self.tts.render_stream(self.plan(), skip=skip)
        if self.phonemes:
            return self.tts.stream_phonemes(self.document.text, skip=skip, **self.manner)
        options = {**self.markup, **self.manner, "division": self.division}
        return self.tts.stream(self.document.text, skip=skip, **options)

    def digest(self) -> str:
        """Return the digest of everything that decides about the samples."""
        import kokoro_tvm

        tts, document = self.tts, self.document
        slots = [[slot.start, slot.end, slot.text] for slot in document.slots]
        plan = document.plan.to_json() if document.plan is not None else None
        parts: list[Any] = [kokoro_tvm.__version__, tts.bundle.sha256, document.text, slots, plan]
        parts += [
            self.phonemes,
            self.manner,
            self.markup,
            self.division.first_s,
            tts.front_end.lexicon.entries,
            tts.voices.own,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def speak(stream: Stream, length: int, receivers: list[Receive]) -> SpeechOutput:
    """Pass the audio of every chunk to all receivers, and show the progress in `length` characters."""
    output = SpeechOutput()
    with progress_bar("speaking", length >= _LONG) as show:
        for chunk in stream:
            if chunk.rendered:
                output.computed += chunk.audio.size
                for receive in receivers:
                    receive(chunk.audio)
            output.timeline += chunk.timeline
            if chunk.piece.words:
                output.starts.append((chunk.piece.words[0].start, chunk.start))
                show(chunk.piece.words[-1].end, length)
            output.samples = chunk.start + chunk.piece.samples(stream.plan.samples_per_frame)
    return output


def find_marks(document: Document, output: SpeechOutput) -> list[Mark]:
    """Return the samples of each chapter of the document."""
    from kokoro_tvm.runtime.documents.writers import Mark

    places = [
        min((sample for at, sample in output.starts if at >= start), default=output.samples)
        for start in document.starts
    ]
    ends = [*places[1:], output.samples]
    titles = (chapter.title or f"Part {n}" for n, chapter in enumerate(document.chapters, 1))
    return [Mark(t, a, b) for t, a, b in zip(titles, places, ends, strict=True) if b > a]


@contextmanager
def open_speaker(is_set: bool, sample_rate: int) -> Iterator[list[Receive]]:
    """Yield the player if `--play` is set. The block ends when all audio was played."""
    if not is_set:
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
def open_pipe(path: Path | None, sample_rate: int, target_rate: int | None = None) -> Iterator[list[Receive]]:
    """Yield the writer of WAV to standard output, a pipe or a device, if there is a path."""
    if path is None:
        yield []
        return
    from kokoro_tvm.common.output import open_stream
    from kokoro_tvm.runtime.documents.writers import begin_wav
    from kokoro_tvm.runtime.speech.resampling import Resampler

    resampler = Resampler(sample_rate, target_rate or sample_rate)
    with open_stream(path) as stream:
        write = begin_wav(stream, target_rate or sample_rate)
        yield [lambda audio: write(resampler.write(audio))]
        write(resampler.close())


def read_cover(path: Path) -> bytes:
    """Read an image. Raises InputError if it is no JPEG or PNG."""
    try:
        image = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not image.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n")):
        raise InputError(f"{path} is no cover: it should be a JPEG or PNG file.")
    return image


def write_chapters(
    folder: Path,
    format: str,
    blocks: Iterable[NDArray[np.float32]],
    sample_rate: int,
    marks: Sequence[Mark],
    about: Mapping[str, Any],
) -> None:
    """Write a file for each chapter into a folder, such as `02 The river.mp3`.

    Args:
        folder: It is created.
        format: Of the files.
        blocks: float32 (samples,) each, of all chapters.
        sample_rate: In Hz.
        marks: The chapters.
        about: Further arguments of `write_audio`.
    """
    import numpy as np

    from kokoro_tvm.runtime.documents.writers import write_audio

    folder.mkdir(parents=True, exist_ok=True)
    rest, place = iter(blocks), 0
    block = np.zeros(0, np.float32)

    def take(end: int) -> Iterator[NDArray[np.float32]]:
        """Yield the samples from `place` to `end`."""
        nonlocal block, place
        while place < end and (block.size or (block := next(rest, block)).size):
            part, block = block[: end - place], block[end - place :]
            place += part.size
            yield part

    width = len(str(len(marks)))
    for number, mark in enumerate(marks, 1):
        title = re.sub(r'[\x00-\x20/\\:*?"<>|]+', " ", mark.title)
        name = title.strip(" .")[:_MAX_NAME]
        path = folder / f"{number:0{width}} {name}.{format}"
        write_audio(path, take(mark.end), sample_rate, format, mark.title, **about)


def _standard_input() -> str:
    """Read standard input. Raises InputError if it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"Standard input is not UTF-8 text ({error}). Convert it to UTF-8 first.") from error
