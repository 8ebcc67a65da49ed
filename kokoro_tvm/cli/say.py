"""kokoro-tvm say: synthesizes a text to a WAV file."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._speech import (
    BUNDLE,
    BundleOption,
    ThreadsOption,
    VoiceOption,
    noted,
    without_blas_threads,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command `say`."""
    app.command("say")(say)


def say(
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help="Text to speak. `-` reads it from standard input (UTF-8). Blank lines separate paragraphs.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="File to write, completely or not at all."),
    ] = Path("speech.wav"),
    voice: VoiceOption = "af_heart",
    speed: Annotated[float, typer.Option("--speed", help="Speed of speech; above 1 is faster.")] = 1.0,
    bundle: BundleOption = BUNDLE,
    phonemes: Annotated[
        bool, typer.Option("--phonemes", help="The text is phonemes, in misaki's alphabet.")
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
            "--sha256",
            metavar="HEX",
            help="Refuse the bundle unless its `bundle.json` has this SHA-256.",
        ),
    ] = None,
) -> None:
    """Synthesize a text to a WAV file (32-bit float)."""
    without_blas_threads()
    from kokoro_tvm.runtime import Synthesizer, check_output, write_wav
    from kokoro_tvm.runtime.inputs import check_speed
    from kokoro_tvm.runtime.noise import check_seed

    # Refuse wrong arguments before anything that takes time.
    check_output(output)
    check_speed(speed)
    check_seed(seed)
    words = _standard_input() if text == "-" else text
    with noted():
        synthesizer = Synthesizer(bundle, threads=threads, verify=verify, sha256=sha256)
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
