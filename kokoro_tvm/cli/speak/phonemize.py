"""kokoro-tvm phonemize: shows the tokens and phonemes of a text."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonOption
from kokoro_tvm.cli._speech import (
    BUNDLE,
    BundleOption,
    LexiconOption,
    PlainOption,
    SsmlOption,
    VoiceOption,
    noted,
    without_blas_threads,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from kokoro_tvm.runtime.text.frontend.normalization import FormChoice
    from kokoro_tvm.runtime.text.frontend.tokens import Utterance

__all__ = ["phonemize"]


def phonemize(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text to convert.")],
    voice: VoiceOption = None,
    bundle: BundleOption = BUNDLE,
    lexicon: LexiconOption = None,
    ssml: SsmlOption = None,
    plain: PlainOption = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show what each written form could be, and what speaks against it.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the tokens and phonemes of a text.

    Prints the place of each token, its text, what it is read as if that differs, its part of speech, its
    phonemes, and where these come from. With --why, prints instead what the written forms of the text could
    be, what each reading costs and why, and which one is read. No audio is synthesized, and no code of the
    bundle is loaded.
    """
    without_blas_threads()
    from kokoro_tvm.cli._output import console, print_json
    from kokoro_tvm.runtime import describe, read_bundle
    from kokoro_tvm.runtime.bundle.files import OpenFiles
    from kokoro_tvm.runtime.bundle.verification import verify_files
    from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
    from kokoro_tvm.runtime.text.frontend.user_lexicon import read_lexicon
    from kokoro_tvm.runtime.text.markup import MarkupVocabulary
    from kokoro_tvm.runtime.text.reading import explain_markup, phonemize_markup

    manifest = read_bundle(bundle)
    words = None if lexicon is None else read_lexicon(lexicon, manifest.vocabulary)
    first = next(iter(manifest.languages))

    def language(name: str | None) -> str:
        code = describe((name or voice or "").partition(",")[0], manifest.languages).code
        return code if code in manifest.languages else first

    markup = MarkupVocabulary(manifest.vocabulary, language)
    with OpenFiles([manifest.front_end] if manifest.front_end else []) as files, noted():
        verify_files(files)
        data = files[manifest.front_end] if manifest.front_end else None
        front_end = FrontEnd.open(manifest, data, words)
        if why:
            for choice in explain_markup(text, markup, front_end, ssml, not plain):
                typer.echo("\n".join(_describe(choice, text)))
            return
        utterances = phonemize_markup(text, markup, front_end, ssml, not plain)
    if json:
        print_json([{**asdict(utterance), "phonemes": utterance.phonemes} for utterance in utterances])
        return
    out = console(markup=False)
    for utterance in utterances:
        if utterance.tokens:
            typer.echo(utterance.phonemes)
            out.print(_table(utterance, text))
        if utterance.pause is not None:
            typer.echo(f"pause {utterance.pause:g} s")


def _describe(choice: FormChoice, text: str) -> Iterator[str]:
    """Yield lines about the proposals for a written form, the chosen one marked with an arrow."""
    start, end = choice.span
    yield f"{start}:{end}  {text[start:end]}"
    for proposal in choice.choice.proposals:
        mark = "→" if proposal is choice.choice.chosen else " "
        kind, say = (proposal.rule.kind, proposal.rule.say) if proposal.rule else ("as written", "")
        yield f"  {mark} {proposal.cost} {kind}  {say}".rstrip()
        for doubt in proposal.doubts:
            conditions = {**asdict(doubt), "next": ", ".join(doubt.next)}
            reasons = (
                f"{name} {what}" for name, what in conditions.items() if what and name not in ("kind", "cost")
            )
            yield f"      +{doubt.cost} {'; '.join(reasons)}"


def _table(utterance: Utterance, text: str) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for token in utterance.tokens:
        place = f"{token.start}:{token.end}"
        written = text[token.start : token.end]
        read_as = "" if written == token.text else token.text
        table.add_row(place, written, read_as, token.tag, token.phonemes, token.origin)
    return table
