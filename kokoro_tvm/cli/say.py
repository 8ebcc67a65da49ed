"""kokoro-tvm say: speak a text into a WAV file."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, TextIO

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command `say`."""
    app.command("say")(say)


def say(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; - reads it from standard input.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="WAV file to write.")] = Path(
        "speech.wav"
    ),
    voice: Annotated[
        str, typer.Option("--voice", help="A voice, or a mix of several: af_heart,am_adam.")
    ] = "af_heart",
    speed: Annotated[float, typer.Option("--speed", help="Above 1 is faster.")] = 1.0,
    bundle: Annotated[Path, typer.Option("--bundle", metavar="DIR", help="Bundle to speak with.")] = Path(
        "artifacts/cpu"
    ),
    phonemes: Annotated[bool, typer.Option("--phonemes", help="The text is phonemes already.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the noise; the same seed, the same audio.")] = 0,
) -> None:
    """Speak a text into a WAV file (32-bit float, so nothing clips)."""
    from kokoro_tvm.runtime import SpeechWarning, Synthesizer, check_output, write_wav
    from kokoro_tvm.runtime.inputs import check_speed
    from kokoro_tvm.runtime.noise import check_seed

    # Before anything takes time: what was asked for in vain.
    check_output(output)
    check_speed(speed)
    check_seed(seed)
    words = _standard_input() if text == "-" else text
    with warnings.catch_warnings():
        warnings.simplefilter("always", SpeechWarning)
        warnings.showwarning = _note
        synthesizer = Synthesizer(bundle)
        parts = [words] if phonemes else synthesizer.phonemize(words, voice)
        start = time.perf_counter()
        speech = synthesizer.from_phonemes(parts, voice=voice, speed=speed, seed=seed)
        elapsed = time.perf_counter() - start
    write_wav(output, speech.audio, speech.sample_rate)
    seconds = speech.audio.size / speech.sample_rate
    typer.echo(
        f"{output}: {seconds:.2f} s of speech in {elapsed:.2f} s (real-time factor {elapsed / seconds:.2f})"
    )


def _standard_input() -> str:
    from kokoro_tvm.errors import InputError

    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"Standard input is not UTF-8 text ({error}). Convert it to UTF-8 first.") from error


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as one line on standard error, apart from what the command prints."""
    del category, filename, lineno, file, line
    typer.secho(f"note: {message}", err=True)
