"""kokoro-tvm phonemize: shows the tokens and phonemes of a text."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from kokoro_tvm.cli._output import JsonOption
from kokoro_tvm.cli._speech import (
    BUNDLE,
    BundleOption,
    LanguageOption,
    LexiconOption,
    OmitOption,
    PlainOption,
    SsmlOption,
    VoiceOption,
    print_notices,
    without_blas_threads,
)
from kokoro_tvm.common.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from kokoro_tvm.runtime.text.frontend.normalization import FormChoice
    from kokoro_tvm.runtime.text.frontend.tokens import Utterance


_PORTION = 1 << 13  # bytes that are read together
_TEXTS = frozenset({".txt", ".text", ".ssml"})


def phonemize(
    text: Annotated[
        str,
        typer.Argument(
            metavar="[TEXT]",
            help="Text to convert. `-` reads it from standard input (UTF-8).",
            show_default=False,
        ),
    ] = "",
    file: Annotated[
        Path | None,
        typer.Option(
            "-i", "--input", metavar="FILE", help="Text file (UTF-8) or document to convert instead."
        ),
    ] = None,
    voice: VoiceOption = None,
    language: LanguageOption = None,
    bundle: BundleOption = BUNDLE,
    lexicon: LexiconOption = None,
    ssml: SsmlOption = None,
    plain: PlainOption = False,
    omit: OmitOption = [],  # noqa: B006
    why: Annotated[
        bool, typer.Option("--why", help="Show what each written form could be, and what speaks against it.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the tokens and phonemes of a text, sentence by sentence.

    Prints the place of each token, its text, what it is read as if that differs, its part of speech, its
    phonemes, and where these come from. With --why, prints instead what the written forms of the text could
    be, what each reading costs and why, and which one is read. No audio is synthesized, and no code of the
    bundle is loaded.
    """
    without_blas_threads()
    from kokoro_tvm.cli._output import console, print_json_items
    from kokoro_tvm.runtime import describe, read_bundle
    from kokoro_tvm.runtime.bundle.files import OpenFiles
    from kokoro_tvm.runtime.bundle.languages import find_language
    from kokoro_tvm.runtime.bundle.verification import verify_files
    from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
    from kokoro_tvm.runtime.text.frontend.user_lexicon import read_lexicon
    from kokoro_tvm.runtime.text.markup import MarkupVocabulary
    from kokoro_tvm.runtime.text.reading import explain_markup, phonemize_portions

    manifest = read_bundle(bundle)
    words = None if lexicon is None else read_lexicon(lexicon, manifest.vocabulary)
    first = next(iter(manifest.languages))
    fixed = None if language is None else find_language(language, manifest.languages)

    def language_of(name: str | None) -> str:
        code = fixed or describe((name or voice or "").partition(",")[0], manifest.languages).code
        return code if code in manifest.languages else first

    markup = MarkupVocabulary(manifest.vocabulary, language_of)
    recent = _RecentText(_read_portions(text, file))
    with OpenFiles([manifest.front_end] if manifest.front_end else []) as files, print_notices():
        verify_files(files)
        front_end = FrontEnd.open(manifest, files[manifest.front_end] if manifest.front_end else None, words)
        if why:
            whole = "".join(recent)
            for choice in explain_markup(whole, markup, front_end, ssml, not plain, omit):
                typer.echo("\n".join(_describe(choice, whole)))
            return
        utterances = phonemize_portions(recent, markup, front_end, ssml, not plain, omit)
        if json:
            print_json_items({**asdict(each), "phonemes": each.phonemes} for each in utterances)
            return
        out = console(markup=False)
        for utterance in utterances:
            if utterance.tokens:
                typer.echo(utterance.phonemes)
                out.print(_table(utterance, recent))
                recent.forget(utterance.tokens[-1].start)
            if utterance.pause is not None:
                typer.echo(f"pause {utterance.pause:g} s")


def _read_portions(text: str, file: Path | None) -> Iterator[str]:
    """Yield the text of the command, standard input, a text file or a document.

    Raises InputError if that cannot be read or is no text.
    """
    from kokoro_tvm.cli.speak._say import open_document

    if text == "-" and file is None:
        yield from _decode(sys.stdin.buffer, "Standard input")
    elif file is not None and not text and file.suffix.lower() in _TEXTS:
        try:
            with file.open("rb") as opened:
                yield from _decode(opened, str(file))
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror or error}.") from error
    else:
        yield open_document(text, file).text


def _decode(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yield portions of UTF-8 text. Raises InputError, which names the stream, for other bytes."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        while data := stream.read(_PORTION):
            yield decoder.decode(data)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text ({error}). Convert it to UTF-8 first.") from error


class _RecentText:
    """Portions of a text, which are kept until `forget`."""

    def __init__(self, portions: Iterator[str]) -> None:
        self._portions = portions
        self._text = ""
        self._start = 0  # place of the kept text in the whole

    def __iter__(self) -> Iterator[str]:
        for portion in self._portions:
            self._text += portion
            yield portion

    def slice(self, start: int, end: int) -> str:
        """Return a slice of the whole text."""
        return self._text[start - self._start : end - self._start]

    def forget(self, place: int) -> None:
        """Drop the text before a place."""
        self._text = self._text[place - self._start :]
        self._start = place


def _describe(choice: FormChoice, text: str) -> Iterator[str]:
    """Yield lines about the proposals for a written form, the chosen one marked with an arrow."""
    start, end = choice.span
    yield f"{start}:{end}  {text[start:end]}"
    for proposal in choice.choice.proposals:
        mark = "→" if proposal is choice.choice.chosen else " "
        kind, say = (proposal.rule.kind, proposal.rule.say) if proposal.rule else ("as written", "")
        yield f"  {mark} {proposal.cost} {kind}  {say}".rstrip()
        for doubt in proposal.doubts:
            conditions = asdict(doubt) | {"next": ", ".join(doubt.next), "alone": ", ".join(doubt.alone)}
            reasons = (
                f"{name} {what}" for name, what in conditions.items() if what and name not in ("kind", "cost")
            )
            yield f"      +{doubt.cost} {'; '.join(reasons)}"


def _table(utterance: Utterance, text: _RecentText) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for token in utterance.tokens:
        place = f"{token.start}:{token.end}"
        written = text.slice(token.start, token.end)
        read_as = "" if written == token.text else token.text
        table.add_row(place, written, read_as, token.tag, token.phonemes, token.origin)
    return table
