"""Shared parts of commands that speak: options, a quick start, notes on standard error."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from kokoro_tvm.cli._output import note
from kokoro_tvm.common.bundles import default_bundle
from kokoro_tvm.common.errors import InputError

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
LanguageOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--language",
        help="Language to read in: its letter or tag, such as b or en-GB.",
        show_default="that of the voice",
    ),
]
VoicesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--voices",
        metavar="PATH",
        help="Your own voices, besides the bundle's: a .pt, .npy, .bin or .safetensors file, named as the "
        "voice, or a folder of such files.",
    ),
]
LexiconOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--lexicon",
        metavar="FILE",
        help="YAML file of words and their phonemes, or respellings such as kuh-TAR, which override the "
        "bundle's lexicon.",
    ),
]
SsmlOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--ssml/--no-ssml",
        help="Read the text as SSML, or as plain text.",
        show_default="SSML if it begins with <speak>",
    ),
]
PlainOption: TypeAlias = Annotated[
    bool, typer.Option("--plain", help="Read brackets and tags as text, not as markup.")
]
OmitOption: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--omit",
        metavar="KIND",
        help="Leave out a kind of text: citations, code, math or notes. Repeat it for several kinds. "
        "Without it, formulas are read in words.",
        show_default=False,
    ),
]
ThreadsOption: TypeAlias = Annotated[
    int | None, typer.Option("--threads", min=1, help="Number of threads.", show_default="the usable cores")
]


def without_blas_threads() -> None:
    """Prevent numpy's BLAS from starting threads. Call it before numpy is imported."""
    # The import would start a thread for every core, which doubles its time. Speech uses none of them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def resolve_voice_option(voice: str | None, voices: Path | None) -> tuple[str | None, Path | None]:
    """Return the name for `--voice` and the path for `--voices`; a file as `--voice` gives both.

    Raises:
        InputError: `--voice` is a file, and `--voices` is set as well.
    """
    from kokoro_tvm.runtime.bundle.voice_files import is_voice_file

    if voice is None or not is_voice_file(voice):
        return voice, voices
    if voices is not None:
        raise InputError("--voice FILE and --voices exclude each other. Put the file among the others.")
    return Path(voice).stem, Path(voice)


@contextmanager
def print_notices() -> Iterator[None]:
    """Print every SpeechWarning once, as one line on standard error."""
    from kokoro_tvm.runtime.notices import SpeechWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", SpeechWarning)
        notes: set[str] = set()

        def print_once(message: Warning | str, *place: object, **options: object) -> None:
            if (text := f"note: {message}") not in notes:
                notes.add(text)
                note(text)

        warnings.showwarning = print_once
        yield
