"""What the commands that speak have in common: options, a quick start, and notes on standard error."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO, TypeAlias

import typer

from kokoro_tvm.common.bundles import default_bundle
from kokoro_tvm.common.errors import InputError

__all__ = [
    "BUNDLE",
    "DEFAULT_VOICE",
    "BundleOption",
    "LexiconOption",
    "PlainOption",
    "SsmlOption",
    "ThreadsOption",
    "VoiceOption",
    "VoicesOption",
    "chosen_voice",
    "noted",
    "without_blas_threads",
]

BUNDLE = default_bundle()
DEFAULT_VOICE = "af_heart, or the bundle's first"

BundleOption: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--bundle",
        metavar="DIR",
        help="Folder of the bundle.",
        show_default="artifacts/cpu, else what was installed or pulled",
    ),
]
VoiceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--voice",
        help="A voice, or a mix: af_heart,am_adam or af_heart(2)+am_adam. The first decides the language.",
        show_default=DEFAULT_VOICE,
    ),
]
VoicesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--voices",
        metavar="PATH",
        help="Voices of one's own, beside the bundle's: a .pt, .npy, .bin or .safetensors file, called as it "
        "is, or a folder of such.",
    ),
]
LexiconOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--lexicon",
        metavar="FILE",
        help="YAML file of words and their phonemes, which come before the bundle's lexicon.",
    ),
]
SsmlOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--ssml/--no-ssml",
        help="Whether the text is SSML.",
        show_default="whether it begins with <speak>",
    ),
]
PlainOption: TypeAlias = Annotated[
    bool, typer.Option("--plain", help="Read brackets and tags as text: follow no markup.")
]
ThreadsOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Number of threads.", show_default="the usable cores"),
]


def without_blas_threads() -> None:
    """Keeps numpy's BLAS from starting threads. Call it before numpy is imported.

    numpy's BLAS starts a thread for every core when it is loaded, which takes as long as the rest of
    numpy; what speaks uses none of them.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def chosen_voice(voice: str | None, voices: Path | None) -> tuple[str | None, Path | None]:
    """Name of a voice and where those of one's own are, for a `--voice` that is a file, too.

    Raises InputError where `--voices` is given beside it.
    """
    from kokoro_tvm.runtime.bundle.voice_files import is_voice_file

    if voice is None or not is_voice_file(voice):
        return voice, voices
    if voices is not None:
        raise InputError("--voice FILE and --voices exclude each other. Put the file among the others.")
    return Path(voice).stem, Path(voice)


@contextmanager
def noted() -> Iterator[None]:
    """Shows every SpeechWarning once, as one line on standard error, apart from what the command prints."""
    from kokoro_tvm.runtime.notices import SpeechWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", SpeechWarning)
        shown: set[str] = set()

        def note(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            del category, filename, lineno, file, line
            if (shown_line := f"note: {message}") not in shown:
                shown.add(shown_line)
                typer.secho(shown_line, err=True)

        warnings.showwarning = note
        yield
