"""What `speak` reads and says of text in each language, beside what Python does (no torch)."""

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

__all__ = ["SENTENCES", "validate_text", "words_of"]

SENTENCES = {
    "a": "Hello, it costs $2.50.",
    "b": "Hello, it weighs 2 kg.",
    "e": "Hola, son 2 €.",
    "f": "Bonjour, il fait 20 °C.",
    "h": "नमस्ते, 5 किताबें।",
    "i": "Ciao, sono 3 kg.",
    "p": "Olá, são 10 km.",
}
"""By the letter of each language that libkokoro reads; their words are in the lexicon or go by rules, so that
espeak-ng, where Python has it, is not used."""


def validate_text(tts: Synthesizer, program: SpeakProgram, decode: bool) -> Iterator[Verdict]:
    """Judges a sentence of each language that the bundle has a voice and rules for: every word has to be
    Python's, with its phonemes, its place in the text and its samples, and every sample.

    decode: False for code that is emulated, of which utterances say whether the audio is the same.
    """
    for letter, text in SENTENCES.items() if tts.bundle.front_end else ():
        language = tts.bundle.languages.get(letter)
        voice = next((name for name in tts.voices.names if name.startswith(letter)), None)
        if language is None or language.espeak is not None or voice is None:
            continue
        plan = tts.plan(text, voice, markup=False)
        words, audio = program.read(text, voice, decode)
        yield none_off("max_c_off", count_off(words, words_of(plan)), f"{language.name} words")
        if decode:
            off = count_off(() if audio is None else audio, tts.render(plan).audio)
            yield none_off("max_c_off", off, f"{language.name} audio")


def words_of(plan: Plan) -> list[str]:
    """Words of a plan as `speak --words` prints them."""
    return [
        f"{word.start_sample} {word.end_sample} {''.join(p.symbol for p in word.phonemes)} {word.text}"
        for word in timeline(plan)
    ]
