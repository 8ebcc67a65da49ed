"""Compares the word times of a bundle with those of an aligner that knows nothing of the durations.

.venv/bin/python docs/word_times.py [BUNDLE]

The aligner is PocketSphinx with its English acoustic model. It is given the words, and for each the sounds
that its phonemes are nearest to in that model (Spanish "ɣ" as "G"), and finds where in the waveform they are.
Aligning another language by English sounds is coarse, but it is independent.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.measure import intelligibility
from kokoro_tvm.runtime import Speech, Synthesizer, TimedWord

_SOUNDS = (
    "A EY|I AY|W AW|Y OY|O OW|Q OW|ᵊ AH|æ AE|ɑ AA|ɒ AA|ɔ AO|ə AH|ɜ ER|ɚ ER|ɛ EH|ɪ IH|ᵻ IH|i IY|ʊ UH|u UW|"
    "ʌ AH|ɐ AH|a AA|e EH|o OW|b B|β B|d D|f F|ɸ F|h HH|x HH|χ HH|j Y|ʝ Y|k K|l L|m M|ɱ M|n N|ɲ N Y|p P|s S|"
    "t T|v V|w W|z Z|ɡ G|ɣ G|ŋ NG|ɹ R|r R|ɾ D|T D|ʔ T|ʁ R|ʎ L Y|ʃ SH|ʒ ZH|ð DH|θ TH|ʤ JH|ʧ CH|ʦ T S|ʣ D Z|"
    "y UW|ø UH|œ EH|ɥ W|\u0303 N"
)
_ARPABET = {symbol: sound for symbol, _, sound in (pair.partition(" ") for pair in _SOUNDS.split("|"))}
_RATE = 16_000
_FRAMES = 100  # a second

HARVARD = json.loads(Path(intelligibility.__file__).with_name("harvard.json").read_text(encoding="utf-8"))
TEXTS = {
    "af_heart": HARVARD[:20],
    "bm_george": HARVARD[:20],
    "ef_dora": [
        "Todos los seres humanos nacen libres e iguales en dignidad y derechos.",
        "Toda persona tiene derecho a la educación, y la educación debe ser gratuita.",
        "El agua del río baja fría de la montaña, y los niños juegan en la orilla.",
        "Mañana por la mañana vamos a comprar pan, queso, fruta y un poco de vino.",
        "No dejes para mañana lo que puedes hacer hoy, decía siempre mi abuela.",
        "La casa de mi hermano tiene dos ventanas grandes y una puerta verde.",
    ],
    "if_sara": [
        "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti.",
        "Ogni individuo ha diritto all'istruzione, e l'istruzione deve essere gratuita.",
        "La mattina presto il mercato è pieno di gente che compra frutta e verdura.",
        "Domani andiamo al mare con gli amici, se il tempo è bello.",
        "Chi va piano va sano e va lontano, diceva sempre mia nonna.",
        "La casa di mio fratello ha due finestre grandi e una porta verde.",
    ],
}


@dataclass(frozen=True)
class Agreement:
    """Ours less the aligner's, seconds: the start of every word, and its end."""

    starts: NDArray[np.float64]
    ends: NDArray[np.float64]

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(*(np.concatenate(pair) for pair in zip(self.sides, other.sides, strict=True)))

    @property
    def sides(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Starts and ends."""
        return self.starts, self.ends


def align(speech: Speech) -> list[tuple[float, float]]:
    """(start, end) in seconds of every spoken word; raises RuntimeError where the aligner finds none."""
    from pocketsphinx import Decoder

    decoder = Decoder(lm=None, samprate=_RATE, loglevel="FATAL")
    spoken = [word for word in speech.words if word.spoken]
    names = [f"word{number}" for number in range(len(spoken))]
    for name, word in zip(names, spoken, strict=True):
        decoder.add_word(name, " ".join(_sounds(word)), True)
    decoder.set_align_text(" ".join(names))
    decoder.start_utt()
    decoder.process_raw(_pcm(speech.audio, speech.sample_rate), full_utt=True)
    decoder.end_utt()
    found = {part.word: part for part in decoder.seg()}
    return [(found[name].start_frame / _FRAMES, (found[name].end_frame + 1) / _FRAMES) for name in names]


def compare(tts: Synthesizer, voice: str, texts: Sequence[str]) -> Agreement:
    """All words of texts, each of which is spoken on its own."""
    total = Agreement(np.zeros(0), np.zeros(0))
    for text in texts:
        speech = tts(text, voice=voice)
        ours = [(word.start, word.end) for word in speech.words if word.spoken]
        difference = np.array(ours) - np.array(align(speech))
        total += Agreement(difference[:, 0], difference[:, 1])
    return total


def _sounds(word: TimedWord) -> list[str]:
    symbols = "".join(phoneme.symbol for phoneme in word.phonemes)
    symbols = symbols.replace("ɜɹ", "ɜ").replace("əɹ", "ɚ")
    return [sound for symbol in symbols for sound in _ARPABET.get(symbol, "").split()]


def _pcm(audio: NDArray[np.float32], rate: int) -> bytes:
    """16 kHz, 16 bits, by linear interpolation after a low pass of three samples' width."""
    smooth = np.convolve(audio, [0.25, 0.5, 0.25], "same")
    count = int(audio.size * _RATE / rate)
    resampled = np.interp(np.arange(count) * rate / _RATE, np.arange(audio.size), smooth)
    return (resampled / max(1e-9, float(np.abs(resampled).max())) * 20_000).astype("<i2").tobytes()


if __name__ == "__main__":
    tts = Synthesizer(Path(sys.argv[1] if len(sys.argv) > 1 else "artifacts/cpu"))
    for voice, texts in TEXTS.items():
        agreement = compare(tts, voice, texts)
        for name, values in zip(("starts", "ends"), agreement.sides, strict=True):
            away = np.abs(values) * 1000
            print(
                f"{voice} {name}: {values.size} words, median {np.median(away):.0f} ms, "
                f"90 % within {np.quantile(away, 0.9):.0f} ms, bias {np.median(values) * 1000:+.0f} ms",
                flush=True,
            )
