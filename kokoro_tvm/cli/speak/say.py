"""kokoro-tvm say: synthesizes a text or a document to a file, a loudspeaker, captions."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kokoro_tvm.cli._output import note
from kokoro_tvm.cli._speech import (
    BUNDLE,
    BundleOption,
    LanguageOption,
    LexiconOption,
    OmitOption,
    PlainOption,
    SsmlOption,
    ThreadsOption,
    VoiceOption,
    VoicesOption,
    print_notices,
    resolve_voice_option,
    without_blas_threads,
)
from kokoro_tvm.cli.speak._say import (
    Receive,
    SpeechInput,
    find_marks,
    open_document,
    open_pipe,
    open_speaker,
    read_cover,
    speak,
    write_chapters,
)
from kokoro_tvm.common.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_OUTPUT = Path("speech.wav")
_INTERRUPTED = 128 + 2  # the usual status after SIGINT


def say(
    text: Annotated[
        str,
        typer.Argument(
            metavar="[TEXT]",
            help="Text to speak. `-` reads it from standard input (UTF-8). Blank lines separate paragraphs.",
            show_default=False,
        ),
    ] = "",
    file: Annotated[
        Path | None,
        typer.Option(
            "-i",
            "--input",
            metavar="FILE",
            help="Document to speak instead: .txt, .md, .html, .epub, .pdf, .docx, .srt (each cue in its "
            "time slot), or the .json of a plan. After an interruption, the same command continues.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File to write, completely or not at all. WAV to a pipe, a device or `-` (standard output) "
            "is written while it is computed.",
            show_default="speech.wav; none with --play",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Format of the file: wav, flac, mp3, opus, m4b with chapters, ulaw and alaw (telephone).",
            show_default="the suffix of the file",
        ),
    ] = None,
    sample_rate: Annotated[
        int | None,
        typer.Option(
            "--sample-rate",
            metavar="HZ",
            help="Sample rate of the file: 8000, 16000, 22050, 24000, 44100 or 48000.",
            show_default="24000; 8000 for ulaw and alaw",
        ),
    ] = None,
    chapters: Annotated[
        str | None,
        typer.Option("--chapters", metavar="LIST", help="Chapters to speak: 2-5,7.", show_default="all"),
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Write a file per chapter into the folder --output.")
    ] = False,
    author: Annotated[
        str | None,
        typer.Option("--author", help="Author to write into the file.", show_default="the document's"),
    ] = None,
    cover: Annotated[
        Path | None,
        typer.Option(
            "--cover",
            metavar="FILE",
            help="Cover of an M4B or MP3: a JPEG or PNG file.",
            show_default="the EPUB's",
        ),
    ] = None,
    play: Annotated[bool, typer.Option("--play", help="Play the speech while it is computed.")] = False,
    captions: Annotated[
        Path | None,
        typer.Option(
            "--captions", metavar="FILE", help="Captions to write: .srt, .vtt, .ass, .json or .TextGrid."
        ),
    ] = None,
    save_plan: Annotated[
        Path | None,
        typer.Option(
            "--save-plan",
            metavar="FILE",
            help="Only write the plan (words, phonemes, durations, pauses) as JSON. Edit it, and speak it "
            "with --input.",
        ),
    ] = None,
    voice: VoiceOption = None,
    language: LanguageOption = None,
    voices: VoicesOption = None,
    speed: Annotated[float, typer.Option("--speed", help="Speed of speech: 2 is twice as fast.")] = 1.0,
    bundle: BundleOption = BUNDLE,
    lexicon: LexiconOption = None,
    ssml: SsmlOption = None,
    plain: PlainOption = False,
    omit: OmitOption = [],  # noqa: B006
    phonemes: Annotated[
        bool, typer.Option("--phonemes", help="Read the text as phonemes in misaki's alphabet.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the noise. The same seed gives the same audio.")
    ] = 0,
    threads: ThreadsOption = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Read every file of the bundle again, even if it is unchanged since the last check.",
        ),
    ] = False,
    sha256: Annotated[
        str | None,
        typer.Option(
            "--sha256", metavar="HEX", help="Refuse the bundle unless its `bundle.json` has this SHA-256."
        ),
    ] = None,
) -> None:
    """Synthesize a text or a document to a file, or play it."""
    without_blas_threads()
    from kokoro_tvm.common.output import check_distinct, check_place, is_stream, resolve_link, write_text
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.documents.captions import caption_format, write_captions
    from kokoro_tvm.runtime.documents.spool import Spool
    from kokoro_tvm.runtime.documents.writers import check_audio_file, has_ffmpeg, write_audio
    from kokoro_tvm.runtime.session.noise import check_seed
    from kokoro_tvm.runtime.speech.checks import check_speed
    from kokoro_tvm.runtime.speech.division import DIVISION, UNCUT
    from kokoro_tvm.runtime.text.markup.omissions import check_omissions

    # Refuse wrong arguments before anything that takes time.
    if save_plan is not None and (output is not None or play or captions is not None):
        raise InputError("--save-plan speaks nothing. Leave out --output, --play and --captions.")
    if output is None and not play and save_plan is None:
        output = _OUTPUT
    piped = output is not None and is_stream(output)
    if split and (file is None or output is None or piped or captions is not None):
        raise InputError("--split takes --input and a folder as --output, and no --captions.")
    format = format or "wav" if split else format
    kind = None if output is None else check_audio_file("-" if split else output, format, sample_rate)
    pipe = output if kind == "wav" and piped else None
    if captions is not None:
        caption_format(captions)
    for path in (captions, save_plan):
        if path is not None:
            check_place(path)
    voice, voices = resolve_voice_option(voice, voices)
    check_distinct((file, lexicon, voices), (output, captions, save_plan))
    manner = {"voice": voice, "speed": check_speed(speed), "seed": check_seed(seed)}
    markup = {"ssml": ssml, "markup": not plain, "language": language, "omit": sorted(check_omissions(omit))}
    document = open_document(text, file)
    if chapters is not None:
        document = document.with_chapters(chapters)
    document = replace(
        document,
        author=author or document.author,
        cover=document.cover if cover is None else read_cover(cover),
    )
    if kind == "mp3" and (document.cover or len(document.chapters) > 1) and not split and not has_ffmpeg():
        note("note: an MP3 gets chapters and a cover by ffmpeg only: pip install imageio-ffmpeg")
    for text_note in document.notes:
        note(f"note: {text_note}")
    with print_notices(), ExitStack() as opened:
        tts = Synthesizer(
            bundle, threads=threads, verify=verify, sha256=sha256, lexicon=lexicon, voices=voices
        )
        division = DIVISION if play or pipe is not None else UNCUT  # nobody waits for the start of a file
        source = SpeechInput(tts, document, manner, phonemes, markup, division)
        rate = tts.bundle.sample_rate
        if save_plan is not None:
            plan = source.plan()
            write_text(save_plan, plan.to_json())
            pieces = "1 piece" if len(plan.pieces) == 1 else f"{len(plan.pieces)} pieces"
            line = f"{save_plan}: a plan of {plan.seconds:.2f} s in {pieces}"
            note(line, err=is_stream(save_plan))
            return
        spool = None
        parts: list[NDArray[np.float32]] = []
        receivers: list[Receive] = []
        if output is not None and file is not None and not piped:
            spool = opened.enter_context(closing(Spool(resolve_link(output), source.digest())))
            receivers.append(spool.add)
            if spool.pieces:
                note(f"note: continuing after {spool.samples / rate:.0f} s of speech")
        elif output is not None and pipe is None:
            receivers.append(parts.append)
        start = time.perf_counter()
        try:
            with open_speaker(play, rate) as players, open_pipe(pipe, rate, sample_rate) as pipes:
                stream = source.stream(spool.pieces if spool else 0)
                result = speak(stream, len(document.text), receivers + players + pipes)
        except KeyboardInterrupt:
            if spool is not None:
                seconds = f"{spool.samples / rate:.0f} s"
                note(f"Interrupted after {seconds} of speech. The same command continues there.")
            raise typer.Exit(_INTERRUPTED) from None
        elapsed = time.perf_counter() - start
        if output is not None and pipe is None:
            blocks, marks = spool.blocks() if spool else parts, find_marks(document, result)
            about: dict[str, Any] = {
                "author": document.author,
                "cover": document.cover,
                "target_rate": sample_rate,
            }
            if split:
                write_chapters(output, str(format), blocks, rate, marks, about)
            else:
                write_audio(output, blocks, rate, format, document.title or output.stem, marks, **about)
        if captions is not None:
            write_text(captions, write_captions(captions, result.timeline, result.samples / rate))
        if spool is not None:
            spool.remove()
    computed = result.computed / rate
    factor = f" (real-time factor {elapsed / computed:.2f})" if computed else ""
    line = f"{output or 'played'}: {result.samples / rate:.2f} s of speech in {elapsed:.2f} s{factor}"
    note(line, err=piped)  # the audio may go to standard output
