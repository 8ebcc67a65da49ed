"""Compare text that the C program `speak` reads with Python, in each language. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.words import timeline
from kokoro_tvm.validation.measure.gates import Verdict, none_off
from kokoro_tvm.validation.measure.metrics import count_off

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners.program import SpeakProgram

# The first one is decoded in two pieces.
SENTENCES = {
    "a": "The box that came by post today costs about $2.50.",
    "b": "Hello, it weighs 2 kg.",
    "e": "Hola, son 2 €.",
    "f": "Bonjour, il fait 20 °C.",
    "h": "नमस्ते, 5 किताबें।",
    "i": "Ciao, sono 3 kg.",
    "p": "Olá, são 10 km.",
}
"""Sentences by the letter of each language that libkokoro reads; none needs espeak-ng."""


def validate_text(tts: Synthesizer, program: SpeakProgram, decode: bool) -> Iterator[Verdict]:
    """Judge a sentence of each language that the bundle has a voice and rules for.

    Words must equal Python's, with phonemes, place in the text and samples; audio must equal Python's.

    Args:
        tts: The bundle.
        program: The C program.
        decode: Compare the audio, too. False for emulated code, because utterances already compare it.
    """
    for letter, text in SENTENCES.items() if tts.bundle.front_end else ():
        language = tts.bundle.languages.get(letter)
        voice = next((name for name in tts.voices.names if name.startswith(letter)), None)
        if language is None or language.espeak is not None or voice is None:
            continue
        plan = tts.plan(text, voice, markup=False)
        words, audio = program.synthesize_text(text, voice, decode)
        yield none_off("max_c_off", count_off(words, format_words(plan)), f"{language.name} words")
        if decode:
            off = count_off(() if audio is None else audio, tts.render(plan).audio)
            yield none_off("max_c_off", off, f"{language.name} audio")


def format_words(plan: Plan) -> list[str]:
    """Format the words of a plan as `speak --words` prints them."""
    return [
        f"{word.start_sample} {word.end_sample} {''.join(p.symbol for p in word.phonemes)} {word.text}"
        for word in timeline(plan)
    ]
